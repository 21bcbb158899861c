/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder: its numbers from a config, for any row of family/dense.c and family/moe.c. */
#include <string.h>

#include "model/count.h"
#include "model/family/fields.h"
#include "model/model.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

/* Far above any published model: a hostile config must not make us walk for ever. */
enum { MAX_LAYERS = 1024, MAX_HEADS = 1024, MAX_SIZE = 1 << 26, MAX_EXPERTS = 1 << 16 };

static int read_sizes(struct lpo_model_decoder *d, struct lpo_err *err)
{
    const struct lpo_fields *f = d->fields;
    int rc = lpo_model_size(f, "hidden_size|n_embd|d_model|n_embed|dim", 0, 1, MAX_SIZE, &d->hidden,
                            err);

    if (rc == 0)
        rc = lpo_model_size(f, "num_hidden_layers|n_layer|num_layers|n_layers", 0, 1, MAX_LAYERS,
                            &d->layers, err);
    if (rc == 0)
        rc = lpo_model_size(f, "num_attention_heads|n_head|n_heads|num_heads", 0, 1, MAX_HEADS,
                            &d->heads, err);
    if (rc == 0)
        rc = lpo_model_size(f, "vocab_size", 0, 1, MAX_SIZE, &d->vocab, err);
    if (rc == 0)
        rc = lpo_model_size(f, "intermediate_size|n_inner|ffn_hidden_size|ffn_dim",
                            4 * (int64_t)d->hidden, 1, MAX_SIZE, &d->inter, err);
    if (rc == 0)
        rc = lpo_model_size(f, "max_position_embeddings|n_positions|n_ctx|max_sequence_length", 0,
                            0, (int64_t)1 << 40, &d->positions, err);
    return rc;
}

static int read_attention(struct lpo_model_decoder *d, struct lpo_err *err)
{
    const struct lpo_fields *f = d->fields;
    int64_t kv = (int64_t)d->heads;
    int rc;

    /* Falcon says "one key head" with a flag, which its newer architecture ignores */
    if (lpo_model_field_bool(f, "multi_query", false) &&
        !lpo_model_field_bool(f, "new_decoder_architecture", false))
        kv = 1;
    else
        kv = lpo_model_field_int(f, "num_key_value_heads|num_kv_heads|n_head_kv|n_kv_heads", kv);
    if (kv < 1 || kv > (int64_t)d->heads)
        return lpo_fail(err, LPO_E_RANGE,
                        "the config gives %lld key and value heads for %llu heads", (long long)kv,
                        (unsigned long long)d->heads);
    d->kv_heads = (uint64_t)kv;
    rc = lpo_model_size(f, "head_dim", (int64_t)(d->hidden / d->heads), 1, MAX_SIZE, &d->head_dim,
                        err);
    d->v_dim = d->head_dim;
    return rc;
}

/* Latent attention (DeepSeek): keys and values of a token are one short vector, `kv_rank` wide,
 * beside a rotary part that all heads share. */
static int read_mla(struct lpo_model_decoder *d, struct lpo_err *err)
{
    const struct lpo_fields *f = d->fields;
    int rc = lpo_model_size(f, "kv_lora_rank", 0, 0, MAX_SIZE, &d->kv_rank, err);

    if (rc < 0 || d->kv_rank == 0 || !lpo_model_field_bool(f, "use_mla", true)) {
        d->kv_rank = 0;
        return rc;
    }
    rc = lpo_model_size(f, "q_lora_rank", 0, 0, MAX_SIZE, &d->q_rank, err);
    if (rc == 0)
        rc = lpo_model_size(f, "qk_nope_head_dim", 0, 1, MAX_SIZE, &d->nope_dim, err);
    if (rc == 0)
        rc = lpo_model_size(f, "qk_rope_head_dim", 0, 1, MAX_SIZE, &d->rope_dim, err);
    if (rc == 0)
        rc = lpo_model_size(f, "v_head_dim", 0, 1, MAX_SIZE, &d->v_dim, err);
    d->head_dim = d->nope_dim + d->rope_dim;
    return rc;
}

static void read_rotary(struct lpo_model_decoder *d)
{
    const struct lpo_fields *f = d->fields;
    const struct lpo_json *rope = lpo_model_field_json(f, "rope_parameters|rope_scaling");
    double part = lpo_model_field_real(f, "partial_rotary_factor|rotary_pct|rope_pct", 1.0);

    if (d->family->no_rotary)
        return;
    /* newer configs move the factor into rope_parameters */
    part = lpo_json_real(lpo_json_get(rope, "partial_rotary_factor"), part);
    if (!(part > 0 && part <= 1))
        part = 1;
    d->rotary_dim = d->kv_rank ? d->rope_dim : (uint64_t)((double)d->head_dim * part);
    d->rotary_products = 1;
}

