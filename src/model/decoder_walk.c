/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a decoder of any row of conf/rules/families.yaml, from the embedding to the
 * head: tensors and operations at once. */
#include <limits.h>

#include "model/count.h"
#include "model/model.h"
#include "model/quant.h"

static uint64_t rows(const struct lpo_walk *w)
{
    return lpo_model_mul(w->phase->batch, w->phase->tokens);
}

static bool says(const struct lpo_model_decoder *d, const char *key_or_yes)
{
    return lpo_model_family_says(d->fields, key_or_yes);
}

static void project(struct lpo_walk *w, const struct lpo_model_decoder *d, const char *name,
                    uint64_t in, uint64_t out, const char *bias, uint64_t ways)
{
    lpo_model_walk_linear(w,
                          &(struct lpo_linear){ .name = name,
                                                .in = in,
                                                .out = out,
                                                .bias = says(d, bias),
                                                .in_first = d->family->in_first,
                                                .bias_after = d->family->bias_after,
                                                .kind = LPO_OP_PROJECTION,
                                                .ways = ways },
                          rows(w));
}

/* The norm of queries or keys, in the forms of family/family.h. */
static void head_norm(struct lpo_walk *w, const struct lpo_model_decoder *d, const char *name,
                      uint64_t heads, uint64_t dim)
{
    uint64_t vectors = lpo_model_mul(rows(w), heads);

    switch (d->family->qk_norm_form) {
    case LPO_QK_NORM_HEAD:
    case LPO_QK_NORM_HEAD_LN:
        lpo_model_walk_norm(w, name, dim, d->family->qk_norm_form == LPO_QK_NORM_HEAD_LN, vectors);
        break;
    case LPO_QK_NORM_WIDE:
        lpo_model_walk_norm(w, name, lpo_model_mul(heads, dim), false, rows(w));
        break;
    case LPO_QK_NORM_MATRIX:
        lpo_model_walk_tensor(w, lpo_arena_printf(w->arena, "%s.weight", name), heads, dim, 0, 0);
        break;
    case LPO_QK_NORM_PER_HEAD:
        for (uint64_t h = 0; h < heads; h++)
            lpo_model_walk_norm(
                w, lpo_arena_printf(w->arena, "%s.norms.%llu", name, (unsigned long long)h), dim,
                false, rows(w));
        break;
    }
}

/* A small product of queries with one key a token finds the tokens worth attending to. */
static void walk_indexer(struct lpo_walk *w, const struct lpo_model_decoder *d,
                         const struct lpo_model_layer_block *b)
{
    uint64_t wide = lpo_model_mul(b->index_heads, b->index_dim);
    struct lpo_attention scan = { .tokens = w->phase->tokens,
                                  .cached = w->phase->cached,
                                  .causal = true };
    size_t mark;

    if (!wide || !b->top_keys)
        return;
    mark = lpo_model_walk_enter(w, "indexer");
    project(w, d, "wq_b", b->q_rank ? b->q_rank : d->hidden, wide, NULL, 1);
    project(w, d, "wk", d->hidden, b->index_dim, NULL, 1);
    lpo_model_walk_norm(w, "k_norm", b->index_dim, true, rows(w));
    project(w, d, "weights_proj", d->hidden, b->index_heads, NULL, 1);
    lpo_model_walk_product(w, "scan", LPO_OP_SCORES, LPO_ATEN_BMM,
                           lpo_model_mul3(2 * w->phase->batch, wide,
                                          lpo_model_attention_pairs(&scan, w->phase->counting)),
                           1);
    if (w->ops && w->phase->tokens)
        w->ops->at[w->ops->len - 1].reads = lpo_model_mul3(
            w->phase->batch, w->phase->cached + w->phase->tokens, (b->index_dim + 1) / 2);
    lpo_model_walk_leave(w, mark);
}

/* Keys that a query sees at most: those of its window, or the best that the indexer found. */
static uint64_t seen_keys(const struct lpo_model_layer_block *b)
{
    return b->window ? b->window : b->top_keys;
}

