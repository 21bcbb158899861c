/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/frameworks.h"

#include "trace/trace.h"

enum { MOST_NAMES = 200000 }; /* that are looked at */

static const struct {
    const char *part;
    enum lpo_framework framework;
} marks[] = {
    { "aten::", LPO_FRAMEWORK_PYTORCH },
    { "at::native::", LPO_FRAMEWORK_PYTORCH },
    { "vllm/", LPO_FRAMEWORK_VLLM },
    { "vllm::", LPO_FRAMEWORK_VLLM },
    { "sglang/", LPO_FRAMEWORK_SGLANG },
    { "tensorrt_llm", LPO_FRAMEWORK_TENSORRT_LLM },
    { "ggml_", LPO_FRAMEWORK_LLAMA_CPP },
    { "mul_mat_vec_q<", LPO_FRAMEWORK_LLAMA_CPP },
    { "mul_mat_q<", LPO_FRAMEWORK_LLAMA_CPP },
    { "flash_attn_ext_", LPO_FRAMEWORK_LLAMA_CPP },
    { "XlaModule", LPO_FRAMEWORK_JAX },
    { "TSL:", LPO_FRAMEWORK_JAX },
    { "PJRT_", LPO_FRAMEWORK_JAX },
    { "PjitFunction", LPO_FRAMEWORK_JAX },
    { "deepspeed/", LPO_FRAMEWORK_DEEPSPEED },
    { "megatron/", LPO_FRAMEWORK_MEGATRON },
    { "transformers/", LPO_FRAMEWORK_TRANSFORMERS },
};

struct lpo_frameworks *lpo_analysis_frameworks_create(const struct lpo_trace *t)
{
    struct lpo_frameworks *f = lpo_xcalloc(1, sizeof *f);
    size_t n = lpo_trace_name_count(t);

    for (uint32_t i = 0; i < n && i < MOST_NAMES; i++)
        for (size_t m = 0; m < sizeof marks / sizeof *marks; m++)
            f->ran[marks[m].framework] =
                f->ran[marks[m].framework] || strstr(lpo_trace_text(t, i), marks[m].part);
    return f;
}

void lpo_analysis_frameworks_destroy(struct lpo_frameworks *f)
{
    free(f);
}

LPO_NAMES(lpo_analysis_frameworks_name, enum lpo_framework, [LPO_FRAMEWORK_PYTORCH] = "PyTorch",
          [LPO_FRAMEWORK_VLLM] = "vLLM", [LPO_FRAMEWORK_SGLANG] = "SGLang",
          [LPO_FRAMEWORK_TENSORRT_LLM] = "TensorRT-LLM", [LPO_FRAMEWORK_JAX] = "JAX (XLA)",
          [LPO_FRAMEWORK_DEEPSPEED] = "DeepSpeed", [LPO_FRAMEWORK_MEGATRON] = "Megatron",
          [LPO_FRAMEWORK_TRANSFORMERS] = "Transformers", [LPO_FRAMEWORK_LLAMA_CPP] = "llama.cpp");