static int read_experts(struct lpo_model_decoder *d, struct lpo_err *err)
{
    const struct lpo_fields *f = d->fields;
    uint64_t shared = 0;
    int rc = lpo_model_size(f, "num_local_experts|num_experts|n_routed_experts|moe_num_experts", 0,
                            0, MAX_EXPERTS, &d->experts, err);

    if (rc < 0 || d->experts == 0 || !d->family->moe) {
        d->experts = 0;
        return rc;
    }
    rc = lpo_model_size(f, "num_experts_per_tok|moe_k|num_experts_per_token|moe_topk", 0, 1,
                        (int64_t)d->experts, &d->top_k, err);
    if (rc == 0)
        rc = lpo_model_size(f, "moe_intermediate_size", (int64_t)d->inter, 1, MAX_SIZE,
                            &d->expert_inter, err);
    if (rc == 0)
        rc = lpo_model_size(f, "n_shared_experts|moe_num_shared_experts|num_shared_experts", 0, 0,
                            MAX_EXPERTS, &shared, err);
    if (rc == 0)
        rc = lpo_model_size(f, "shared_expert_intermediate_size",
                            (int64_t)lpo_model_mul(shared, d->expert_inter), 0, INT64_MAX,
                            &d->shared_inter, err);
    return rc;
}

static bool in_list(const struct lpo_json *list, int64_t n)
{
    LPO_JSON_EACH(item, list)
    if (lpo_json_int(item, -1) == n)
        return true;
    return false;
}

/* The rules of all families at once: the keys that a config does not have change nothing. */
static void mark_sparse(struct lpo_model_decoder *d)
{
    const struct lpo_fields *f = d->fields;
    const struct lpo_json *dense = lpo_model_field_json(f, "mlp_only_layers");
    int64_t first = lpo_model_field_int(f, "first_k_dense_replace|moe_layer_start_index", 0);
    int64_t last = lpo_model_field_int(f, "moe_layer_end_index", -1);
    int64_t step = lpo_model_field_int(f, "decoder_sparse_step|moe_layer_interval", 1);

    last = last < 0 ? (int64_t)d->layers - 1 : last;
    step = step < 1 ? 1 : step;
    for (int64_t l = 0; l < (int64_t)d->layers; l++)
        d->sparse[l] =
            d->experts > 0 && l >= first && l <= last && (l + 1) % step == 0 && !in_list(dense, l);
}

static bool rule_says_window(const struct lpo_model_decoder *d, int64_t l)
{
    const struct lpo_fields *f = d->fields;
    int64_t every = lpo_model_field_int(f, "sliding_window_pattern|_sliding_window_pattern",
                                        d->family->window_every);

    switch (d->family->window) {
    case LPO_WINDOW_ALL:
        return lpo_model_field_bool(f, "use_sliding_window", true);
    case LPO_WINDOW_PATTERN:
        return every > 0 && (l + 1) % every != 0;
    case LPO_WINDOW_ABOVE:
        return lpo_model_field_bool(f, "use_sliding_window", false) &&
               l >= lpo_model_field_int(f, "max_window_layers", 0);
    case LPO_WINDOW_NONE:
        break;
    }
    return false;
}

static void mark_windows(struct lpo_model_decoder *d)
{
    const struct lpo_json *types = lpo_model_field_json(d->fields, "layer_types");
    const struct lpo_json *type = types && types->kind == LPO_JSON_ARRAY ? types->first : NULL;
    int64_t window = lpo_model_field_int(d->fields, "sliding_window", 0);
    bool some = false, all = true;

    for (int64_t l = 0; l < (int64_t)d->layers; l++) {
        bool sliding = type ? strcmp(lpo_json_text(type, ""), "sliding_attention") == 0
                            : rule_says_window(d, l);

        d->window[l] = sliding && window > 0 ? (uint64_t)window : 0;
        some |= sliding;
        all &= sliding;
        type = type ? type->next : NULL;
    }
    if (d->family->rotary_per_type && d->rotary_products && some && !all)
        d->rotary_products = 2;
}

int lpo_model_decoder_create(struct lpo_arena *a, const struct lpo_json *config,
                             const struct lpo_decoder_family *family,
                             struct lpo_model_decoder **out, struct lpo_err *err)
{
    struct lpo_model_decoder *d = LPO_NEW(a, struct lpo_model_decoder);
    int rc;

    d->family = family;
    d->root = family->root;
    d->fields = LPO_NEW(a, struct lpo_fields);
    *d->fields = (struct lpo_fields){ config, family->defaults };
    rc = read_sizes(d, err);
    if (rc == 0)
        rc = read_attention(d, err);
    if (rc == 0)
        rc = read_mla(d, err);
    if (rc == 0)
        rc = read_experts(d, err);
    if (rc < 0)
        return rc;
    read_rotary(d);
    d->tied = lpo_model_field_bool(d->fields, "tie_word_embeddings", false);
    d->pooled_out = (uint64_t)lpo_model_field_int(d->fields, "projection_size", (int64_t)d->hidden);
    d->window = lpo_arena_array(a, d->layers, sizeof *d->window);
    d->sparse = lpo_arena_array(a, d->layers, sizeof *d->sparse);
    mark_sparse(d);
    mark_windows(d);
    *out = d;
    return 0;
}