static void walk_heads(struct lpo_walk *w, const struct lpo_model_decoder *d,
                       const struct lpo_model_layer_block *b)
{
    const struct lpo_decoder_family *f = d->family;
    uint64_t q = lpo_model_mul(b->heads, b->head_dim), kv = lpo_model_mul(b->kv_heads, b->head_dim);

    if (f->qkv) {
        /* one product can be cut no finer than its scarcest part, the key heads */
        project(w, d, f->qkv, d->hidden, lpo_model_add(q, lpo_model_mul(2, kv)), f->qkv_bias,
                b->kv_heads);
    } else {
        project(w, d, f->q, d->hidden, b->gated ? lpo_model_mul(2, q) : q, f->qkv_bias, b->heads);
        if (!b->borrows_cache)
            project(w, d, f->k, d->hidden, kv, f->qkv_bias, b->kv_heads);
        if (!b->borrows_cache && !b->keys_are_values)
            project(w, d, f->v, d->hidden, kv, f->qkv_bias, b->kv_heads);
    }
    if (says(d, f->qk_norm)) {
        head_norm(w, d, f->q_norm, b->heads, b->head_dim);
        if (!b->borrows_cache)
            head_norm(w, d, f->k_norm, b->kv_heads, b->head_dim);
    }
    if (f->sinks)
        lpo_model_walk_tensor(w, f->sinks, b->heads, 0, 0, 0);
    walk_indexer(w, d, b);
    lpo_model_walk_attention(
        w, &(struct lpo_attention){ .heads = b->heads,
                                    .kv_heads = b->kv_heads,
                                    .qk_dim = b->head_dim,
                                    .v_dim = b->head_dim,
                                    .tokens = w->phase->tokens,
                                    .cached = w->phase->cached,
                                    .groups = 1,
                                    .window = seen_keys(b),
                                    .causal = !f->bidirectional,
                                    .kv_width = f->no_cache ? 0 : lpo_model_mul(2, kv) });
    project(w, d, f->o, q, d->hidden, f->o_bias, b->heads);
}

/* Scores and values over the expanded keys, or over the latents themselves. Absorbed, each
 * head's query is projected into the latent space and the result back out of it: two more products,
 * and cached tokens need no expansion. */
static void absorb(struct lpo_walk *w, const struct lpo_model_layer_block *b, const char *name,
                   uint64_t dim)
{
    uint64_t per_head = lpo_model_mul3(rows(w), b->heads, b->kv_rank);

    if (!w->ops || per_head == 0)
        return;
    lpo_model_walk_product(w, name, LPO_OP_PROJECTION, LPO_ATEN_BMM,
                           lpo_model_mul3(2, per_head, dim), b->heads);
    w->ops->at[w->ops->len - 1].weights = (double)b->heads * (double)b->kv_rank * (double)dim;
    w->ops->at[w->ops->len - 1].reads = lpo_model_mul3(rows(w), b->heads, dim);
    w->ops->at[w->ops->len - 1].writes = per_head;
}

static void mla_attend(struct lpo_walk *w, const struct lpo_model_layer_block *b)
{
    bool absorbed = w->phase->absorb;

    if (absorbed)
        absorb(w, b, "absorb_q", b->nope_dim);
    lpo_model_walk_attention(w, &(struct lpo_attention){
                                    .heads = b->heads,
                                    .kv_heads = 1,
                                    .qk_dim = absorbed ? b->kv_rank + b->rope_dim : b->head_dim,
                                    .v_dim = absorbed ? b->kv_rank : b->v_dim,
                                    .tokens = w->phase->tokens,
                                    .cached = w->phase->cached,
                                    .groups = 1,
                                    .window = b->top_keys,
                                    .causal = true,
                                    .kv_width = b->kv_rank + b->rope_dim,
                                });
    if (absorbed)
        absorb(w, b, "absorb_v", b->v_dim);
}

