/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder: its numbers from a config, for any row of family/decoders.c. */

#include "model/count.h"
#include "model/family/fields.h"
#include "model/model.h"
#include "util/json.h"

/* Far above any published model: a hostile config must not make us walk for ever. */
enum { MAX_LAYERS = 1024, MAX_HEADS = 1024, MAX_SIZE = 1 << 26, MAX_EXPERTS = 1 << 16 };

static int read_sizes(struct lpo_model_decoder *d, struct lpo_err *err)
{
    const struct lpo_fields *f = d->fields;
    struct lpo_model_layer_block *b = &d->base;
    int rc = lpo_model_size(f, "hidden_size|n_embd|d_model|n_embed|dim", 0, 1, MAX_SIZE, &d->hidden,
                            err);

    if (rc == 0)
        rc = lpo_model_size(f, "num_hidden_layers|n_layer|num_layers|n_layers", 0, 1, MAX_LAYERS,
                            &d->layers, err);
    if (rc == 0)
        rc = lpo_model_size(f, "num_attention_heads|n_head|n_heads|num_heads", 0, 1, MAX_HEADS,
                            &b->heads, err);
    if (rc == 0)
        rc = lpo_model_size(f, "vocab_size", 0, 1, MAX_SIZE, &d->vocab, err);
    if (rc == 0)
        rc = lpo_model_size(
            f, "intermediate_size|n_inner|ffn_hidden_size|ffn_dim|moe_intermediate_size",
            4 * (int64_t)d->hidden, 1, MAX_SIZE, &b->inter, err);
    if (rc == 0)
        rc = lpo_model_size(f, "max_position_embeddings|n_positions|n_ctx|max_sequence_length", 0,
                            0, (int64_t)1 << 40, &d->positions, err);
    return rc;
}

static int read_attention(struct lpo_model_decoder *d, struct lpo_err *err)
{
    const struct lpo_fields *f = d->fields;
    struct lpo_model_layer_block *b = &d->base;
    int64_t kv = (int64_t)b->heads;
    int rc;

    /* Falcon says "one key head" with a flag, which its newer architecture ignores */
    if (lpo_model_field_bool(f, "multi_query", false) &&
        !lpo_model_field_bool(f, "new_decoder_architecture", false))
        kv = 1;
    else
        kv = lpo_model_field_int(f,
                                 "num_key_value_heads|num_kv_heads|n_head_kv|n_kv_heads|"
                                 "num_attention_groups",
                                 kv);
    if (kv < 1 || kv > (int64_t)b->heads)
        return lpo_fail(err, LPO_E_RANGE,
                        "the config gives %lld key and value heads for %llu heads", (long long)kv,
                        (unsigned long long)b->heads);
    b->kv_heads = (uint64_t)kv;
    rc = lpo_model_size(f, "head_dim|attention_head_dim", (int64_t)(d->hidden / b->heads), 1,
                        MAX_SIZE, &b->head_dim, err);
    b->v_dim = b->head_dim;
    b->gated = lpo_model_field_bool(f, "attn_output_gate|attention_output_gate", false);
    return rc;
}

/* Latent attention (DeepSeek): keys and values of a token are one short vector, `kv_rank` wide,
 * beside a rotary part that all heads share. */
/* Rows of sizes: a key's spellings and where its value goes. */
struct width {
    const char *keys;
    int least;
    size_t at; /* in struct lpo_model_layer_block */
};

#define WIDTH(keys, least, member)                                                                 \
    {                                                                                              \
        keys, least, offsetof(struct lpo_model_layer_block, member)                                \
    }

static int read_widths(struct lpo_model_decoder *d, const struct width *rows, size_t count,
                       struct lpo_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = lpo_model_size(d->fields, rows[i].keys, 0, rows[i].least, MAX_SIZE,
                            (uint64_t *)((char *)&d->base + rows[i].at), err);
    return rc;
}

/* Latent attention (DeepSeek): keys and values of a token are one short vector, `kv_rank` wide,
 * beside a rotary part that all heads share. */
static int read_mla(struct lpo_model_decoder *d, struct lpo_err *err)
{
    static const struct width latent[] = { WIDTH("q_lora_rank", 0, q_rank),
                                           WIDTH("qk_nope_head_dim", 1, nope_dim),
                                           WIDTH("qk_rope_head_dim", 0, rope_dim),
                                           WIDTH("v_head_dim", 1, v_dim) };
    struct lpo_model_layer_block *b = &d->base;
    int rc = lpo_model_size(d->fields, "kv_lora_rank", 0, 0, MAX_SIZE, &b->kv_rank, err);

    b->kind = LPO_LAYER_ATTENTION;
    if (rc < 0 || b->kv_rank == 0 || !lpo_model_field_bool(d->fields, "use_mla", true)) {
        b->kv_rank = 0;
        return rc;
    }
    b->kind = LPO_LAYER_LATENT;
    b->gated = lpo_model_field_bool(d->fields, "mla_use_output_gate", false);
    rc = read_widths(d, latent, sizeof latent / sizeof *latent, err);
    b->head_dim = b->nope_dim + b->rope_dim;
    return rc;
}

