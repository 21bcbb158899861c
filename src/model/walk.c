/* SPDX-License-Identifier: Apache-2.0 */
#include "model/walk.h"

#include "model/count.h"
#include "model/quant.h"

size_t lpo_model_walk_enter(struct lpo_walk *w, const char *fmt, ...)
{
    size_t mark = w->path.len;
    char name[128];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    lpo_str_add(&w->path, name);
    if (*name)
        lpo_str_addc(&w->path, '.');
    return mark;
}

void lpo_model_walk_leave(struct lpo_walk *w, size_t mark)
{
    if (!w->path.at)
        return;
    w->path.len = mark;
    w->path.at[mark] = '\0';
}

/* As the framework's state_dict spells it: people compare the list with a checkpoint. */
static const char *full_name(struct lpo_walk *w, const char *name, const char *suffix)
{
    return lpo_arena_printf(w->arena, "%s%s%s", lpo_str_text(&w->path), name, suffix);
}

static void add_tensor(struct lpo_walk *w, const char *name, const uint64_t *shape, uint64_t ways)
{
    struct lpo_tensor t = { .name = name, .at = w->at, .count = 1, .ways = ways };

    if (!w->tensors)
        return;
    for (; t.dims < LPO_TENSOR_DIMS && shape[t.dims]; t.dims++) {
        t.shape[t.dims] = shape[t.dims];
        t.count = lpo_model_mul(t.count, shape[t.dims]);
    }
    lpo_vec_push(w->tensors, t);
}

void lpo_model_walk_tensor(struct lpo_walk *w, const char *name, uint64_t a, uint64_t b, uint64_t c,
                           uint64_t d)
{
    if (w->tensors)
        add_tensor(w, full_name(w, name, ""), (uint64_t[]){ a, b, c, d }, 1);
}

static struct lpo_weight_format format_of(struct lpo_walk *w, const char *name,
                                          enum lpo_op_kind kind)
{
    static const struct lpo_weight_format plain = { LPO_DTYPE_NONE, 0 };

    return w->quant ? lpo_model_quant_of(w->quant, full_name(w, name, ""), kind) : plain;
}

/* Weights divide among tensor-parallel ranks by rows or columns; a bias is small and is counted
 * whole on every rank. */
static void linear_tensors(struct lpo_walk *w, const struct lpo_linear *l)
{
    uint64_t first = l->in_first ? l->in : l->out, second = l->in_first ? l->out : l->in;
    uint64_t ways = l->ways ? l->ways : 1;

    if (!w->tensors)
        return;
    add_tensor(w, l->weight ? full_name(w, l->weight, "") : full_name(w, l->name, ".weight"),
               (uint64_t[]){ first, second, 0, 0 }, ways);
    w->tensors->at[w->tensors->len - 1].tied = l->tied;
    w->tensors->at[w->tensors->len - 1].format = format_of(w, l->name, l->kind);
    if (l->bias)
        add_tensor(w, full_name(w, l->name, ".bias"), (uint64_t[]){ l->out, 0, 0, 0 }, 1);
}

void lpo_model_walk_linear(struct lpo_walk *w, const struct lpo_linear *l, uint64_t rows)
{
    linear_tensors(w, l);
    if (!w->ops || rows == 0)
        return;
    lpo_vec_push(w->ops,
                 (struct lpo_model_op){
                     .name = full_name(w, l->name, ""),
                     .at = w->at,
                     .kind = l->kind,
                     /* PyTorch adds the bias inside the product (addmm), but for families that add
                      * it afterwards; its counter lists the two apart */
                     .aten = l->bias && !l->bias_after ? LPO_ATEN_ADDMM : LPO_ATEN_MM,
                     .flops = lpo_model_mul(2, lpo_model_mul3(rows, l->in, l->out)),
                     .weights = (double)l->in * (double)l->out + (l->bias ? (double)l->out : 0),
                     .reads = lpo_model_mul(rows, l->in),
                     .writes = lpo_model_mul(rows, l->out),
                     .ways = l->ways ? l->ways : 1,
                     .format = format_of(w, l->name, l->kind),
                 });
}