static void walk_mla(struct lpo_walk *w, const struct lpo_model_decoder *d,
                     const struct lpo_model_layer_block *b)
{
    const char *bias = d->family->qkv_bias;
    uint64_t q = lpo_model_mul(b->heads, b->head_dim);
    uint64_t expanded =
        lpo_model_mul(w->phase->batch, lpo_model_add(w->phase->cached, w->phase->tokens));
    struct lpo_linear expand = { .name = "kv_b_proj",
                                 .in = b->kv_rank,
                                 .out = lpo_model_mul(b->heads, b->nope_dim + b->v_dim),
                                 .kind = LPO_OP_PROJECTION,
                                 .ways = b->heads };

    if (b->q_rank) {
        project(w, d, "q_a_proj", d->hidden, b->q_rank, bias, 1);
        lpo_model_walk_norm(w, "q_a_layernorm", b->q_rank, false, rows(w));
        project(w, d, "q_b_proj", b->q_rank, q, NULL, b->heads);
    } else {
        project(w, d, "q_proj", d->hidden, q, NULL, b->heads);
    }
    project(w, d, "kv_a_proj_with_mqa", d->hidden, b->kv_rank + b->rope_dim, bias, 1);
    lpo_model_walk_norm(w, "kv_a_layernorm", b->kv_rank, false, rows(w));
    /* expanded: the latents of all cached tokens, in every step; absorbed: the weights are stored
     * all the same, and mla_attend() uses them */
    lpo_model_walk_linear(w, &expand, w->phase->absorb ? 0 : expanded);
    walk_indexer(w, d, b);
    mla_attend(w, b);
    if (b->gated)
        project(w, d, "g_proj", d->hidden, lpo_model_mul(b->heads, b->v_dim), NULL, b->heads);
    project(w, d, "o_proj", lpo_model_mul(b->heads, b->v_dim), d->hidden, d->family->o_bias,
            b->heads);
}

/* Near tokens one by one, far ones as one vector for `compress` of them. */
static void walk_compressed(struct lpo_walk *w, const struct lpo_model_decoder *d,
                            const struct lpo_model_layer_block *b)
{
    uint64_t q = lpo_model_mul(b->heads, b->head_dim), dim = b->head_dim;
    uint64_t group = lpo_model_mul(b->o_groups, b->o_rank), seen = b->window, far;

    project(w, d, "wq_a", d->hidden, b->q_rank, NULL, 1);
    lpo_model_walk_norm(w, "q_norm", b->q_rank, false, rows(w));
    project(w, d, "wq_b", b->q_rank, q, NULL, b->heads);
    project(w, d, "wkv", d->hidden, dim, NULL, 1);
    lpo_model_walk_norm(w, "kv_norm", dim, false, rows(w));
    lpo_model_walk_tensor(w, "attn_sink", b->heads, 0, 0, 0);
    if (b->compress) { /* few tokens in one vector overlap: twice the width */
        uint64_t wide = b->compress < 16 ? lpo_model_mul(2, dim) : dim;

        project(w, d, "compressor.wkv", d->hidden, wide, NULL, 1);
        project(w, d, "compressor.wgate", d->hidden, wide, NULL, 1);
        lpo_model_walk_tensor(w, "compressor.ape", b->compress, wide, 0, 0);
        lpo_model_walk_norm(w, "compressor.norm", dim, false, rows(w));
        far = lpo_model_add(w->phase->cached, w->phase->tokens) / b->compress;
        if (b->compress < 16) { /* the many vectors of a short step are searched */
            walk_indexer(w, d, b);
            project(w, d, "indexer.compressor.wkv", d->hidden, 2 * b->index_dim, NULL, 1);
            project(w, d, "indexer.compressor.wgate", d->hidden, 2 * b->index_dim, NULL, 1);
            far = b->top_keys && far > b->top_keys ? b->top_keys : far;
        }
        seen = lpo_model_add(seen, far);
    }
    lpo_model_walk_attention(w, &(struct lpo_attention){ .heads = b->heads,
                                                         .kv_heads = 1,
                                                         .qk_dim = dim,
                                                         .v_dim = dim,
                                                         .tokens = w->phase->tokens,
                                                         .cached = w->phase->cached,
                                                         .groups = 1,
                                                         .window = seen,
                                                         .causal = true,
                                                         .kv_width = dim });
    project(w, d, "wo_a", q / b->o_groups, group, NULL, b->o_groups);
    project(w, d, "wo_b", group, d->hidden, NULL, b->o_groups);
}

/* A recurrence: each token decays the state, adds to it and reads it. The state has 32 bits: two
 * elements of an activation for each of its own. */
