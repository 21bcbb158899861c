/* SPDX-License-Identifier: Apache-2.0 */
/* A server's step from the best measured times of its kernels, as frameworks launch them: queries,
 * keys and values in one product, gate and up in one product. */

#include "model/rank.h"
#include "reference/reference.h"

/* What frameworks add to a step, in us: scripts/fit-serving.py fits and checks it. */
static const struct framework {
    const char *name;
    double step, layer;
} frameworks[] = {
    { "any", 0, 23 },
    { "vllm", 0, 32 },
    { "sglang", 0, 16 },
    { "trtllm", 790, 0 },
};

/* Their own all-reduces of small messages take this part of NCCL's time; a prefill among decode
 * steps costs them more than its kernels. */
static const double exchange_part = 0.5, prefill_cost = 1.3;

static const char *const parts[LPO_SERVING_PARTS] = { "attention", "projections", "mlp",
                                                      "experts",   "all_reduce",  "head",
                                                      "framework" };
static const char *const bounds[] = { "compute", "memory", "link", "latency" };

const char *lpo_reference_framework(int i)
{
    return i < (int)(sizeof frameworks / sizeof *frameworks) ? frameworks[i].name : NULL;
}

const char *lpo_reference_serving_part(enum lpo_serving_part p)
{
    return parts[p];
}

const char *lpo_reference_serving_bound(enum lpo_serving_bound b)
{
    return bounds[b];
}

/* One phase on one rank while it is added up. */
struct step {
    const struct lpo_reference *r;
    const struct lpo_model_needs *n;
    const struct lpo_model_decoder *d;
    struct lpo_weight_format *formats; /* of layers times kinds of operations */
    double tp, ep, batch, tokens, cached;
    bool prefill;
    int layer;
    const char *unknown;
    struct lpo_serving_time part[LPO_SERVING_PARTS];
    double least[LPO_SERVING_PARTS], products[LPO_SERVING_PARTS]; /* rooflines, of both kinds */
};

static void ask(struct step *s, enum lpo_serving_part part, const struct lpo_reference_work *w)
{
    struct lpo_reference_answer one;

    if (!lpo_reference_best(s->r, w, &one)) {
        s->unknown = s->unknown ? s->unknown : "a number format that the reference does not have";
        return;
    }
    s->part[part].us += one.best_us;
    s->part[part].outside_us += one.inside ? 0 : one.best_us;
    s->least[part] += one.roofline_us;
    s->products[part] += one.compute ? one.roofline_us : 0;
}

static double rank_of(const struct step *s, uint64_t pieces)
{
    return (double)lpo_model_rank_pieces(pieces, (uint64_t)s->tp);
}

/* Weights of this layer, in the format that products are computed in. */
static enum lpo_dtype format_of(const struct step *s, enum lpo_op_kind kind)
{
    enum lpo_dtype t = s->formats[s->layer * LPO_OP_KINDS + (int)kind].dtype;

    t = t == LPO_DTYPE_NONE ? s->n->plain : t;
    return t == LPO_FP32 || t == LPO_FP64 || t == LPO_TF32 ? LPO_BF16 : t;
}

static void multiply(struct step *s, enum lpo_serving_part part, enum lpo_dtype dtype, double m,
                     double n, double k)
{
    if (m > 0 && n > 0 && k > 0)
        ask(s, part,
            &(struct lpo_reference_work){ LPO_REF_GEMM, .dtype = dtype, .m = m, .n = n, .k = k });
}

static void project(struct step *s, double n, double k)
{
    multiply(s, LPO_SERVING_PROJECTIONS, format_of(s, LPO_OP_PROJECTION), s->batch * s->tokens, n,
             k);
}

