/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/frameworks.h - which frameworks ran, by parts of names that only one of them has: its
 * operators, its folders, its kernels. */
#pragma once

#include "util/base.h"

struct lpo_trace;

enum lpo_framework {
    LPO_FRAMEWORK_PYTORCH,
    LPO_FRAMEWORK_VLLM,
    LPO_FRAMEWORK_SGLANG,
    LPO_FRAMEWORK_TENSORRT_LLM,
    LPO_FRAMEWORK_JAX,
    LPO_FRAMEWORK_DEEPSPEED,
    LPO_FRAMEWORK_MEGATRON,
    LPO_FRAMEWORK_TRANSFORMERS,
    LPO_FRAMEWORK_LLAMA_CPP,
    LPO_FRAMEWORKS
};

struct lpo_frameworks {
    bool ran[LPO_FRAMEWORKS];
};

struct lpo_frameworks *lpo_analysis_frameworks_create(const struct lpo_trace *t);
void lpo_analysis_frameworks_destroy(struct lpo_frameworks *f); /* NULL is fine */

const char *lpo_analysis_frameworks_name(enum lpo_framework framework); /* "PyTorch", "JAX (XLA)" */