static void walk_recurrence(struct lpo_walk *w, const struct lpo_model_layer_block *b,
                            uint64_t flops_per_token, uint64_t channels)
{
    uint64_t state = lpo_model_mul(2, lpo_model_block_state(b, 1));

    lpo_model_walk_tensor(w, "conv1d.weight", channels, 1, b->conv, 0);
    lpo_model_walk_product(w, "recurrence", LPO_OP_SCORES, LPO_ATEN_NONE,
                           lpo_model_mul(rows(w), flops_per_token), b->heads);
    if (w->ops && rows(w)) {
        w->ops->at[w->ops->len - 1].reads =
            lpo_model_add(lpo_model_mul(w->phase->batch, state), lpo_model_mul(rows(w), channels));
        w->ops->at[w->ops->len - 1].writes =
            lpo_model_add(lpo_model_mul(w->phase->batch, state),
                          lpo_model_mul3(rows(w), b->heads, b->v_dim ? b->v_dim : b->head_dim));
    }
}

/* Gated DeltaNet, and KDA, whose gates are products of their own. */
static void walk_delta(struct lpo_walk *w, const struct lpo_model_decoder *d,
                       const struct lpo_model_layer_block *b)
{
    uint64_t keys = lpo_model_mul(b->kv_heads, b->head_dim),
             values = lpo_model_mul(b->heads, b->v_dim);
    uint64_t channels = lpo_model_add(lpo_model_mul(2, keys), values);

    project(w, d, "in_proj_qkv", d->hidden, channels, NULL, b->kv_heads);
    if (b->kind == LPO_LAYER_KDA) { /* gates of low rank; the output's may be a full product */
        project(w, d, "f_a_proj", d->hidden, b->head_dim, NULL, 1);
        project(w, d, "f_b_proj", b->head_dim, values, NULL, b->heads);
        project(w, d, "b_proj", d->hidden, b->heads, NULL, b->heads);
        if (b->gated) {
            project(w, d, "g_proj", d->hidden, values, NULL, b->heads);
        } else {
            project(w, d, "g_a_proj", d->hidden, b->head_dim, NULL, 1);
            project(w, d, "g_b_proj", b->head_dim, values, "yes", b->heads);
        }
        lpo_model_walk_tensor(w, "dt_bias", values, 0, 0, 0);
    } else {
        project(w, d, "in_proj_z", d->hidden, values, NULL, b->heads);
        project(w, d, "in_proj_b", d->hidden, b->heads, NULL, b->heads);
        project(w, d, "in_proj_a", d->hidden, b->heads, NULL, b->heads);
        lpo_model_walk_tensor(w, "dt_bias", b->heads, 0, 0, 0);
    }
    lpo_model_walk_tensor(w, "A_log", b->heads, 0, 0, 0);
    /* the state times the key, the correction added to it, the state times the query */
    walk_recurrence(w, b, lpo_model_mul(6, lpo_model_mul3(b->heads, b->head_dim, b->v_dim)),
                    channels);
    lpo_model_walk_norm(w, "norm", b->v_dim, false, lpo_model_mul(rows(w), b->heads));
    project(w, d, "out_proj", values, d->hidden, NULL, b->heads);
}

static void walk_mamba(struct lpo_walk *w, const struct lpo_model_decoder *d,
                       const struct lpo_model_layer_block *b)
{
    uint64_t inner = lpo_model_mul(b->heads, b->head_dim);
    uint64_t channels = lpo_model_add(inner, lpo_model_mul3(2, b->groups, b->state));

    project(w, d, "in_proj", d->hidden, lpo_model_add(lpo_model_add(inner, channels), b->heads),
            "mamba_proj_bias", b->heads);
    if (says(d, "use_conv_bias|mamba_conv_bias"))
        lpo_model_walk_tensor(w, "conv1d.bias", channels, 0, 0, 0);
    lpo_model_walk_tensor(w, "A_log", b->heads, 0, 0, 0);
    lpo_model_walk_tensor(w, "D", b->heads, 0, 0, 0);
    lpo_model_walk_tensor(w, "dt_bias", b->heads, 0, 0, 0);
    walk_recurrence(w, b, lpo_model_mul(4, lpo_model_mul(inner, b->state)), channels);
    lpo_model_walk_norm(w, "norm", inner, false, rows(w));
    project(w, d, "out_proj", inner, d->hidden, "mamba_proj_bias", b->heads);
}