static void attend(struct step *s, const struct lpo_model_layer_block *b)
{
    double heads = rank_of(s, b->heads), kv = rank_of(s, b->kv_heads);
    double hidden = (double)s->d->hidden, dim = (double)b->head_dim;
    struct lpo_reference_work w = { .kind = s->prefill ? LPO_REF_CONTEXT_ATTENTION
                                                       : LPO_REF_GENERATION_ATTENTION,
                                    .dtype = LPO_BF16,
                                    .kv_dtype = s->n->options.kv_dtype,
                                    .batch = s->batch,
                                    .tokens = s->tokens,
                                    .cached = s->cached,
                                    .heads = heads,
                                    .kv_heads = kv,
                                    .head_dim = dim,
                                    .window = (double)b->window };

    project(s,
            heads * dim * (b->gated ? 2 : 1) +
                (b->borrows_cache ? 0 : kv * (dim + (b->keys_are_values ? 0 : (double)b->v_dim))),
            hidden);
    ask(s, LPO_SERVING_ATTENTION, &w);
    project(s, hidden, heads * (double)b->v_dim);
}

/* A step's attention is over the latents; a prefill expands them. */
static void attend_latent(struct step *s, const struct lpo_model_layer_block *b)
{
    double heads = rank_of(s, b->heads), hidden = (double)s->d->hidden;
    double wide = (double)(b->nope_dim + b->rope_dim), latent = (double)(b->kv_rank + b->rope_dim);
    struct lpo_reference_work w = { .kind =
                                        s->prefill ? LPO_REF_CONTEXT_MLA : LPO_REF_GENERATION_MLA,
                                    .kv_dtype = s->n->options.kv_dtype,
                                    .batch = s->batch,
                                    .tokens = s->tokens,
                                    .cached = s->cached,
                                    .heads = heads,
                                    .tp = fmax(1, floor(128 / heads)) };

    if (b->kv_rank != 512 || b->rope_dim != 64) {
        s->unknown = "latent attention of other widths than DeepSeek's";
        return;
    }
    project(s, (b->q_rank ? (double)b->q_rank : heads * wide) + latent, hidden);
    project(s, heads * wide, (double)b->q_rank);
    if (s->prefill)
        project(s, heads * (double)(b->nope_dim + b->v_dim), (double)b->kv_rank);
    ask(s, LPO_SERVING_ATTENTION, &w);
    project(s, hidden, heads * (double)b->v_dim);
}

static void feed_forward(struct step *s, enum lpo_op_kind kind, double inter, bool plain)
{
    double rows = s->batch * s->tokens, hidden = (double)s->d->hidden;

    inter = ceil(inter / s->tp);
    multiply(s, LPO_SERVING_MLP, format_of(s, kind), rows, inter * (plain ? 1 : 2), hidden);
    multiply(s, LPO_SERVING_MLP, format_of(s, kind), rows, hidden, inter);
}

static void route(struct step *s, const struct lpo_model_layer_block *b)
{
    double rows = s->batch * s->tokens, hidden = (double)s->d->hidden;
    double inner = b->expert_hidden ? (double)b->expert_hidden : hidden;

    multiply(s, LPO_SERVING_EXPERTS, LPO_BF16, rows, (double)b->experts, hidden);
    if (b->expert_hidden) {
        multiply(s, LPO_SERVING_EXPERTS, format_of(s, LPO_OP_EXPERTS), rows, inner, hidden);
        multiply(s, LPO_SERVING_EXPERTS, format_of(s, LPO_OP_EXPERTS), rows, hidden, inner);
    }
    ask(s, LPO_SERVING_EXPERTS,
        &(struct lpo_reference_work){
            LPO_REF_MOE, .dtype = format_of(s, LPO_OP_EXPERTS), .tokens = rows, .hidden = inner,
            .inter = (double)b->expert_inter, .top_k = (double)b->top_k,
            .experts = (double)b->experts, .ep = s->ep, .tp = s->tp / s->ep });
    if (b->shared_inter)
        feed_forward(s, LPO_OP_MLP, (double)b->shared_inter, b->plain);
}

/* What no table has been measured for: its name; else NULL. */
static const char *unmeasured(const struct lpo_model_layer_block *b)
{
    static const char *const names[] = { [LPO_LAYER_COMPRESSED] = "compressed attention",
                                         [LPO_LAYER_DELTA] = "linear attention (DeltaNet)",
                                         [LPO_LAYER_KDA] = "linear attention (KDA)",
                                         [LPO_LAYER_MAMBA] = "state-space layers (Mamba)",
                                         [LPO_LAYER_EXPERTS] = NULL };

    return b->kind <= LPO_LAYER_LATENT && b->top_keys ? "sparse attention" : names[b->kind];
}