/* A small product scores all cached tokens first, and attention sees the best of them. */
static int read_sparse_attention(struct lpo_model_decoder *d, struct lpo_err *err)
{
    static const struct width rows[] = { WIDTH("index_n_heads", 0, index_heads),
                                         WIDTH("index_head_dim", 0, index_dim),
                                         WIDTH("index_topk", 0, top_keys) };
    static const struct width blocks[] = { WIDTH("sparse_num_index_heads", 0, index_heads),
                                           WIDTH("sparse_index_dim", 0, index_dim),
                                           WIDTH("sparse_topk_blocks", 0, top_keys) };
    const struct lpo_json *own = lpo_model_field_json(d->fields, "sparse_attention_config");
    struct lpo_fields nested = { own, NULL }, *outer = d->fields;
    uint64_t size;
    int rc;

    if (!own)
        return read_widths(d, rows, sizeof rows / sizeof *rows, err);
    d->fields = &nested;
    rc = read_widths(d, blocks, sizeof blocks / sizeof *blocks, err);
    if (rc == 0)
        rc = lpo_model_size(&nested, "sparse_block_size", 1, 1, MAX_SIZE, &size, err);
    if (rc == 0)
        d->base.top_keys = lpo_model_mul(d->base.top_keys, size);
    d->fields = outer;
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
    d->rotary_dim =
        d->base.kv_rank ? d->base.rope_dim : (uint64_t)((double)d->base.head_dim * part);
    d->rotary_products = 1;
    for (uint64_t l = 0; l < d->layers && d->family->rotary_per_type; l++)
        if ((d->layer[l].block[0].window > 0) != (d->layer[0].block[0].window > 0))
            d->rotary_products = 2;
}

static int read_experts(struct lpo_model_decoder *d, struct lpo_err *err)
{
    const struct lpo_fields *f = d->fields;
    struct lpo_model_layer_block *b = &d->base;
    uint64_t shared = 0;
    int rc = lpo_model_size(f, "num_local_experts|num_experts|n_routed_experts|moe_num_experts", 0,
                            0, MAX_EXPERTS, &b->experts, err);

    if (rc < 0 || b->experts == 0 || !d->family->moe) {
        b->experts = 0;
        return rc;
    }
    rc = lpo_model_size(f,
                        "num_experts_per_tok|moe_k|num_experts_per_token|moe_topk|top_k_experts|"
                        "moe_top_k",
                        0, 1, (int64_t)b->experts, &b->top_k, err);
    if (rc == 0)
        rc = lpo_model_size(f, "moe_intermediate_size|expert_intermediate_size", (int64_t)b->inter,
                            1, MAX_SIZE, &b->expert_inter, err);
    if (rc == 0)
        rc = lpo_model_size(f, "n_shared_experts|moe_num_shared_experts|num_shared_experts", 0, 0,
                            MAX_EXPERTS, &shared, err);
    if (rc == 0)
        rc = lpo_model_size(f,
                            "shared_expert_intermediate_size|moe_shared_expert_intermediate_size|"
                            "shared_intermediate_size|share_expert_dim",
                            (int64_t)lpo_model_mul(shared, b->expert_inter), 0, INT64_MAX,
                            &b->shared_inter, err);
    if (rc == 0)
        rc = lpo_model_size(f, "routed_expert_hidden_size|moe_latent_size", 0, 0, MAX_SIZE,
                            &b->expert_hidden, err);
    return rc;
}

/* What stands outside the layers, or in all of them. */
static int read_rest(struct lpo_model_decoder *d, struct lpo_err *err)
{
    const struct lpo_fields *f = d->fields;
    int rc = lpo_model_size(f, "hidden_size_per_layer_input", 0, 0, MAX_SIZE, &d->layer_input, err);

    if (rc == 0)
        rc = lpo_model_size(f, "vocab_size_per_layer_input", (int64_t)d->vocab, 0, MAX_SIZE,
                            &d->layer_vocab, err);
    if (rc == 0)
        rc = lpo_model_size(f, "hc_mult", 0, 0, 64, &d->streams, err);
    if (rc == 0)
        rc = lpo_model_size(f,
                            "num_nextn_predict_layers|mtp_num_hidden_layers|mtp_transformer_layers",
                            0, 0, 64, &d->predictors, err);
    if (lpo_model_field_bool(f, "is_encoder_decoder", false))
        return lpo_fail(err, LPO_E_NOTFOUND,
                        "the model is an encoder with a decoder, which lpo "
                        "does not have");
    d->tied = lpo_model_field_bool(f, "tie_word_embeddings", false);
    d->pooled_out = (uint64_t)lpo_model_field_int(f, "projection_size", (int64_t)d->hidden);
    return rc;
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
        rc = read_sparse_attention(d, err);
    if (rc == 0)
        rc = read_experts(d, err);
    if (rc == 0)
        rc = read_rest(d, err);
    if (rc == 0)
        rc = lpo_model_layers_read(a, d, err);
    if (rc < 0)
        return rc;
    read_rotary(d);
    *out = d;
    return 0;
}