static void walk_mlp(struct lpo_walk *w, const struct lpo_model_decoder *d, bool plain,
                     uint64_t inter)
{
    const struct lpo_decoder_family *f = d->family;
    struct lpo_linear l = { .in = d->hidden,
                            .bias = says(d, f->mlp_bias),
                            .in_first = f->in_first,
                            .bias_after = f->bias_after,
                            .kind = LPO_OP_MLP,
                            .ways = inter };

    l.out = f->mlp_form == LPO_MLP_GATED_FUSED ? lpo_model_mul(2, inter) : inter;
    if (f->mlp_form == LPO_MLP_GATED && !plain) {
        l.name = f->gate;
        lpo_model_walk_linear(w, &l, rows(w));
    }
    l.name = f->up;
    lpo_model_walk_linear(w, &l, rows(w));
    l.name = f->down;
    l.in = inter;
    l.out = d->hidden;
    lpo_model_walk_linear(w, &l, rows(w));
}

/* One stacked tensor of experts; `rows` counts token and expert pairs. */
static void experts(struct lpo_walk *w, const struct lpo_model_decoder *d,
                    const struct lpo_model_layer_block *b, const char *name, uint64_t in,
                    uint64_t out)
{
    const struct lpo_moe_names *m = d->family->moe;
    uint64_t pairs = lpo_model_mul(rows(w), b->top_k), first = w->tensors ? w->tensors->len : 0;
    /* how many experts n tokens reach, each picking top_k of them at random */
    double hit =
        (double)b->experts * (1 - pow(1 - (double)b->top_k / (double)b->experts, (double)rows(w)));

    lpo_model_walk_tensor(w, name, b->experts, m->in_first ? in : out, m->in_first ? out : in, 0);
    if (m->expert_bias)
        lpo_model_walk_tensor(w, lpo_arena_printf(w->arena, "%s_bias", name), b->experts, out, 0,
                              0);
    for (uint64_t i = first; w->tensors && i < w->tensors->len; i++) {
        w->tensors->at[i].experts = (uint32_t)b->experts;
        w->tensors->at[i].active = (uint32_t)b->top_k;
        w->tensors->at[i].ways = b->expert_inter;
        w->tensors->at[i].format =
            lpo_model_quant_of(w->quant, w->tensors->at[i].name, LPO_OP_EXPERTS);
    }
    if (!w->ops || pairs == 0)
        return;
    lpo_model_walk_product(w, name, LPO_OP_EXPERTS, LPO_ATEN_MM,
                           lpo_model_mul(2, lpo_model_mul3(pairs, in, out)), b->expert_inter);
    w->ops->at[w->ops->len - 1].weights = hit * (double)in * (double)out;
    w->ops->at[w->ops->len - 1].reads = lpo_model_mul(pairs, in);
    w->ops->at[w->ops->len - 1].writes = lpo_model_mul(pairs, out);
}

static void walk_shared(struct lpo_walk *w, const struct lpo_model_decoder *d,
                        const struct lpo_model_layer_block *b)
{
    const struct lpo_moe_names *m = d->family->moe;
    size_t mark;

    if (!m->shared || b->shared_inter == 0)
        return;
    mark = lpo_model_walk_enter(w, "%s", m->shared);
    walk_mlp(w, d, b->plain, b->shared_inter);
    lpo_model_walk_leave(w, mark);
    if (m->shared_gate)
        lpo_model_walk_linear(
            w,
            &(struct lpo_linear){
                .name = m->shared_gate, .in = d->hidden, .out = 1, .kind = LPO_OP_ROUTER },
            rows(w));
}

