/* SPDX-License-Identifier: Apache-2.0 */
/* A config guessed from the names and shapes of tensors: for weights without a config.json. */

#include "model/read/read.h"
#include "util/json.h"
#include "util/json_write.h"

static const struct lpo_stored *ending(const struct lpo_stored *t, size_t n,
                                       const char *const *ends)
{
    for (; *ends; ends++)
        for (size_t i = 0; i < n; i++)
            if (t[i].dims >= 1 && lpo_str_ends(t[i].name, *ends))
                return &t[i];
    return NULL;
}

#define ENDING(...) ending(tensors, count, (const char *const[]){ __VA_ARGS__, NULL })

/* The largest number after `word` in any name, plus one; 0 when there is none. */
static int64_t highest(const struct lpo_stored *t, size_t n, const char *word)
{
    long most = -1;

    for (size_t i = 0; i < n; i++) {
        const char *at = strstr(t[i].name, word);
        long found = at ? strtol(at + strlen(word), NULL, 10) : -1;

        most = found > most && found < 1 << 20 ? found : most;
    }
    return most + 1;
}

static uint64_t rows(const struct lpo_stored *t)
{
    return t->shape[0];
}

static uint64_t columns(const struct lpo_stored *t)
{
    return t->dims > 1 ? t->shape[1] : 1;
}

/* Scores cost heads x head size, and the shapes give that product; only the split between the two
 * is a guess, and only the small rotary product depends on it. */
static uint64_t head_size(uint64_t q, uint64_t kv, const struct lpo_stored *norm)
{
    static const uint64_t usual[] = { 128, 64, 80, 96, 256, 32 };

    if (norm && norm->shape[0] && q % norm->shape[0] == 0 && kv % norm->shape[0] == 0)
        return norm->shape[0];
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (q % usual[i] == 0 && kv % usual[i] == 0)
            return usual[i];
    return 1;
}

const struct lpo_json *lpo_model_guess(struct lpo_arena *a, const struct lpo_stored *tensors,
                                       size_t count)
{
    const struct lpo_stored *embed = ENDING("embed_tokens.weight", "wte.weight", "embed_in.weight",
                                            "word_embeddings.weight", "tok_embeddings.weight");
    const struct lpo_stored *q = ENDING("q_proj.weight", "wq.weight");
    const struct lpo_stored *k = ENDING("k_proj.weight", "wk.weight");
    const struct lpo_stored *up = ENDING("mlp.up_proj.weight", "w1.weight", "up_proj.weight");
    const struct lpo_stored *router = ENDING("mlp.gate.weight", "block_sparse_moe.gate.weight");
    int64_t layers = highest(tensors, count, "layers."),
            experts = highest(tensors, count, "experts.");
    const struct lpo_json *config = NULL;
    struct lpo_err err = { 0 };
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 0);
    uint64_t dim;

    if (!embed || embed->dims != 2 || !q || !k || !up || layers == 0)
        return NULL;
    dim = head_size(rows(q), rows(k), ENDING("q_norm.weight"));
    lpo_jw_object(&w, NULL);
    lpo_jw_put(
        &w, LPO_KV("model_type", ""), LPO_KV("vocab_size", rows(embed)),
        LPO_KV("hidden_size", columns(embed)), LPO_KV("num_hidden_layers", layers),
        LPO_KV("head_dim", dim), LPO_KV("num_attention_heads", rows(q) / dim),
        LPO_KV("num_key_value_heads", rows(k) / dim), LPO_KV("intermediate_size", rows(up)),
        LPO_KV("attention_bias", lpo_jv_flag(ENDING("q_proj.bias") != NULL)),
        LPO_KV("tie_word_embeddings", lpo_jv_flag(!ENDING("lm_head.weight", "output.weight"))));
    if (experts > 0 && router)
        lpo_jw_put(&w, LPO_KV("num_experts", rows(router)),
                   LPO_KV("num_experts_per_tok", rows(router) < 2 ? 1 : 2));
    lpo_jw_end(&w);
    lpo_json_parse(a, lpo_str_text(&text), text.len, &config, &err);
    return config;
}
