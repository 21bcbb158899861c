/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over operations, of a phase and of each block, and the least time they take (the roofline):
 * for every kernel the larger of its products at the peak rate and its bytes at the full bandwidth,
 * then added up. */
#include <math.h>

#include "model/count.h"
#include "model/needs.h"
#include "model/rank.h"
#include "util/arena.h"

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