static void walk_moe(struct lpo_walk *w, const struct lpo_model_decoder *d,
                     const struct lpo_model_layer_block *b)
{
    const struct lpo_moe_names *m = d->family->moe;
    uint64_t width = b->expert_hidden ? b->expert_hidden : d->hidden;
    size_t mark;

    lpo_model_walk_linear(w,
                          &(struct lpo_linear){ .name = m->router,
                                                .in = d->hidden,
                                                .out = b->experts,
                                                .bias = m->router_bias,
                                                .kind = LPO_OP_ROUTER },
                          rows(w));
    if (m->correction) {
        mark = lpo_model_walk_enter(w, "%s", m->router);
        lpo_model_walk_tensor(w, m->correction, 1, b->experts, 0, 0);
        lpo_model_walk_leave(w, mark);
    }
    mark = lpo_model_walk_enter(w, "%s", m->experts);
    experts(w, d, b, b->plain ? "up_proj" : "gate_up_proj", width,
            b->plain ? b->expert_inter : lpo_model_mul(2, b->expert_inter));
    experts(w, d, b, "down_proj", b->expert_inter, width);
    lpo_model_walk_leave(w, mark);
    if (b->expert_hidden) { /* into the experts' narrower space and back */
        project(w, d, "latent_down_proj", d->hidden, width, NULL, 1);
        lpo_model_walk_norm(w, "latent_norm", width, false, rows(w));
        project(w, d, "latent_up_proj", width, d->hidden, NULL, 1);
    }
    walk_shared(w, d, b);
}

static void walk_feed_forward(struct lpo_walk *w, const struct lpo_model_decoder *d,
                              const struct lpo_model_layer_block *b)
{
    walk_mlp(w, d, b->plain, b->inter);
}

static void walk_linear(struct lpo_walk *w, const struct lpo_model_decoder *d,
                        const struct lpo_model_layer_block *b)
{
    (void)b;
    project(w, d, "linear", d->hidden, d->hidden, NULL, 1);
}

/* All norms of a layer together: they form one block in the report, whatever their order. */
static void walk_norms(struct lpo_walk *w, const struct lpo_model_decoder *d,
                       const struct lpo_model_layer *layer)
{
    /* a layer of one block, or of none, has one norm for each that it has */
    int norms = layer->count < 2 ? layer->count : INT_MAX;

    w->at.block = LPO_BLOCK_NORM;
    for (const char *p = d->family->norms; *p && norms-- > 0; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");

        lpo_model_walk_norm(w, lpo_arena_strndup(w->arena, p, len), d->hidden, d->family->norm_bias,
                            rows(w));
        p += len;
    }
}

/* Module names and the block of the report that each kind belongs to. */
static const struct {
    void (*walk)(struct lpo_walk *w, const struct lpo_model_decoder *d,
                 const struct lpo_model_layer_block *b);
    enum lpo_model_block block;
    const char *name; /* NULL: the family's for attention, or for an MLP */
} kinds[] = {
    [LPO_LAYER_ATTENTION] = { walk_heads, LPO_BLOCK_ATTN, NULL },
    [LPO_LAYER_LATENT] = { walk_mla, LPO_BLOCK_ATTN, NULL },
    [LPO_LAYER_COMPRESSED] = { walk_compressed, LPO_BLOCK_ATTN, NULL },
    [LPO_LAYER_DELTA] = { walk_delta, LPO_BLOCK_ATTN, "linear_attn" },
    [LPO_LAYER_KDA] = { walk_delta, LPO_BLOCK_ATTN, NULL },
    [LPO_LAYER_MAMBA] = { walk_mamba, LPO_BLOCK_ATTN, "mixer" },
    [LPO_LAYER_LINEAR] = { walk_linear, LPO_BLOCK_MLP, "linear" },
    [LPO_LAYER_MLP] = { walk_feed_forward, LPO_BLOCK_MLP, NULL },
    [LPO_LAYER_EXPERTS] = { walk_moe, LPO_BLOCK_MLP, NULL },
};

/* What Gemma adds to every layer: an embedding of its own, gated by the layer's output. */
static void walk_layer_input(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    if (!d->layer_input)
        return;
    project(w, d, "per_layer_input_gate", d->hidden, d->layer_input, NULL, 1);
    project(w, d, "per_layer_projection", d->layer_input, d->hidden, NULL, 1);
    lpo_model_walk_norm(w, "post_per_layer_input_norm", d->hidden, false, rows(w));
}

/* Hyper-connections: the weights with which the streams are mixed before and after each block. */
static void walk_streams(struct lpo_walk *w, const struct lpo_model_decoder *d, int blocks)
{
    uint64_t mixed = lpo_model_mul(d->streams, d->streams + 2);

    for (int i = 0; d->streams && i < blocks; i++)
        lpo_model_walk_linear(w,
                              &(struct lpo_linear){ .name = i ? "hc_ffn" : "hc_attn",
                                                    .in = lpo_model_mul(d->streams, d->hidden),
                                                    .out = mixed,
                                                    .bias = true,
                                                    .kind = LPO_OP_ROUTER },
                              rows(w));
}