static void add_block(struct step *s, const struct lpo_model_layer_block *b)
{
    const char *missing = unmeasured(b);

    if (missing)
        s->unknown = s->unknown ? s->unknown : missing;
    else if (b->kind == LPO_LAYER_ATTENTION)
        attend(s, b);
    else if (b->kind == LPO_LAYER_LATENT)
        attend_latent(s, b);
    else if (b->kind == LPO_LAYER_LINEAR)
        multiply(s, LPO_SERVING_MLP, format_of(s, LPO_OP_PROJECTION), s->batch * s->tokens,
                 (double)s->d->hidden, (double)s->d->hidden);
    else if (b->kind == LPO_LAYER_MLP)
        feed_forward(s, LPO_OP_MLP, (double)b->inter, b->plain);
    else
        route(s, b);
}

/* After attention and after the rest of the layer, which may be two blocks side by side. */
static void exchange(struct step *s, const struct lpo_model_layer *layer)
{
    struct lpo_reference_work w = { LPO_REF_NCCL, .ranks = s->tp };
    bool mixes = false, feeds = false;

    for (int i = 0; i < layer->count; i++) {
        mixes |= layer->block[i].kind < LPO_LAYER_LINEAR;
        feeds |= layer->block[i].kind >= LPO_LAYER_LINEAR;
    }
    w.bytes = 2 * s->batch * s->tokens * (double)s->d->hidden;
    for (int i = 0; i < mixes + feeds && s->tp > 1; i++)
        ask(s, LPO_SERVING_EXCHANGE, &w);
}

/* Layers that are alike take the same time: only the first of them is asked for. */
static bool same_layer(const struct step *s, int a, int b)
{
    size_t formats = LPO_OP_KINDS * sizeof *s->formats;

    return memcmp(&s->d->layer[a], &s->d->layer[b], sizeof *s->d->layer) == 0 &&
           memcmp(s->formats + a * LPO_OP_KINDS, s->formats + b * LPO_OP_KINDS, formats) == 0;
}

static void add_layers(struct step *s)
{
    struct step before = *s, one = *s;

    for (int l = 0; l < (int)s->d->layers; l++) {
        const struct lpo_model_layer *layer = &s->d->layer[l];

        if (l == 0 || !same_layer(s, l - 1, l)) {
            one = before;
            one.layer = l;
            for (int i = 0; i < layer->count; i++)
                add_block(&one, &layer->block[i]);
            exchange(&one, layer);
        }
        for (int p = 0; p < LPO_SERVING_PARTS; p++) {
            s->part[p].us += one.part[p].us;
            s->part[p].outside_us += one.part[p].outside_us;
            s->least[p] += one.least[p];
            s->products[p] += one.products[p];
        }
        s->unknown = s->unknown ? s->unknown : one.unknown;
    }
}

static void finish(struct step *s, const struct framework *f, struct lpo_serving_phase *out)
{
    struct lpo_serving_time *t = s->part;

    t[LPO_SERVING_EXCHANGE].us *= exchange_part;
    t[LPO_SERVING_FRAMEWORK].us = f->step + f->layer * (double)s->d->layers;
    out->us = 0;
    for (int p = 0; p < LPO_SERVING_PARTS; p++) {
        bool small = 3 * s->least[p] < t[p].us;

        t[p].bound = small                              ? LPO_SERVING_LATENCY
                     : p == LPO_SERVING_EXCHANGE        ? LPO_SERVING_LINK
                     : 2 * s->products[p] > s->least[p] ? LPO_SERVING_COMPUTE
                                                        : LPO_SERVING_MEMORY;
        out->part[p] = t[p];
        out->us += t[p].us;
    }
    if (s->unknown)
        out->us = NAN;
}

