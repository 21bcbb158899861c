/* SPDX-License-Identifier: Apache-2.0 */
/* What a model needs: the sums over operations, of a phase and of each block, and the least time
 * they take (the roofline: for every kernel the larger of its products at the peak rate and its
 * bytes at the full bandwidth, then added up); what must fit into one device's memory; the phases.
 */
#include "model/needs.h"

#include "model/count.h"
#include "model/quant.h"
#include "model/rank.h"
#include "util/json.h"

struct cost {
    double flops, bytes;
    enum lpo_dtype math;
};

static double weight_bytes(const struct lpo_model_needs *a, const struct lpo_model_op *op,
                           double elements)
{
    double total = (double)a->params;

    if (a->options.weight_bytes > 0 && total > 0) /* quantised files mix formats: take their mean */
        return elements * (a->options.weight_bytes / total);
    return elements * lpo_model_format_bytes(a, &op->format);
}

/* Activations travel in the compute format: 16 bits where the weights are narrower. */
static double activation_bytes(const struct lpo_model_needs *a)
{
    double bytes = lpo_dtype_bytes(a->options.dtype);

    return bytes < 2 ? 2 : bytes;
}

static void add_time(const struct lpo_model_needs *a, const struct cost *c, struct lpo_sums *s)
{
    const struct lpo_hardware *hw = a->options.hardware;
    double peak = hw ? lpo_gpu_hardware_peak(hw, c->math, NULL) : 0;
    double compute, memory;

    if (!hw || peak <= 0 || hw->bandwidth <= 0)
        return;
    compute = c->flops / peak;
    memory = c->bytes / hw->bandwidth;
    s->compute_seconds += compute;
    s->memory_seconds += memory;
    s->seconds += fmax(compute, memory);
}

/* Fused attention: scores and values of a layer are one kernel, limited by compute or by memory as
 * a whole. */
static bool same_kernel(const struct lpo_model_needs *a, const struct lpo_model_op *x,
                        const struct lpo_model_op *y)
{
    bool scores = x->kind == LPO_OP_SCORES || x->kind == LPO_OP_VALUES;

    return !a->options.unfused && scores &&
           (y->kind == LPO_OP_SCORES || y->kind == LPO_OP_VALUES) && x->at.part == y->at.part &&
           x->at.layer == y->at.layer;
}

/* While adding up: operations that run as one kernel are collected in `pending`. */
struct summing {
    const struct lpo_model_needs *needs;
    uint64_t tp;
    const struct lpo_model_op *last;
    struct cost pending;
    struct lpo_sums *sums;
};

static void finish_kernel(struct summing *s)
{
    if (s->last)
        add_time(s->needs, &s->pending, s->sums);
    s->pending = (struct cost){ 0 };
}

static void add_op(struct summing *s, const struct lpo_model_op *op)
{
    const struct lpo_model_needs *a = s->needs;
    uint64_t flops = lpo_model_rank_count(op->flops, op->ways, s->tp);
    double weights = weight_bytes(a, op, lpo_model_rank_real(op->weights, op->ways, s->tp));
    double moved =
        activation_bytes(a) *
        lpo_model_rank_real((double)lpo_model_add(op->reads, op->writes), op->ways, s->tp);
    double kv =
        lpo_dtype_bytes(a->options.kv_dtype) *
        lpo_model_rank_real((double)lpo_model_add(op->kv_reads, op->kv_writes), op->kv_ways, s->tp);

    if (!s->last || !same_kernel(a, s->last, op))
        finish_kernel(s);
    s->last = op;
    s->pending.math = op->format.bits > 0 && !op->format.storage_only ? op->format.dtype : a->plain;
    s->pending.flops += (double)flops;
    s->pending.bytes += weights + moved + kv;
    s->sums->flops = lpo_model_add(s->sums->flops, flops);
    s->sums->by_kind[op->kind] = lpo_model_add(s->sums->by_kind[op->kind], flops);
    s->sums->by_aten[op->aten] = lpo_model_add(s->sums->by_aten[op->aten], flops);
    s->sums->weight_bytes += weights;
    s->sums->activation_bytes += moved;
    s->sums->kv_bytes += kv;
}

