/* SPDX-License-Identifier: Apache-2.0 */
/* What hardware counters of ncu say of kernels of the trace: the last wave of blocks leaves SMs
 * idle; few warps fit on an SM and neither roof is near. */

#include "analysis/ladder/private.h"
#include "region/tree.h"

enum counter {
    GRID,
    BLOCK,
    WAVES,
    REGISTERS,
    SHARED,
    WARPS,
    BLOCKS,
    THEORETICAL,
    SM,
    MEMORY,
    COUNTERS
};

static const char *const metrics[COUNTERS] = {
    [GRID] = "launch__grid_size",
    [BLOCK] = "launch__block_size",
    [WAVES] = "launch__waves_per_multiprocessor",
    [REGISTERS] = "launch__occupancy_limit_registers",
    [SHARED] = "launch__occupancy_limit_shared_mem",
    [WARPS] = "launch__occupancy_limit_warps",
    [BLOCKS] = "launch__occupancy_limit_blocks",
    [THEORETICAL] = "sm__maximum_warps_per_active_cycle_pct",
    [SM] = "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    /* caches too: a kernel that keeps L2 busy has a roof there */
    [MEMORY] = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
};

enum { SHORT_NS = 10000 };

/* With more waves the last one costs little, and blocks no longer start together. */
static const double most_waves = 5;
/* Percent. ncu calls a kernel bound by latency when it uses both to less than 60 %. */
static const double low_occupancy = 50, far_from_roof = 60;

static double volume(const uint32_t v[3])
{
    return (double)v[0] * v[1] * v[2];
}

/* Counters of another launch with the same grid and block are this one's; a short kernel is mostly
 * launch and drain. */
static bool read_counters(const struct ladder_work *w, const uint32_t *columns, uint32_t op,
                          double *v)
{
    const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, op);
    const struct lpo_shape *s;

    if (k->kind != LPO_KERNEL || k->metrics == LPO_NONE || k->shape == LPO_NONE ||
        k->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE) || lpo_trace_gpu_op_ns(k) < SHORT_NS)
        return false;
    for (int i = 0; i < COUNTERS; i++)
        v[i] = columns[i] == LPO_NONE ? NAN : lpo_trace_metric_get(w->t, k->metrics, columns[i]);
    s = &w->t->shapes.at[k->shape];
    return volume(s->grid) == v[GRID] && volume(s->block) == v[BLOCK];
}

/* The one thing that lets the fewest blocks on an SM; LPO_LIMITERS: two do, or it is not known. */
static enum lpo_rung_limiter limiter_of(const double *v)
{
    double limits[LPO_LIMITERS] = { [LPO_LIMITER_REGISTERS] = v[REGISTERS],
                                    [LPO_LIMITER_SHARED_MEMORY] = v[SHARED],
                                    [LPO_LIMITER_BLOCK_SIZE] = fmin(v[WARPS], v[BLOCKS]) };
    int least = 0, equal = 0;

    for (int i = 0; i < LPO_LIMITERS; i++) {
        if (!(limits[i] > 0))
            return LPO_LIMITERS;
        least = limits[i] < limits[least] ? i : least;
    }
    for (int i = 0; i < LPO_LIMITERS; i++)
        equal += limits[i] == limits[least];
    return equal == 1 ? (enum lpo_rung_limiter)least : LPO_LIMITERS;
}

/* Matrix kernels hide latency with copies that run ahead, not with warps. */
static bool needs_warps(const struct ladder_work *w, uint32_t op)
{
    switch (lpo_region_tree_class(w->tree, lpo_critical_gpu_op(&w->g, op)->name)) {
    case LPO_CLASS_GEMM:
    case LPO_CLASS_ATTENTION:
    case LPO_CLASS_CONVOLUTION:
    case LPO_CLASS_MOE:
    case LPO_CLASS_COLLECTIVE:
        return false;
    default:
        return true;
    }
}

