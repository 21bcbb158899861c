/* Sums over operations, and the least time they take: for every module the larger of its products
 * at the peak rate and its bytes at the full bandwidth, then added up. */
#include <math.h>

#include "model/count.h"
#include "model/needs.h"

struct cost {
    double flops, bytes;
};

static uint64_t divided(uint64_t n, uint64_t ways, uint64_t tp)
{
    uint64_t by = ways < tp ? ways : tp;

    return by > 1 && n != LPO_COUNT_MAX ? n / by + (n % by != 0) : n;
}

static double part_of(double n, uint64_t ways, uint64_t tp)
{
    uint64_t by = ways < tp ? ways : tp;

    return by > 1 ? n / (double)by : n;
}

static double weight_bytes(const struct lpo_needs *a, double elements)
{
    double total = (double)a->params;

    if (a->options.weight_bytes > 0 && total > 0)
        return elements * (a->options.weight_bytes / total);
    return elements * lpo_dtype_bytes(a->options.dtype);
}

/* Activations travel in the compute format: 16 bits where the weights are narrower. */
static double activation_bytes(const struct lpo_needs *a)
{
    double bytes = lpo_dtype_bytes(a->options.dtype);

    return bytes < 2 ? 2 : bytes;
}

static void add_time(const struct lpo_needs *a, const struct cost *c, struct lpo_sums *s)
{
    const struct lpo_hardware *hw = a->options.hardware;
    double peak = hw ? lpo_hardware_peak(hw, a->options.dtype, NULL) : 0;
    double compute, memory;

    if (!hw || peak <= 0 || hw->bandwidth <= 0)
        return;
    compute = c->flops / peak;
    memory = c->bytes / hw->bandwidth;
    s->compute_seconds += compute;
    s->memory_seconds += memory;
    s->seconds += fmax(compute, memory);
}

static bool same_kernel(const struct lpo_needs *a, const struct lpo_op *x, const struct lpo_op *y)
{
    bool scores = x->kind == LPO_OP_SCORES || x->kind == LPO_OP_VALUES;

    return !a->options.unfused && scores &&
           (y->kind == LPO_OP_SCORES || y->kind == LPO_OP_VALUES) && x->at.part == y->at.part &&
           x->at.layer == y->at.layer;
}

struct lpo_sums lpo_needs_sum(const struct lpo_needs *a, const struct lpo_phase_result *p,
                              uint64_t tp, bool (*keep)(const struct lpo_op *op, void *arg),
                              void *arg)
{
    double act = activation_bytes(a), kv_byte = lpo_dtype_bytes(a->options.kv_dtype);
    const struct lpo_op *last = NULL;
    struct cost pending = { 0 };
    struct lpo_sums s = { 0 };

    for (size_t i = 0; i < p->ops.len; i++) {
        const struct lpo_op *op = &p->ops.at[i];
        uint64_t flops = divided(op->flops, op->ways, tp);
        double weights = weight_bytes(a, part_of(op->weights, op->ways, tp));
        double moved = act * part_of((double)lpo_add(op->reads, op->writes), op->ways, tp);
        double kv =
            kv_byte * part_of((double)lpo_add(op->kv_reads, op->kv_writes), op->kv_ways, tp);

        if (keep && !keep(op, arg))
            continue;
        if (last && !same_kernel(a, last, op)) {
            add_time(a, &pending, &s);
            pending = (struct cost){ 0 };
        }
        s.flops = lpo_add(s.flops, flops);
        s.by_kind[op->kind] = lpo_add(s.by_kind[op->kind], flops);
        s.by_aten[op->aten] = lpo_add(s.by_aten[op->aten], flops);
        s.weight_bytes += weights;
        s.activation_bytes += moved;
        s.kv_bytes += kv;
        pending.flops += (double)flops;
        pending.bytes += weights + moved + kv;
        last = op;
    }
    if (last)
        add_time(a, &pending, &s);
    return s;
}

double lpo_sums_bytes(const struct lpo_sums *s)
{
    return s->weight_bytes + s->activation_bytes + s->kv_bytes;
}
