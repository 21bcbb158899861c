/* SPDX-License-Identifier: Apache-2.0 */
/* Models served today, from their publishers' configs (../shared/data/references/models; skipped
 * where the folder is absent): the sizes that they publish. And configs whose structure lpo must
 * refuse, or whose weights have a format of their own. */
#include <math.h>

#include "../unit.h"
#include "model/needs.h"
#include "model/read/read.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/path.h"

static const struct published {
    const char *name;
    double total, active; /* billions; 0: not published */
} published[] = {
    { "MiniMaxAI--MiniMax-M2.5", 230, 10 },
    { "Qwen--Qwen3-0.6B", 0.6, 0 },
    { "Qwen--Qwen3-235B-A22B", 235, 22 },
    { "Qwen--Qwen3-30B-A3B", 30.5, 3 },
    { "Qwen--Qwen3-32B", 32.8, 0 },
    { "Qwen--Qwen3-Coder-480B-A35B-Instruct", 480, 35 },
    { "Qwen--Qwen3-VL-2B-Instruct", 2.13, 0 },
    { "Qwen--Qwen3-VL-4B-Instruct", 4.44, 0 },
    { "Qwen--Qwen3-VL-8B-Instruct", 8.77, 0 },
    { "Qwen--Qwen3-VL-30B-A3B-Instruct", 31.1, 3 },
    { "Qwen--Qwen3-VL-32B-Instruct", 33.4, 0 },
    { "Qwen--Qwen3.5-122B-A10B", 122, 10 },
    { "Qwen--Qwen3.5-27B", 27, 0 },
    { "Qwen--Qwen3.5-35B-A3B", 35, 3 },
    { "deepseek-ai--DeepSeek-V3", 671, 37 },
    { "deepseek-ai--DeepSeek-V3.2", 671, 37 },
    { "deepseek-ai--DeepSeek-V4-Flash", 284, 13 },
    { "google--gemma-4-26B-A4B", 26, 4 },
    { "meta-llama--Llama-4-Maverick-17B-128E-Instruct", 400, 17 },
    { "meta-llama--Meta-Llama-3.1-405B", 405, 0 },
    { "mistralai--Mixtral-8x22B-v0.1", 141, 39 },
    { "mistralai--Mixtral-8x7B-v0.1", 46.7, 12.9 },
    { "moonshotai--Kimi-K2-Instruct", 1026, 32 },
    { "nvidia--Llama-3_3-Nemotron-Super-49B-v1", 49.9, 0 },
    { "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31.6, 3.2 },
    { "nvidia--Nemotron-H-56B-Base-8K", 56, 0 },
    { "openai--gpt-oss-120b", 117, 5.1 },
    { "openai--gpt-oss-20b", 20.9, 3.6 },
    { "stepfun-ai--Step-3.7-Flash", 196, 11 },
    { "zai-org--GLM-5", 744, 40 },
};

static const struct stored {
    const char *name;
    double gigabytes; /* of the published checkpoint, without heads that predict ahead */
} stored[] = {
    { "deepseek-ai--DeepSeek-R1", 673 },
    { "moonshotai--Kimi-K2.5", 595 },
    { "openai--gpt-oss-120b", 65.2 },
    { "openai--gpt-oss-20b", 13.8 },
    { "nvidia--Llama-3.1-70B-Instruct-FP8", 72.7 },
    { "deepseek-ai--DeepSeek-V4-Flash", 156 },
};

static const struct lpo_json *read_model(struct lpo_arena *a, const char *name)
{
    const char *path =
        lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."),
                      lpo_arena_printf(a, "../shared/data/references/models/%s.json", name));
    struct lpo_model_files files = { 0 };
    struct lpo_err err = { 0 };

    if (!lpo_path_exists(path))
        return NULL;
    if (lpo_model_read(a, path, &files, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    lpo_model_files_free(&files);
    return files.config;
}

static void check_published(void **state)
{
    const struct published *p = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *config = read_model(a, p->name);
    struct lpo_needs_options o = lpo_model_needs_defaults();
    LPO_AUTO(lpo_model_needs) needs = NULL;
    struct lpo_err err = { 0 };

    assert_non_null(config);
    o.strict = true;
    if (lpo_model_needs_create(config, &o, &needs, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    if (fabs((double)needs->params / 1e9 / p->total - 1) > 0.02)
        fail_msg("%s has %g parameters", p->name, (double)needs->params);
    if (p->active > 0 && fabs((double)needs->active_params / 1e9 / p->active - 1) > 0.1)
        fail_msg("%s has %g active parameters", p->name, (double)needs->active_params);
}

static void check_stored(void **state)
{
    const struct stored *p = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *config = read_model(a, p->name);
    struct lpo_needs_options o = lpo_model_needs_defaults();
    LPO_AUTO(lpo_model_needs) needs = NULL;
    struct lpo_err err = { 0 };

    assert_non_null(config);
    assert_int_equal(lpo_model_needs_create(config, &o, &needs, &err), 0);
    if (fabs(needs->memory.weights / 1e9 / p->gigabytes - 1) > 0.02)
        fail_msg("%s has %g bytes", p->name, needs->memory.weights);
}

#define SMALL                                                                                      \
    "\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":2,\"vocab_size\":100,"     \
    "\"intermediate_size\":128"

static const struct refused {
    const char *name, *config, *says;
} refused[] = {
    { "a layer type that lpo does not have",
      "{\"model_type\":\"x\"," SMALL ",\"layer_types\":[\"conv\",\"full_attention\"]}", "'conv'" },
    { "a letter that lpo does not have",
      "{\"model_type\":\"x\"," SMALL ",\"hybrid_override_pattern\":\"M?\",\"ssm_state_size\":16}",
      "'?'" },
    { "a key of another structure", "{\"model_type\":\"x\"," SMALL ",\"rwkv_version\":7}",
      "'rwkv_version'" },
    { "experts without a number",
      "{\"model_type\":\"nemotron_h\"," SMALL ",\"hybrid_override_pattern\":\"E-\"}",
      "gives no number" },
    { "linear layers without widths",
      "{\"model_type\":\"x\"," SMALL ",\"layer_types\":[\"linear_attention\",\"mamba\"]}",
      "does not give its widths" },
    { "an encoder with a decoder", "{\"model_type\":\"x\"," SMALL ",\"is_encoder_decoder\":true}",
      "an encoder" },
    { "a quantisation that lpo does not know",
      "{\"model_type\":\"llama\"," SMALL ",\"quantization_config\":{\"quant_method\":\"zip\"}}",
      "'zip'" },
    { "a hostile record", "{\"model_type\":\"nemotron-nas\"," SMALL ",\"block_configs\":[7]}",
      "'block_configs'" },
};

static void check_refused(void **state)
{
    const struct refused *r = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_needs_options o = lpo_model_needs_defaults();
    struct lpo_model_needs *needs = NULL;
    const struct lpo_json *config = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_json_parse(a, r->config, strlen(r->config), &config, &err), 0);
    assert_true(lpo_model_needs_create(config, &o, &needs, &err) < 0);
    if (!strstr(lpo_err_cause(&err), r->says))
        fail_msg("%s", lpo_err_cause(&err));
}

static const struct bits {
    const char *name, *quant;
    double bytes; /* of one MLP weight */
} bits[] = {
    { "not quantised", "{}", 2 },
    { "fp8", "{\"quant_method\":\"fp8\"}", 1 },
    { "fp8 but for the MLPs", "{\"quant_method\":\"fp8\",\"modules_to_not_convert\":[\"mlp\"]}",
      2 },
    { "a glob", "{\"quant_method\":\"fp8\",\"ignore\":[\"model.layers.*.mlp\"]}", 2 },
    { "a regular expression", "{\"quant_method\":\"fp8\",\"ignore\":[\"re:.*mlp.*\"]}", 2 },
    { "nvfp4 with its scales", "{\"quant_algo\":\"NVFP4\",\"group_size\":16}", 4.5 / 8 },
    { "gptq in groups", "{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":128}",
      (4 + 20 / 128.0) / 8 },
    { "a list",
      "{\"quant_algo\":\"MIXED_PRECISION\",\"quantized_layers\":{"
      "\"model.layers.0.mlp.up_proj\":{\"quant_algo\":\"FP8\"}}}",
      1 },
    { "groups of bits",
      "{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"g\":{\"targets\":[\"Linear\"],"
      "\"weights\":{\"num_bits\":8,\"type\":\"int\"}}}}",
      1 },
};

static void check_bits(void **state)
{
    const struct bits *b = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_needs_options o = lpo_model_needs_defaults();
    const char *text =
        lpo_arena_printf(a,
                         "{\"model_type\":\"llama\"," SMALL ",\"time_step_limit\":[0.0, Infinity],"
                         "\"torch_dtype\":\"bfloat16\",\"quantization_config\":%s}",
                         b->quant);
    LPO_AUTO(lpo_model_needs) needs = NULL;
    const struct lpo_json *config = NULL;
    struct lpo_err err = { 0 };
    bool seen = false;

    assert_int_equal(lpo_json_parse_python(a, text, strlen(text), &config, &err), 0);
    assert_int_equal(lpo_model_needs_create(config, &o, &needs, &err), 0);
    for (size_t i = 0; i < needs->tensors.len; i++) {
        const struct lpo_tensor *t = &needs->tensors.at[i];

        if (strcmp(t->name, "model.layers.0.mlp.up_proj.weight") != 0)
            continue;
        seen = true;
        assert_true(fabs(lpo_model_format_bytes(needs, &t->format) - b->bytes) < 1e-9);
    }
    assert_true(seen);
}

static bool has_models(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    return lpo_path_is_dir(
        lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "../shared/data/references/models"));
}

int main(void)
{
    struct unit u = { 0 };

    if (has_models()) {
        UNIT_ROWS(&u, published, check_published);
        UNIT_ROWS(&u, stored, check_stored);
    }
    UNIT_ROWS(&u, refused, check_refused);
    UNIT_ROWS(&u, bits, check_bits);
    return unit_run(&u);
}