/* An operation without products still moves bytes, and in decode that is time. */
static void add_move(struct lpo_walk *w, const char *name, double weights, uint64_t reads,
                     uint64_t writes)
{
    if (w->ops)
        lpo_vec_push(w->ops, (struct lpo_model_op){ .name = full_name(w, name, ""),
                                                    .at = w->at,
                                                    .kind = LPO_OP_MOVE,
                                                    .weights = weights,
                                                    .reads = reads,
                                                    .writes = writes,
                                                    .ways = 1 });
}

void lpo_model_walk_norm(struct lpo_walk *w, const char *name, uint64_t width, bool bias,
                         uint64_t rows)
{
    uint64_t moved = lpo_model_mul(rows, width);

    if (w->tensors) {
        add_tensor(w, full_name(w, name, ".weight"), (uint64_t[]){ width, 0, 0, 0 }, 1);
        if (bias)
            add_tensor(w, full_name(w, name, ".bias"), (uint64_t[]){ width, 0, 0, 0 }, 1);
    }
    if (rows)
        add_move(w, name, (double)width * (bias ? 2 : 1), moved, moved);
}

void lpo_model_walk_embedding(struct lpo_walk *w, const char *name, uint64_t count, uint64_t width,
                              uint64_t rows)
{
    if (w->tensors) {
        add_tensor(w, full_name(w, name, ".weight"), (uint64_t[]){ count, width, 0, 0 }, count);
        w->tensors->at[w->tensors->len - 1].looked_up = true;
    }
    if (rows)
        /* only the rows that are looked up are read, not the whole table */
        add_move(w, name, (double)rows * (double)width, 0, lpo_model_mul(rows, width));
}

void lpo_model_walk_conv(struct lpo_walk *w, const struct lpo_conv *c, uint64_t pixels)
{
    uint64_t area = lpo_model_mul(c->kernel, c->kernel),
             weights = lpo_model_mul3(c->in, c->out, area);

    if (w->tensors) {
        add_tensor(w, full_name(w, c->name, ".weight"),
                   (uint64_t[]){ c->out, c->in, c->kernel, c->kernel }, 1);
        if (c->bias)
            add_tensor(w, full_name(w, c->name, ".bias"), (uint64_t[]){ c->out, 0, 0, 0 }, 1);
    }
    if (!w->ops || pixels == 0)
        return;
    pixels = lpo_model_mul(pixels, w->phase->batch);
    lpo_vec_push(w->ops,
                 (struct lpo_model_op){ .name = full_name(w, c->name, ""),
                                        .at = w->at,
                                        .kind = LPO_OP_CONV,
                                        .aten = LPO_ATEN_CONV,
                                        .flops = lpo_model_mul(2, lpo_model_mul(pixels, weights)),
                                        .weights = (double)weights + (c->bias ? (double)c->out : 0),
                                        .reads = lpo_model_mul(pixels, c->in),
                                        .writes = lpo_model_mul(pixels, c->out),
                                        .ways = 1 });
}

/* The framework's sliding cache holds window - 1 tokens; attention sees those and the new ones. */
static uint64_t cached_keys(const struct lpo_attention *a)
{
    uint64_t room = a->window ? a->window - 1 : 0;

    return a->window && a->cached > room ? room : a->cached;
}

/* 1 + 2 + … with every term at most `window`: what causal queries see, from `cached` on. */
static uint64_t causal_pairs(uint64_t tokens, uint64_t cached, uint64_t window)
{
    uint64_t full, rest;

    if (window == 0 || lpo_model_add(cached, tokens) <= window)
        full = tokens;
    else
        full = cached >= window ? 0 : window - cached;
    rest = lpo_model_mul(tokens - full, window);
    /* full terms: cached + 1 … cached + full */
    return lpo_model_add(
        lpo_model_add(lpo_model_mul(full, cached), lpo_model_mul(full, full + 1) / 2), rest);
}

uint64_t lpo_model_attention_pairs(const struct lpo_attention *a, enum lpo_counting counting)
{
    if (counting == LPO_COUNT_MODEL && a->causal)
        return causal_pairs(a->tokens, a->cached, a->window);
    return lpo_model_mul(a->tokens, lpo_model_add(cached_keys(a), a->tokens));
}

static uint64_t attention_keys(const struct lpo_attention *a)
{
    return lpo_model_add(cached_keys(a), a->tokens);
}

