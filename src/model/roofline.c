/* Sums over operations, and the least time they take: for every module the larger of its products
 * at the peak rate and its bytes at the full bandwidth, then added up. */
#include <math.h>

#include "model/count.h"
#include "model/needs.h"
#include "model/rank.h"

struct cost {
    double flops, bytes;
};

static double weight_bytes(const struct lpo_model_needs *a, double elements)
{
    double total = (double)a->params;

    if (a->options.weight_bytes > 0 && total > 0)
        return elements * (a->options.weight_bytes / total);
    return elements * lpo_dtype_bytes(a->options.dtype);
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
    double peak = hw ? lpo_gpu_hardware_peak(hw, a->options.dtype, NULL) : 0;
    double compute, memory;

    if (!hw || peak <= 0 || hw->bandwidth <= 0)
        return;
    compute = c->flops / peak;
    memory = c->bytes / hw->bandwidth;
    s->compute_seconds += compute;
    s->memory_seconds += memory;
    s->seconds += fmax(compute, memory);
}

static bool same_kernel(const struct lpo_model_needs *a, const struct lpo_model_op *x,
                        const struct lpo_model_op *y)
{
    bool scores = x->kind == LPO_OP_SCORES || x->kind == LPO_OP_VALUES;

    return !a->options.unfused && scores &&
           (y->kind == LPO_OP_SCORES || y->kind == LPO_OP_VALUES) && x->at.part == y->at.part &&
           x->at.layer == y->at.layer;
}

/* A sum under way: the kernel that is being put together, and its last operation. */
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
    double weights = weight_bytes(a, lpo_model_rank_real(op->weights, op->ways, s->tp));
    double moved =
        activation_bytes(a) *
        lpo_model_rank_real((double)lpo_model_add(op->reads, op->writes), op->ways, s->tp);
    double kv =
        lpo_dtype_bytes(a->options.kv_dtype) *
        lpo_model_rank_real((double)lpo_model_add(op->kv_reads, op->kv_writes), op->kv_ways, s->tp);

    if (!s->last || !same_kernel(a, s->last, op))
        finish_kernel(s);
    s->last = op;
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