struct lpo_sums lpo_model_needs_sum(const struct lpo_model_needs *a,
                                    const struct lpo_phase_result *p, uint64_t tp,
                                    bool (*keep)(const struct lpo_model_op *op, void *arg),
                                    void *arg)
{
    struct lpo_sums sums = { 0 };
    struct summing s = { .needs = a, .tp = tp, .sums = &sums };

    for (size_t i = 0; i < p->ops.len; i++)
        if (!keep || keep(&p->ops.at[i], arg))
            add_op(&s, &p->ops.at[i]);
    finish_kernel(&s);
    return sums;
}

void lpo_model_needs_add(const struct lpo_model_needs *a, const struct lpo_model_op *ops,
                         size_t count, uint64_t tp, struct lpo_sums *sums)
{
    struct summing s = { .needs = a, .tp = tp, .sums = sums };

    for (size_t i = 0; i < count; i++)
        add_op(&s, &ops[i]);
    finish_kernel(&s);
}

double lpo_model_sums_bytes(const struct lpo_sums *s)
{
    return s->weight_bytes + s->activation_bytes + s->kv_bytes;
}

static bool same_place(const struct lpo_model_place *x, const struct lpo_model_place *y)
{
    return x->part == y->part && x->layer == y->layer && x->block == y->block;
}

/* Operations of one block follow each other, so the row is nearly always the last one. */
static struct lpo_module *row_of(struct lpo_arena *a, const struct lpo_model_needs *n,
                                 lpo_module_vec *out, const struct lpo_model_place *at)
{
    const char *part = n->model->parts[at->part], *block = lpo_model_block_name(at->block);
    struct lpo_module m = { .at = *at };

    for (size_t i = out->len; i-- > 0;)
        if (same_place(&out->at[i].at, at))
            return &out->at[i];
    m.name = at->layer < 0 ? lpo_arena_printf(a, "%s/%s", part, block)
                           : lpo_arena_printf(a, "%s/layer%d/%s", part, at->layer, block);
    lpo_vec_push(out, m);
    return &out->at[out->len - 1];
}

static void add_tensors(struct lpo_arena *a, const struct lpo_model_needs *n, lpo_module_vec *out)
{
    for (size_t i = 0; i < n->tensors.len; i++) {
        const struct lpo_tensor *t = &n->tensors.at[i];
        struct lpo_module *m = row_of(a, n, out, &t->at);
        uint64_t active = t->experts ? lpo_model_mul(t->count / t->experts, t->active) : t->count;

        m->params = lpo_model_add(m->params, t->tied ? 0 : t->count);
        m->active_params = lpo_model_add(m->active_params, t->tied ? 0 : active);
    }
}

void lpo_model_modules_list(struct lpo_arena *a, const struct lpo_model_needs *needs,
                            lpo_module_vec *out)
{
    add_tensors(a, needs, out);
    for (int k = 0; k < LPO_PHASES; k++) {
        const struct lpo_phase_result *p = &needs->phase[k];
        size_t first = 0;

        /* operations that follow each other in one block are summed together: attention may be one
         * kernel there */
        for (size_t i = 0; i < p->ops.len; i = first) {
            struct lpo_module *m = row_of(a, needs, out, &p->ops.at[i].at);

            for (first = i; first < p->ops.len; first++)
                if (!same_place(&p->ops.at[first].at, &p->ops.at[i].at))
                    break;
            lpo_model_needs_add(needs, &p->ops.at[i], first - i, 1, &m->sums[k]);
            lpo_model_needs_add(needs, &p->ops.at[i], first - i, needs->options.tp, &m->rank[k]);
        }
    }
}

/* The share of the memory that a model can use: driver, context and allocator take the rest. */
static const double usable = 0.95;

static double weights_of_rank(const struct lpo_model_needs *a)
{
    double bytes = 0, mean = 0;

    if (a->options.weight_bytes > 0 && a->params)
        mean = a->options.weight_bytes / (double)a->params;

    for (size_t i = 0; i < a->tensors.len; i++) {
        const struct lpo_tensor *t = &a->tensors.at[i];

        if (!t->tied)
            bytes += lpo_model_rank_real((double)t->count, t->ways, a->options.tp) *
                     (mean > 0 ? mean : lpo_model_format_bytes(a, &t->format));
    }
    return bytes;
}