struct sums {
    uint64_t kernels;
    int64_t ns, most_ns;
    uint32_t name;
    double sm, memory, theoretical, waves;
};

static void sum(struct sums *s, const struct ladder_work *w, uint32_t op, const double *v)
{
    int64_t ns = lpo_ladder_op_ns(w, op);

    s->kernels++;
    s->ns += ns;
    s->sm += v[SM] * (double)ns;
    s->memory += v[MEMORY] * (double)ns;
    s->theoretical += v[THEORETICAL] * (double)ns;
    if (ns > s->most_ns) {
        s->most_ns = ns;
        s->name = lpo_critical_gpu_op(&w->g, op)->name;
        s->waves = v[WAVES];
    }
}

static struct lpo_rung *propose(struct ladder_work *w, enum lpo_rung_kind kind, int64_t *less,
                                const struct sums *s)
{
    struct lpo_rung *r = lpo_ladder_add_ops(w, kind, less);

    if (!r)
        return NULL;
    r->basis = LPO_BASIS_ESTIMATED;
    lpo_ladder_fact(r, LPO_FACT_KERNELS, LPO_NONE, (double)s->kernels, (double)s->ns,
                    (double)s->ns / (double)w->out->window.wall_ns);
    lpo_ladder_fact(r, LPO_FACT_KERNEL, s->name, (double)s->most_ns, 0, 0);
    lpo_ladder_fact(r, LPO_FACT_COUNTERS, LPO_NONE, s->sm / (double)s->ns / 100,
                    s->memory / (double)s->ns / 100, NAN);
    return r;
}

static void add_tail(struct ladder_work *w, const uint32_t *columns)
{
    int64_t *less = lpo_ladder_wants(w);
    struct sums s = { .name = LPO_NONE };
    double v[COUNTERS];
    struct lpo_rung *r;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        if (!read_counters(w, columns, i, v) || !(v[WAVES] > 1 && v[WAVES] < most_waves))
            continue;
        less[i] = llround((double)lpo_ladder_op_ns(w, i) * (1 - v[WAVES] / ceil(v[WAVES])));
        if (less[i])
            sum(&s, w, i, v);
    }
    r = propose(w, LPO_RUNG_TAIL, less, &s);
    if (r)
        lpo_ladder_fact(r, LPO_FACT_WAVES, LPO_NONE, s.waves, 0, 0);
}

static void add_occupancy(struct ladder_work *w, const uint32_t *columns, enum lpo_rung_limiter by)
{
    int64_t *less = lpo_ladder_wants(w);
    struct sums s = { .name = LPO_NONE };
    double v[COUNTERS];
    struct lpo_rung *r;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        if (!read_counters(w, columns, i, v) || !(v[WAVES] >= 1) ||
            !(v[THEORETICAL] > 0 && v[THEORETICAL] < low_occupancy) || !(v[SM] < far_from_roof) ||
            !(v[MEMORY] < far_from_roof) || limiter_of(v) != by || !needs_warps(w, i))
            continue;
        less[i] = llround((double)lpo_ladder_op_ns(w, i) *
                          (1 - fmax(v[THEORETICAL], fmax(v[SM], v[MEMORY])) / 100));
        sum(&s, w, i, v);
    }
    r = propose(w, LPO_RUNG_OCCUPANCY, less, &s);
    if (r)
        lpo_ladder_fact(r, LPO_FACT_LIMITER, LPO_NONE, by, s.theoretical / (double)s.ns / 100, 0);
}

void lpo_ladder_counters(struct ladder_work *w)
{
    uint32_t columns[COUNTERS];

    for (int i = 0; i < COUNTERS; i++)
        columns[i] = lpo_trace_metric_find(w->t, metrics[i]);
    if (columns[WAVES] == LPO_NONE || columns[GRID] == LPO_NONE || columns[BLOCK] == LPO_NONE)
        return;
    add_tail(w, columns);
    for (int i = 0; i < LPO_LIMITERS; i++)
        add_occupancy(w, columns, (enum lpo_rung_limiter)i);
}