static void walk_layer(struct lpo_walk *w, const struct lpo_model_decoder *d, int l)
{
    const struct lpo_model_layer *layer = &d->layer[l];

    walk_norms(w, d, layer);
    walk_streams(w, d, layer->count);
    for (int i = 0; i < layer->count; i++) {
        const struct lpo_model_layer_block *b = &layer->block[i];
        size_t mark;
        const char *family =
            kinds[b->kind].block == LPO_BLOCK_ATTN ? d->family->attn : d->family->mlp;

        if (b->kind == LPO_LAYER_EXPERTS && d->family->moe->module)
            family = d->family->moe->module;
        w->at.block = kinds[b->kind].block;
        mark = lpo_model_walk_enter(w, "%s", kinds[b->kind].name ? kinds[b->kind].name : family);
        kinds[b->kind].walk(w, d, b);
        lpo_model_walk_leave(w, mark);
    }
    walk_layer_input(w, d);
}

static void walk_embedding(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    const struct lpo_decoder_family *f = d->family;

    w->at.block = LPO_BLOCK_EMBED;
    lpo_model_walk_embedding(w, f->embed, d->vocab, d->hidden, rows(w));
    if (d->layer_input) {
        uint64_t wide = lpo_model_mul(d->layers, d->layer_input);

        lpo_model_walk_embedding(w, "embed_tokens_per_layer", d->layer_vocab, wide, rows(w));
        project(w, d, "per_layer_model_projection", d->hidden, wide, NULL, 1);
        lpo_model_walk_norm(w, "per_layer_projection_norm", d->layer_input, false, rows(w));
    }
    if (f->positions)
        lpo_model_walk_embedding(w, f->positions, d->positions, d->hidden, rows(w));
    /* a model keeps its table of angles; the framework multiplies it out in every forward pass */
    if (w->phase->counting == LPO_COUNT_FRAMEWORK)
        lpo_model_walk_product(
            w, "rotary_emb", LPO_OP_ROTARY, LPO_ATEN_BMM,
            lpo_model_mul(d->rotary_products, lpo_model_mul3(2, rows(w), (d->rotary_dim + 1) / 2)),
            1);
}

static void walk_head(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    const struct lpo_decoder_family *f = d->family;
    /* generation needs the logits of the last position alone: one row per sequence */
    uint64_t drawn = w->phase->head_all ? rows(w) : w->phase->batch;

    w->at.block = LPO_BLOCK_HEAD;
    if (f->head && !d->headless)
        lpo_model_walk_linear(w,
                              &(struct lpo_linear){ .name = f->head,
                                                    .in = d->hidden,
                                                    .out = d->vocab,
                                                    .bias = says(d, f->head_bias),
                                                    .tied = d->tied,
                                                    .kind = LPO_OP_HEAD,
                                                    .ways = d->vocab },
                              w->phase->tokens ? drawn : 0);
    if (f->pooled)
        lpo_model_walk_linear(w,
                              &(struct lpo_linear){ .name = f->pooled,
                                                    .in = d->hidden,
                                                    .out = d->pooled_out,
                                                    .bias = true,
                                                    .kind = LPO_OP_HEAD },
                              w->phase->batch);
}

void lpo_model_decoder_walk(const struct lpo_model_decoder *d, struct lpo_walk *w)
{
    size_t root;

    w->at = (struct lpo_model_place){ .part = d->part, .layer = -1, .block = LPO_BLOCK_EMBED };
    root = lpo_model_walk_enter(w, "%s", d->root);
    walk_embedding(w, d);
    for (int l = 0; l < (int)d->layers; l++) {
        size_t mark = lpo_model_walk_enter(w, "%s.%d", d->family->layers, l);

        w->at.layer = l;
        walk_layer(w, d, l);
        lpo_model_walk_leave(w, mark);
    }
    w->at.layer = -1;
    w->at.block = LPO_BLOCK_NORM;
    lpo_model_walk_norm(w, d->family->final_norm, d->hidden, d->family->norm_bias, rows(w));
    lpo_model_walk_leave(w, root);
    walk_head(w, d);
}