/* Latents are shared by all heads, so every rank keeps them whole. */
static uint64_t block_cache(const struct lpo_model_layer_block *b, uint64_t tp)
{
    uint64_t index = b->top_keys ? (b->index_dim + 1) / 2 : 0; /* 8 bits each */

    if (b->borrows_cache)
        return 0;
    switch (b->kind) {
    case LPO_LAYER_ATTENTION:
        return lpo_model_mul3(2, lpo_model_rank_pieces(b->kv_heads, tp), b->head_dim) + index;
    case LPO_LAYER_LATENT:
        return b->kv_rank + b->rope_dim + index;
    case LPO_LAYER_COMPRESSED: /* far tokens; those of the window are a state */
        return b->compress ? (b->head_dim + index) / b->compress : 0;
    default:
        return 0;
    }
}

uint64_t lpo_model_block_state(const struct lpo_model_layer_block *b, uint64_t tp)
{
    uint64_t heads = lpo_model_rank_pieces(b->heads, tp);

    switch (b->kind) {
    case LPO_LAYER_DELTA:
    case LPO_LAYER_KDA:
        return lpo_model_mul3(heads, b->head_dim, b->v_dim);
    case LPO_LAYER_MAMBA:
        return lpo_model_mul3(heads, b->head_dim, b->state);
    case LPO_LAYER_COMPRESSED:
        return lpo_model_mul(b->window, b->head_dim);
    default:
        return 0;
    }
}

/* Bytes of one sequence with so many tokens; a layer with a window keeps only that. States have 32
 * bits. */
static double cache_bytes(const struct lpo_model_needs *a, uint64_t tp, uint64_t tokens)
{
    const struct lpo_model_decoder *d = a->model->decoder;
    double sum = 0, byte = lpo_dtype_bytes(a->options.kv_dtype);

    for (uint64_t l = 0; l < d->layers; l++)
        for (int i = 0; i < d->layer[l].count; i++) {
            const struct lpo_model_layer_block *b = &d->layer[l].block[i];
            uint64_t kept = b->window && b->window < tokens && !b->compress ? b->window : tokens;

            sum += byte * (double)kept * (double)block_cache(b, tp);
            sum += 4 * (double)lpo_model_block_state(b, tp);
        }
    return sum;
}

/* Cache elements that one more token leaves in all layers together. */
static uint64_t token_elements(const struct lpo_model_decoder *d, uint64_t tp)
{
    uint64_t sum = 0;

    for (uint64_t l = 0; l < d->layers; l++)
        for (int i = 0; i < d->layer[l].count; i++)
            sum = lpo_model_add(sum, block_cache(&d->layer[l].block[i], tp));
    return sum;
}

/* The largest input and output of one operation, which must exist at the same time. */
static double peak_activations(const struct lpo_model_needs *a)
{
    double most = 0, bytes = lpo_dtype_bytes(a->options.dtype);

    for (int k = 0; k < LPO_PHASES; k++) {
        const struct lpo_phase_result *p = &a->phase[k];

        for (size_t i = 0; i < p->ops.len; i++) {
            const struct lpo_model_op *op = &p->ops.at[i];

            most = fmax(most, lpo_model_rank_real((double)lpo_model_add(op->reads, op->writes),
                                                  op->ways, a->options.tp));
        }
    }
    return most * (bytes < 2 ? 2 : bytes);
}

static uint64_t floor_count(double n)
{
    return n >= 1 ? n < 1e15 ? (uint64_t)n : (uint64_t)1e15 : 0;
}