/* The format that the walk gave each product. */
static struct lpo_weight_format *collect_formats(const struct lpo_model_needs *n)
{
    const struct lpo_model_decoder *d = n->model->decoder;
    const lpo_model_op_vec *ops = &n->phase[LPO_PREFILL].ops;
    struct lpo_weight_format *formats = lpo_xcalloc(d->layers * LPO_OP_KINDS + 1, sizeof *formats);

    for (size_t i = ops->len; i-- > 0;) { /* the first of a kind stays */
        const struct lpo_model_op *op = &ops->at[i];

        if (op->at.part == d->part && op->at.layer >= 0 && op->weights > 0)
            formats[op->at.layer * LPO_OP_KINDS + (int)op->kind] = op->format;
    }
    return formats;
}

static void add_head(struct step *s)
{
    multiply(s, LPO_SERVING_HEAD, LPO_BF16, s->batch, ceil((double)s->d->vocab / s->tp),
             (double)s->d->hidden);
}

static void run_phase(struct step s, const struct framework *f, struct lpo_serving_phase *phase,
                      const char **unknown)
{
    add_layers(&s);
    add_head(&s);
    finish(&s, f, phase);
    *unknown = s.unknown;
}

static struct step begin(const struct lpo_reference *r, const struct lpo_model_needs *n,
                         enum lpo_phase_kind phase)
{
    const struct lpo_phase *p = &n->phase[phase].phase;

    return (struct step){ .r = r,
                          .n = n,
                          .d = n->model->decoder,
                          .formats = collect_formats(n),
                          .tp = (double)n->options.tp,
                          .ep = (double)n->options.ep,
                          .batch = (double)p->batch,
                          .tokens = (double)p->tokens,
                          .cached = (double)p->cached,
                          .prefill = phase == LPO_PREFILL };
}

double lpo_reference_block(const struct lpo_reference *r, const struct lpo_model_needs *n,
                           enum lpo_phase_kind phase, struct lpo_model_place at)
{
    const struct lpo_model_decoder *d = n->model->decoder;
    struct step s;
    double us = 0;

    if (!d || at.part != d->part || phase > LPO_DECODE || !n->phase[phase].present)
        return NAN;
    s = begin(r, n, phase);
    s.layer = at.layer;
    if (at.block == LPO_BLOCK_HEAD)
        add_head(&s);
    for (int i = 0; at.layer >= 0 && i < d->layer[at.layer].count; i++) {
        const struct lpo_model_layer_block *b = &d->layer[at.layer].block[i];

        if ((b->kind < LPO_LAYER_LINEAR ? LPO_BLOCK_ATTN : LPO_BLOCK_MLP) == at.block)
            add_block(&s, b);
    }
    for (int p = 0; p < LPO_SERVING_PARTS; p++)
        us += s.part[p].outside_us > 0 && p != LPO_SERVING_HEAD ? NAN : s.part[p].us;
    free(s.formats);
    return s.unknown || !(us > 0) ? NAN : us;
}

bool lpo_reference_serve(const struct lpo_reference *r, const struct lpo_model_needs *n,
                         const char *framework, struct lpo_serving *out)
{
    const struct framework *f = frameworks, *end = f + sizeof frameworks / sizeof *f;
    double batch = (double)n->options.batch, output = fmax(1, (double)n->options.output);
    struct step s;

    while (framework && f < end && strcmp(f->name, framework) != 0)
        f++;
    if (f == end || !n->model->decoder || !n->phase[LPO_DECODE].present)
        return false;
    *out = (struct lpo_serving){ .framework = f->name };
    s = begin(r, n, LPO_PREFILL);
    s.batch = 1; /* requests arrive one after another */
    run_phase(s, f, &out->prefill, &out->unknown);
    free(s.formats);
    s = begin(r, n, LPO_DECODE);
    run_phase(s, f, &out->decode, &out->unknown);
    free(s.formats);
    out->ttft_ms = out->prefill.us / 1000;
    out->tpot_ms = (out->decode.us + prefill_cost * out->prefill.us * (batch - 1) / output) / 1000;
    out->tokens_per_second = 1000 * batch / out->tpot_ms;
    return true;
}
