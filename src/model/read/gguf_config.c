/* SPDX-License-Identifier: Apache-2.0 */
/* GGUF's metadata as a config.json, so that one code reads both. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/read/gguf.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/str.h"

static const struct {
    const char *architecture, *model_type;
} families[] = {
    { "llama", "llama" },
    { "qwen2", "qwen2" },
    { "qwen2moe", "qwen2_moe" },
    { "qwen3", "qwen3" },
    { "qwen3moe", "qwen3_moe" },
    { "gemma", "gemma" },
    { "gemma2", "gemma2" },
    { "gemma3", "gemma3_text" },
    { "phi2", "phi" },
    { "phi3", "phi3" },
    { "gpt2", "gpt2" },
    { "gptneox", "gpt_neox" },
    { "falcon", "falcon" },
    { "starcoder2", "starcoder2" },
    { "olmo2", "olmo2" },
    { "olmoe", "olmoe" },
    { "granite", "granite" },
    { "command-r", "cohere" },
    { "cohere2", "cohere2" },
    { "stablelm", "stablelm" },
    { "glm4", "glm4" },
    { "glm4moe", "glm4_moe" },
    { "smollm3", "smollm3" },
    { "ernie4_5", "ernie4_5" },
    { "ernie4_5-moe", "ernie4_5_moe" },
    { "deepseek2", "deepseek_v2" },
    { "gpt-oss", "gpt_oss" },
};

/* The metadata key "<architecture>.<theirs>" is `ours` in a config.json. */
static const struct {
    const char *theirs, *ours;
} keys[] = {
    { "embedding_length", "hidden_size" },
    { "block_count", "num_hidden_layers" },
    { "feed_forward_length", "intermediate_size" },
    { "attention.head_count", "num_attention_heads" },
    { "attention.head_count_kv", "num_key_value_heads" },
    { "attention.key_length", "head_dim" },
    { "context_length", "max_position_embeddings" },
    { "vocab_size", "vocab_size" },
    { "attention.sliding_window", "sliding_window" },
    { "expert_count", "num_local_experts" },
    { "expert_used_count", "num_experts_per_tok" },
    { "expert_feed_forward_length", "moe_intermediate_size" },
    { "expert_shared_feed_forward_length", "shared_expert_intermediate_size" },
    { "expert_shared_count", "n_shared_experts" },
    { "leading_dense_block_count", "first_k_dense_replace" },
    { "attention.q_lora_rank", "q_lora_rank" },
    { "attention.kv_lora_rank", "kv_lora_rank" },
};

static const struct lpo_gguf_value *find(const lpo_gguf_values *values, const char *architecture,
                                         const char *key)
{
    char full[256];

    snprintf(full, sizeof full, "%s%s%s", architecture, *architecture ? "." : "", key);
    for (size_t i = 0; i < values->len; i++)
        if (strcmp(values->at[i].key, full) == 0)
            return &values->at[i];
    return NULL;
}

static const struct lpo_stored *tensor(const lpo_stored_vec *tensors, const char *name)
{
    for (size_t i = 0; i < tensors->len; i++)
        if (strcmp(tensors->at[i].name, name) == 0)
            return &tensors->at[i];
    return NULL;
}

static bool whole(const struct lpo_gguf_value *v)
{
    return v && !v->text && v->number >= 0 && v->number < 1e15 && v->number == floor(v->number);
}

static const char *family_of(const lpo_gguf_values *values, const char *architecture)
{
    const struct lpo_gguf_value *experts = find(values, architecture, "expert_count");

    if (strcmp(architecture, "llama") == 0 && experts && experts->number > 0)
        return "mixtral";
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].architecture, architecture) == 0)
            return families[i].model_type;
    return architecture;
}

/* MLA's head sizes: newer files keep the expanded ones under "_mla". */
static void add_mla(struct lpo_json_writer *w, const lpo_gguf_values *values, const char *arch)
{
    const struct lpo_gguf_value *rope = find(values, arch, "rope.dimension_count");
    const struct lpo_gguf_value *key = find(values, arch, "attention.key_length_mla");
    const struct lpo_gguf_value *value = find(values, arch, "attention.value_length_mla");

    key = key ? key : find(values, arch, "attention.key_length");
    value = value ? value : find(values, arch, "attention.value_length");
    if (!whole(rope) || !whole(key) || !whole(value) || key->number <= rope->number)
        return;
    lpo_jw_int(w, "qk_rope_head_dim", (int64_t)rope->number);
    lpo_jw_int(w, "qk_nope_head_dim", (int64_t)(key->number - rope->number));
    lpo_jw_int(w, "v_head_dim", (int64_t)value->number);
}

static void add_from_tensors(struct lpo_json_writer *w, const lpo_gguf_values *values,
                             const lpo_stored_vec *tensors, const char *arch)
{
    const struct lpo_stored *embed = tensor(tensors, "token_embd.weight");
    bool bias = tensor(tensors, "blk.0.attn_q.bias") || tensor(tensors, "blk.0.attn_qkv.bias");

    if (!find(values, arch, "vocab_size") && embed && embed->dims == 2)
        lpo_jw_int(w, "vocab_size", (int64_t)embed->shape[0]);
    lpo_jw_bool(w, "tie_word_embeddings", !tensor(tensors, "output.weight"));
    lpo_jw_bool(w, "attention_bias", bias);
    lpo_jw_bool(w, "use_bias", bias);
    lpo_jw_bool(w, "qk_layernorm", tensor(tensors, "blk.0.attn_q_norm.weight") != NULL);
    lpo_jw_bool(w, "use_qk_norm", tensor(tensors, "blk.0.attn_q_norm.weight") != NULL);
}

const struct lpo_json *lpo_model_gguf_config(struct lpo_arena *a, const lpo_gguf_values *values,
                                             const lpo_stored_vec *tensors)
{
    const struct lpo_gguf_value *named = find(values, "", "general.architecture");
    const char *arch = named && named->text ? named->text : "";
    const struct lpo_gguf_value *heads = find(values, arch, "attention.head_count");
    const struct lpo_gguf_value *rope = find(values, arch, "rope.dimension_count");
    const struct lpo_gguf_value *wide = find(values, arch, "embedding_length");
    const struct lpo_json *config = NULL;
    struct lpo_err err = { 0 };
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 0);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "model_type", family_of(values, arch));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct lpo_gguf_value *v = find(values, arch, keys[i].theirs);

        if (whole(v))
            lpo_jw_int(&w, keys[i].ours, (int64_t)v->number);
    }
    if (find(values, arch, "attention.kv_lora_rank"))
        add_mla(&w, values, arch);
    else if (whole(rope) && whole(heads) && whole(wide) && heads->number >= 1 &&
             rope->number < floor(wide->number / heads->number))
        lpo_jw_real(&w, "partial_rotary_factor",
                    rope->number / floor(wide->number / heads->number));
    add_from_tensors(&w, values, tensors, arch);
    lpo_jw_end(&w);
    lpo_json_parse(a, lpo_str_text(&text), text.len, &config, &err);
    return config;
}