/* By bisection, because windows make the cache grow in steps. */
static uint64_t longest_context(const struct lpo_model_needs *a, double room)
{
    const struct lpo_model_decoder *d = a->model->decoder;
    uint64_t low = 0, high = (uint64_t)1 << 40;

    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;

        if (cache_bytes(a, a->options.tp, middle) * (double)a->options.batch <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return d->positions && low > d->positions ? d->positions : low;
}

static void plan_memory(struct lpo_model_needs *a)
{
    const struct lpo_model_decoder *d = a->model->decoder;
    const struct lpo_needs_options *o = &a->options;
    struct lpo_model_memory *m = &a->memory;
    uint64_t end = o->seq + o->output, longest = o->context > end ? o->context : end;
    double byte = lpo_dtype_bytes(o->kv_dtype), one = 0, room;

    m->weights = weights_of_rank(a);
    m->activations = peak_activations(a);
    if (d && !d->family->no_cache) {
        a->kv_elements = token_elements(d, 1);
        m->kv_per_token = (double)token_elements(d, o->tp) * byte;
        one = cache_bytes(a, o->tp, longest);
        m->kv = one * (double)o->batch;
        m->kv_model = cache_bytes(a, 1, longest) * (double)o->batch;
    }
    m->peak = m->weights + m->kv + m->activations;
    if (!o->hardware || o->hardware->memory <= 0)
        return;
    room = o->hardware->memory * usable - m->weights;
    m->fits = m->peak <= o->hardware->memory * usable;
    if (one > 0) {
        m->max_batch = floor_count(room / (one + m->activations / (double)o->batch));
        m->max_context = room > m->activations ? longest_context(a, room - m->activations) : 0;
    }
}

enum { USUAL_SEQ = 1024 };
static const uint64_t max_tokens = (uint64_t)1 << 32;

struct lpo_needs_options lpo_model_needs_defaults(void)
{
    return (struct lpo_needs_options){ .seq = USUAL_SEQ, .batch = 1, .tp = 1 };
}

LPO_NAMES(lpo_model_phase_name, enum lpo_phase_kind, "prefill", "decode", "vision");

static int check_size(const char *what, uint64_t n, uint64_t most, struct lpo_err *err)
{
    if (n <= most)
        return 0;
    return lpo_fail(err, LPO_E_RANGE, "%s is %llu; at most %llu is possible", what,
                    (unsigned long long)n, (unsigned long long)most);
}

static int resolve_options(struct lpo_model_needs *a, struct lpo_err *err)
{
    struct lpo_needs_options *o = &a->options;
    int rc;

    o->seq = o->seq ? o->seq : USUAL_SEQ;
    o->context = o->context ? o->context : o->seq + o->output / 2;
    o->batch = o->batch ? o->batch : 1;
    o->tp = o->tp ? o->tp : 1;
    o->ep = o->ep ? o->ep : 1;
    o->image = o->image ? o->image : lpo_model_image(a->model);
    if (o->dtype == LPO_DTYPE_NONE)
        o->dtype = a->model->dtype != LPO_DTYPE_NONE ? a->model->dtype : LPO_BF16;
    a->plain = o->dtype;
    if (o->kv_dtype == LPO_DTYPE_NONE)
        o->kv_dtype = lpo_model_quant_cache(a->quant);
    if (o->kv_dtype == LPO_DTYPE_NONE) /* narrow weights do not make a narrow cache */
        o->kv_dtype = lpo_dtype_bits(o->dtype) < 16 ? LPO_BF16 : o->dtype;
    if (o->counting == LPO_COUNT_FRAMEWORK)
        o->head_all = true;
    if (o->mla == LPO_MLA_AUTO) /* transformers expands; engines made for serving absorb */
        o->mla = o->counting == LPO_COUNT_FRAMEWORK ? LPO_MLA_EXPANDED : LPO_MLA_ABSORBED;
    rc = check_size("the sequence length", o->seq, max_tokens, err);
    if (rc == 0)
        rc = check_size("the context", o->context, max_tokens, err);
    if (rc == 0)
        rc = check_size("the number of generated tokens", o->output, max_tokens, err);
    if (rc == 0 && o->tp % o->ep)
        rc = lpo_fail(err, LPO_E_USAGE, "%llu expert-parallel groups do not divide %llu ranks",
                      (unsigned long long)o->ep, (unsigned long long)o->tp);
    if (rc == 0)
        rc = check_size("the batch", o->batch, 1 << 24, err);
    if (rc == 0)
        rc = check_size("the image's side", o->image, 1 << 20, err);
    if (rc == 0)
        rc = check_size("the side of an image's parts", o->part, 1 << 20, err);
    if (rc == 0)
        rc = check_size("the number of an image's parts", o->parts, 1 << 16, err);
    if (rc == 0)
        rc = check_size("the tensor-parallel degree", o->tp, 1 << 16, err);
    return rc;
}

static void count_params(struct lpo_model_needs *a)
{
    const struct lpo_model_decoder *d = a->model->decoder;
    double by_format[LPO_DTYPES] = { 0 };
    double most = 0;
    uint64_t last = 0;

    for (size_t i = 0; i < a->tensors.len; i++) {
        const struct lpo_tensor *t = &a->tensors.at[i];
        uint64_t active = t->experts ? lpo_model_mul(t->count / t->experts, t->active) : t->count;

        if (d && t->at.part == d->part && !(t->looked_up && d->base.experts && !d->tied))
            a->active_params = lpo_model_add(a->active_params, t->tied ? 0 : active);
        if (t->tied)
            continue;
        a->params = lpo_model_add(a->params, t->count);
        by_format[t->format.dtype] += (double)t->count;
        if (d && t->at.part == d->part && t->at.layer == (int)d->layers - 1)
            last = lpo_model_add(last, t->count);
    }
    for (int t = 1; t < LPO_DTYPES; t++) /* the format of most weights gives the model its name */
        if (by_format[t] > by_format[LPO_DTYPE_NONE] && by_format[t] > most) {
            a->options.dtype = (enum lpo_dtype)t;
            most = by_format[t];
        }
    if (!d)
        a->active_params = a->params;
    else if (d->predictors) /* each a layer like the last one, and a product that joins two vectors
                             */
        a->predictor_params = lpo_model_mul(
            d->predictors,
            lpo_model_add(last, lpo_model_mul3(2, d->hidden, lpo_model_add(d->hidden, 2))));
}

double lpo_model_format_bytes(const struct lpo_model_needs *a, const struct lpo_weight_format *f)
{
    return f->bits > 0 ? f->bits / 8 : lpo_dtype_bytes(a->plain);
}

static void list_tensors(struct lpo_model_needs *a)
{
    struct lpo_phase none = { 0 };
    struct lpo_walk w = {
        .arena = a->arena, .phase = &none, .quant = a->quant, .tensors = &a->tensors
    };

    lpo_model_walk(a->model, LPO_TEXT | LPO_VISION, &w);
    lpo_str_free(&w.path);
    count_params(a);
}

static void list_ops(struct lpo_model_needs *a, int side, const struct lpo_phase *phase,
                     lpo_model_op_vec *out)
{
    struct lpo_walk w = { .arena = a->arena, .phase = phase, .quant = a->quant, .ops = out };

    lpo_model_walk(a->model, side, &w);
    lpo_str_free(&w.path);
}

static void add_communication(struct lpo_model_needs *a, struct lpo_phase_result *p)
{
    const struct lpo_hardware *hw = a->options.hardware;
    const struct lpo_model_decoder *d = a->model->decoder;
    double ranks = (double)a->options.tp, bytes = lpo_dtype_bytes(a->options.dtype);

    if (a->options.tp < 2 || !d)
        return;
    /* two all-reduces in every layer; in a ring, each rank sends 2 (n - 1) / n of the data */
    p->comm_bytes = 2.0 * (double)d->layers * (double)p->phase.batch * (double)p->phase.tokens *
                    (double)d->hidden * (bytes < 2 ? 2 : bytes) * 2 * (ranks - 1) / ranks;
    if (hw && hw->link > 0)
        p->comm_seconds = p->comm_bytes / (hw->link / 2);
}

static void run_phase(struct lpo_model_needs *a, enum lpo_phase_kind kind,
                      const struct lpo_phase *phase)
{
    struct lpo_phase_result *p = &a->phase[kind];

    p->present = true;
    p->phase = *phase;
    list_ops(a, kind == LPO_IMAGE ? LPO_VISION : LPO_TEXT, phase, &p->ops);
    if (kind == LPO_IMAGE && a->options.parts) { /* in a pass of their own, as they are smaller */
        struct lpo_phase parts = *phase;

        parts.batch = lpo_model_mul(parts.batch, a->options.parts);
        parts.image = a->options.part;
        list_ops(a, LPO_VISION, &parts, &p->ops);
    }
    p->all = lpo_model_needs_sum(a, p, 1, NULL, NULL);
    p->rank = lpo_model_needs_sum(a, p, a->options.tp, NULL, NULL);
    if (kind != LPO_IMAGE)
        add_communication(a, p);
}

/* FLOPs of MLA both absorbed and expanded, whatever the options chose: reports compare them. */
static void count_mla(struct lpo_model_needs *a, struct lpo_phase phase)
{
    for (int expanded = 0; expanded < 2; expanded++) {
        LPO_FREED lpo_model_op_vec ops = { 0 };

        phase.absorb = !expanded;
        list_ops(a, LPO_TEXT, &phase, &ops);
        for (size_t i = 0; i < ops.len; i++)
            a->mla_flops[expanded] = lpo_model_add(a->mla_flops[expanded], ops.at[i].flops);
    }
}

static void run_text(struct lpo_model_needs *a)
{
    const struct lpo_needs_options *o = &a->options;
    struct lpo_phase phase = { .batch = o->batch,
                               .tokens = o->seq,
                               .counting = o->counting,
                               .head_all = o->head_all,
                               .flash = !o->unfused };

    run_phase(a, LPO_PREFILL, &phase);
    if (a->model->decoder->family->no_cache)
        return;
    phase.tokens = 1;
    phase.cached = o->context;
    phase.absorb = a->model->decoder->base.kv_rank && o->mla == LPO_MLA_ABSORBED;
    run_phase(a, LPO_DECODE, &phase);
    if (a->model->decoder->base.kv_rank)
        count_mla(a, phase);
}

static int run_all(struct lpo_model_needs *a, struct lpo_err *err)
{
    const struct lpo_needs_options *o = &a->options;

    list_tensors(a);
    if (a->model->decoder)
        run_text(a);
    if (a->model->visions)
        run_phase(a, LPO_IMAGE,
                  &(struct lpo_phase){ .batch = o->batch,
                                       .tokens = 1,
                                       .image = o->image,
                                       .counting = o->counting,
                                       .flash = !o->unfused });
    for (int k = 0; k < LPO_PHASES; k++)
        if (a->phase[k].all.flops == LPO_COUNT_MAX)
            return lpo_fail(err, LPO_E_RANGE, "the FLOPs of the %s phase do not fit in 64 bits",
                            lpo_model_phase_name((enum lpo_phase_kind)k));
    if (a->params == LPO_COUNT_MAX)
        return lpo_fail(err, LPO_E_RANGE, "the number of parameters does not fit in 64 bits");
    plan_memory(a);
    return 0;
}

/* Which weights have which format. A format that the user names replaces it, unless it is the one
 * that the config gives most of the weights: what that leaves out stays wide. */
static int read_quant(struct lpo_model_needs *a, const struct lpo_json *config, struct lpo_err *err)
{
    enum lpo_dtype wanted = a->options.dtype;
    struct lpo_err ignored = { 0 };
    int rc = lpo_model_quant_create(config, &a->quant, wanted ? &ignored : err);

    if (wanted && a->quant && lpo_model_quant_main(a->quant) == wanted)
        a->options.dtype = LPO_DTYPE_NONE;
    else if (wanted) {
        lpo_model_quant_destroy(a->quant);
        a->quant = NULL;
    }
    return wanted ? 0 : rc;
}

int lpo_model_needs_create(const struct lpo_json *config, const struct lpo_needs_options *options,
                           struct lpo_model_needs **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_model_needs) a = lpo_xcalloc(1, sizeof *a);
    struct lpo_model_options how = { .strict = options->strict };
    struct lpo_model *model = NULL;
    int rc;

    a->arena = lpo_arena_create();
    a->options = *options;
    rc = lpo_model_create(a->arena, config, &how, &model, err);
    if (rc < 0)
        return rc;
    a->model = model;
    if (options->weight_bytes <= 0)
        rc = read_quant(a, config, err);
    if (rc < 0)
        return rc;
    rc = resolve_options(a, err);
    if (rc == 0)
        rc = run_all(a, err);
    if (rc < 0)
        return rc;
    a->compute_dtype = a->options.dtype;
    if (a->options.hardware)
        lpo_gpu_hardware_peak(a->options.hardware, a->options.dtype, &a->compute_dtype);
    *out = a;
    a = NULL;
    return 0;
}

void lpo_model_needs_destroy(struct lpo_model_needs *a)
{
    if (!a)
        return;
    for (int k = 0; k < LPO_PHASES; k++)
        lpo_vec_free(&a->phase[k].ops);
    lpo_vec_free(&a->tensors);
    lpo_model_quant_destroy(a->quant);
    lpo_arena_destroy(a->arena);
    free(a);
}
