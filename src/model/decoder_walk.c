/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a decoder of any row of family/dense.c and family/moe.c, from the embedding to the
 * head: tensors and operations at once. */
#include <math.h>
#include <string.h>

#include "model/count.h"
#include "model/family/fields.h"
#include "model/model.h"
#include "util/arena.h"

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
                      uint64_t heads)
{
    uint64_t dim = d->head_dim, vectors = lpo_model_mul(rows(w), heads);

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

static void walk_heads(struct lpo_walk *w, const struct lpo_model_decoder *d, int layer)
{
    const struct lpo_decoder_family *f = d->family;
    uint64_t q = lpo_model_mul(d->heads, d->head_dim), kv = lpo_model_mul(d->kv_heads, d->head_dim);

    if (f->qkv) {
        /* one product can be cut no finer than its scarcest part, the key heads */
        project(w, d, f->qkv, d->hidden, lpo_model_add(q, lpo_model_mul(2, kv)), f->qkv_bias,
                d->kv_heads);
    } else {
        project(w, d, f->q, d->hidden, q, f->qkv_bias, d->heads);
        project(w, d, f->k, d->hidden, kv, f->qkv_bias, d->kv_heads);
        project(w, d, f->v, d->hidden, kv, f->qkv_bias, d->kv_heads);
    }
    if (says(d, f->qk_norm)) {
        head_norm(w, d, f->q_norm, d->heads);
        head_norm(w, d, f->k_norm, d->kv_heads);
    }
    if (f->sinks)
        lpo_model_walk_tensor(w, f->sinks, d->heads, 0, 0, 0);
    lpo_model_walk_attention(
        w, &(struct lpo_attention){ .heads = d->heads,
                                    .kv_heads = d->kv_heads,
                                    .qk_dim = d->head_dim,
                                    .v_dim = d->head_dim,
                                    .tokens = w->phase->tokens,
                                    .cached = w->phase->cached,
                                    .groups = 1,
                                    .window = d->window[layer],
                                    .causal = !f->bidirectional,
                                    .kv_width = f->no_cache ? 0 : lpo_model_mul(2, kv) });
    project(w, d, f->o, q, d->hidden, f->o_bias, d->heads);
}

/* Scores and values over the expanded keys, or over the latents themselves. Absorbed, each
 * head's query is projected into the latent space and the result back out of it: two more products,
 * and cached tokens need no expansion. */
static void absorb(struct lpo_walk *w, const struct lpo_model_decoder *d, const char *name,
                   uint64_t dim)
{
    uint64_t per_head = lpo_model_mul3(rows(w), d->heads, d->kv_rank);

    if (!w->ops || per_head == 0)
        return;
    lpo_model_walk_product(w, name, LPO_OP_PROJECTION, LPO_ATEN_BMM,
                           lpo_model_mul3(2, per_head, dim), d->heads);
    w->ops->at[w->ops->len - 1].weights = (double)d->heads * (double)d->kv_rank * (double)dim;
    w->ops->at[w->ops->len - 1].reads = lpo_model_mul3(rows(w), d->heads, dim);
    w->ops->at[w->ops->len - 1].writes = per_head;
}

static void mla_attend(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    bool absorbed = w->phase->absorb;

    if (absorbed)
        absorb(w, d, "absorb_q", d->nope_dim);
    lpo_model_walk_attention(w, &(struct lpo_attention){
                                    .heads = d->heads,
                                    .kv_heads = 1,
                                    .qk_dim = absorbed ? d->kv_rank + d->rope_dim : d->head_dim,
                                    .v_dim = absorbed ? d->kv_rank : d->v_dim,
                                    .tokens = w->phase->tokens,
                                    .cached = w->phase->cached,
                                    .groups = 1,
                                    .causal = true,
                                    .kv_width = d->kv_rank + d->rope_dim,
                                });
    if (absorbed)
        absorb(w, d, "absorb_v", d->v_dim);
}

static void walk_mla(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    const char *bias = d->family->qkv_bias;
    uint64_t q = lpo_model_mul(d->heads, d->head_dim);
    uint64_t expanded =
        lpo_model_mul(w->phase->batch, lpo_model_add(w->phase->cached, w->phase->tokens));
    struct lpo_linear expand = { .name = "kv_b_proj",
                                 .in = d->kv_rank,
                                 .out = lpo_model_mul(d->heads, d->nope_dim + d->v_dim),
                                 .kind = LPO_OP_PROJECTION,
                                 .ways = d->heads };

    if (d->q_rank) {
        project(w, d, "q_a_proj", d->hidden, d->q_rank, bias, 1);
        lpo_model_walk_norm(w, "q_a_layernorm", d->q_rank, false, rows(w));
        project(w, d, "q_b_proj", d->q_rank, q, NULL, d->heads);
    } else {
        project(w, d, "q_proj", d->hidden, q, NULL, d->heads);
    }
    project(w, d, "kv_a_proj_with_mqa", d->hidden, d->kv_rank + d->rope_dim, bias, 1);
    lpo_model_walk_norm(w, "kv_a_layernorm", d->kv_rank, false, rows(w));
    /* expanded: the latents of all cached tokens, in every step; absorbed: the weights are stored
     * all the same, and mla_attend() uses them */
    lpo_model_walk_linear(w, &expand, w->phase->absorb ? 0 : expanded);
    mla_attend(w, d);
    project(w, d, "o_proj", lpo_model_mul(d->heads, d->v_dim), d->hidden, d->family->o_bias,
            d->heads);
}

static void walk_mlp(struct lpo_walk *w, const struct lpo_model_decoder *d, uint64_t inter)
{
    const struct lpo_decoder_family *f = d->family;
    struct lpo_linear l = { .in = d->hidden,
                            .bias = says(d, f->mlp_bias),
                            .in_first = f->in_first,
                            .bias_after = f->bias_after,
                            .kind = LPO_OP_MLP,
                            .ways = inter };

    l.out = f->mlp_form == LPO_MLP_GATED_FUSED ? lpo_model_mul(2, inter) : inter;
    if (f->mlp_form == LPO_MLP_GATED) {
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
static void experts(struct lpo_walk *w, const struct lpo_model_decoder *d, const char *name,
                    uint64_t in, uint64_t out)
{
    const struct lpo_moe_names *m = d->family->moe;
    uint64_t pairs = lpo_model_mul(rows(w), d->top_k), first = w->tensors ? w->tensors->len : 0;
    /* how many experts n tokens reach, each picking top_k of them at random */
    double hit =
        (double)d->experts * (1 - pow(1 - (double)d->top_k / (double)d->experts, (double)rows(w)));

    lpo_model_walk_tensor(w, name, d->experts, m->in_first ? in : out, m->in_first ? out : in, 0);
    if (m->expert_bias)
        lpo_model_walk_tensor(w, lpo_arena_printf(w->arena, "%s_bias", name), d->experts, out, 0,
                              0);
    for (uint64_t i = first; w->tensors && i < w->tensors->len; i++) {
        w->tensors->at[i].experts = (uint32_t)d->experts;
        w->tensors->at[i].active = (uint32_t)d->top_k;
        w->tensors->at[i].ways = d->expert_inter;
    }
    if (!w->ops || pairs == 0)
        return;
    lpo_model_walk_product(w, name, LPO_OP_EXPERTS, LPO_ATEN_MM,
                           lpo_model_mul(2, lpo_model_mul3(pairs, in, out)), d->expert_inter);
    w->ops->at[w->ops->len - 1].weights = hit * (double)in * (double)out;
    w->ops->at[w->ops->len - 1].reads = lpo_model_mul(pairs, in);
    w->ops->at[w->ops->len - 1].writes = lpo_model_mul(pairs, out);
}

static void walk_shared(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    const struct lpo_moe_names *m = d->family->moe;
    size_t mark;

    if (!m->shared || d->shared_inter == 0)
        return;
    mark = lpo_model_walk_enter(w, "%s", m->shared);
    walk_mlp(w, d, d->shared_inter);
    lpo_model_walk_leave(w, mark);
    if (m->shared_gate)
        lpo_model_walk_linear(
            w,
            &(struct lpo_linear){
                .name = m->shared_gate, .in = d->hidden, .out = 1, .kind = LPO_OP_ROUTER },
            rows(w));
}

static void walk_moe(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    const struct lpo_moe_names *m = d->family->moe;
    size_t mark;

    lpo_model_walk_linear(w,
                          &(struct lpo_linear){ .name = m->router,
                                                .in = d->hidden,
                                                .out = d->experts,
                                                .bias = m->router_bias,
                                                .kind = LPO_OP_ROUTER },
                          rows(w));
    if (m->correction) {
        mark = lpo_model_walk_enter(w, "%s", m->router);
        lpo_model_walk_tensor(w, m->correction, 1, d->experts, 0, 0);
        lpo_model_walk_leave(w, mark);
    }
    mark = lpo_model_walk_enter(w, "%s", m->experts);
    experts(w, d, "gate_up_proj", d->hidden, lpo_model_mul(2, d->expert_inter));
    experts(w, d, "down_proj", d->expert_inter, d->hidden);
    lpo_model_walk_leave(w, mark);
    walk_shared(w, d);
}

/* All norms of a layer together: they form one block in the report, whatever their order. */
static void walk_norms(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    w->at.block = LPO_BLOCK_NORM;
    for (const char *p = d->family->norms; *p; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");

        lpo_model_walk_norm(w, lpo_arena_strndup(w->arena, p, len), d->hidden, d->family->norm_bias,
                            rows(w));
        p += len;
    }
}

static void walk_layer(struct lpo_walk *w, const struct lpo_model_decoder *d, int layer)
{
    size_t mark;

    walk_norms(w, d);
    w->at.block = LPO_BLOCK_ATTN;
    mark = lpo_model_walk_enter(w, "%s", d->family->attn);
    if (d->kv_rank)
        walk_mla(w, d);
    else
        walk_heads(w, d, layer);
    lpo_model_walk_leave(w, mark);
    w->at.block = LPO_BLOCK_MLP;
    mark = lpo_model_walk_enter(w, "%s", d->family->mlp);
    if (d->sparse[layer])
        walk_moe(w, d);
    else
        walk_mlp(w, d, d->inter);
    lpo_model_walk_leave(w, mark);
}

static void walk_embedding(struct lpo_walk *w, const struct lpo_model_decoder *d)
{
    const struct lpo_decoder_family *f = d->family;

    w->at.block = LPO_BLOCK_EMBED;
    lpo_model_walk_embedding(w, f->embed, d->vocab, d->hidden, rows(w));
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