static void add_attention(struct lpo_walk *w, const struct lpo_attention *a, bool scores)
{
    uint64_t batch = lpo_model_mul(w->phase->batch, a->groups);
    uint64_t pairs =
        lpo_model_mul3(batch, a->heads, lpo_model_attention_pairs(a, w->phase->counting));
    uint64_t dim = scores ? a->qk_dim : a->v_dim;
    uint64_t vectors = lpo_model_mul(lpo_model_mul3(batch, a->tokens, a->heads), dim);
    uint64_t keys = lpo_model_mul(batch, attention_keys(a));
    struct lpo_model_op op = {
        .name = full_name(w, scores ? "scores" : "values", ""),
        .at = w->at,
        .kind = scores ? LPO_OP_SCORES : LPO_OP_VALUES,
        .aten = LPO_ATEN_BMM,
        .flops = lpo_model_mul(2, lpo_model_mul(pairs, dim)),
        .ways = a->heads,
    };

    op.reads = scores ? vectors : 0;
    op.writes = scores ? 0 : vectors;
    if (!w->phase->flash) { /* the scores are written to memory and read back */
        op.writes = lpo_model_add(op.writes, scores ? pairs : 0);
        op.reads = lpo_model_add(op.reads, scores ? 0 : pairs);
    }
    if (a->kv_width == 0) { /* no cache: keys and values are activations of this pass */
        op.reads = lpo_model_add(op.reads, lpo_model_mul3(keys, a->kv_heads, dim));
    } else if (scores) { /* the cache is read and written once; counted with the scores */
        op.kv_reads = lpo_model_mul(keys, a->kv_width);
        op.kv_writes = lpo_model_mul3(batch, a->tokens, a->kv_width);
        op.kv_ways = a->kv_heads;
    }
    lpo_vec_push(w->ops, op);
}

void lpo_model_walk_attention(struct lpo_walk *w, const struct lpo_attention *a)
{
    if (!w->ops || a->tokens == 0)
        return;
    add_attention(w, a, true);
    add_attention(w, a, false);
}

void lpo_model_walk_product(struct lpo_walk *w, const char *name, enum lpo_op_kind kind,
                            enum lpo_aten aten, uint64_t flops, uint64_t ways)
{
    if (w->ops && flops)
        lpo_vec_push(w->ops, (struct lpo_model_op){ .name = full_name(w, name, ""),
                                                    .at = w->at,
                                                    .kind = kind,
                                                    .aten = aten,
                                                    .flops = flops,
                                                    .ways = ways,
                                                    .format = format_of(w, name, kind) });
}

/* --- names --- */

static const char *const kinds[LPO_OP_KINDS] = {
    [LPO_OP_PROJECTION] = "projection",
    [LPO_OP_SCORES] = "attention_scores",
    [LPO_OP_VALUES] = "attention_values",
    [LPO_OP_MLP] = "mlp",
    [LPO_OP_ROUTER] = "router",
    [LPO_OP_EXPERTS] = "experts",
    [LPO_OP_HEAD] = "head",
    [LPO_OP_CONV] = "convolution",
    [LPO_OP_ROTARY] = "rotary",
    [LPO_OP_MOVE] = "other",
};

static const char *const atens[LPO_ATENS] = {
    [LPO_ATEN_MM] = "aten.mm",
    [LPO_ATEN_ADDMM] = "aten.addmm",
    [LPO_ATEN_BMM] = "aten.bmm",
    [LPO_ATEN_CONV] = "aten.convolution",
};

static const char *const blocks[LPO_BLOCKS] = {
    [LPO_BLOCK_EMBED] = "embed",         [LPO_BLOCK_ATTN] = "attn",    [LPO_BLOCK_MLP] = "mlp",
    [LPO_BLOCK_NORM] = "norm",           [LPO_BLOCK_HEAD] = "lm_head", [LPO_BLOCK_NECK] = "neck",
    [LPO_BLOCK_PROJECTOR] = "projector", [LPO_BLOCK_OTHER] = "other",
};

const char *lpo_model_op_kind_name(enum lpo_op_kind k)
{
    return kinds[k];
}

const char *lpo_model_aten_name(enum lpo_aten a)
{
    return atens[a];
}

const char *lpo_model_block_name(enum lpo_model_block b)
{
    return blocks[b];
}
