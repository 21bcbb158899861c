/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/findings/counters.h"

#include <math.h>

#include "analysis/findings/private.h"

static const char *const metrics[LPO_COUNTERS] = {
    [LPO_COUNTER_GRID] = "launch__grid_size",
    [LPO_COUNTER_BLOCK] = "launch__block_size",
    [LPO_COUNTER_WAVES] = "launch__waves_per_multiprocessor",
    [LPO_COUNTER_LIMIT_REGISTERS] = "launch__occupancy_limit_registers",
    [LPO_COUNTER_LIMIT_SHARED_MEMORY] = "launch__occupancy_limit_shared_mem",
    [LPO_COUNTER_LIMIT_WARPS] = "launch__occupancy_limit_warps",
    [LPO_COUNTER_LIMIT_BLOCKS] = "launch__occupancy_limit_blocks",
    [LPO_COUNTER_LIMIT_BARRIERS] = "launch__occupancy_limit_barriers",
    [LPO_COUNTER_THEORETICAL] = "sm__maximum_warps_per_active_cycle_pct",
    [LPO_COUNTER_ACHIEVED] = "sm__warps_active.avg.pct_of_peak_sustained_active",
    [LPO_COUNTER_SM] = "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    /* caches too: a kernel that keeps L2 busy has a roof there */
    [LPO_COUNTER_MEMORY] = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
};

bool lpo_findings_counters_open(const struct lpo_findings_work *w, struct lpo_findings_counters *c)
{
    c->trace = w->trace;
    for (int i = 0; i < LPO_COUNTERS; i++)
        c->columns[i] = lpo_trace_metric_find(w->trace, metrics[i]);
    return c->columns[LPO_COUNTER_WAVES] != LPO_NONE && c->columns[LPO_COUNTER_GRID] != LPO_NONE &&
           c->columns[LPO_COUNTER_BLOCK] != LPO_NONE;
}

static double volume(const uint32_t v[3])
{
    return (double)v[0] * v[1] * v[2];
}

/* Counters of a kernel that was not profiled are those of another launch, maybe with another grid:
 * its waves are not those of this one. */
static bool is_same_shape(const struct lpo_findings_counters *c, const struct lpo_gpu_op *op)
{
    const struct lpo_shape *s = op->shape == LPO_NONE ? NULL : &c->trace->shapes.at[op->shape];

    return s && volume(s->grid) == c->value[LPO_COUNTER_GRID] &&
           volume(s->block) == c->value[LPO_COUNTER_BLOCK];
}

bool lpo_findings_counters_read(struct lpo_findings_counters *c, const struct lpo_gpu_op *op)
{
    if (op->kind != LPO_KERNEL || op->metrics == LPO_NONE ||
        op->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE) ||
        lpo_trace_gpu_op_ns(op) < LPO_FINDINGS_SHORT_KERNEL_NS)
        return false;
    for (int i = 0; i < LPO_COUNTERS; i++)
        c->value[i] = c->columns[i] == LPO_NONE
                          ? NAN
                          : lpo_trace_metric_get(c->trace, op->metrics, c->columns[i]);
    return is_same_shape(c, op);
}

void lpo_findings_kernels_add(struct lpo_findings_kernels *k, const struct lpo_findings_counters *c,
                              const struct lpo_gpu_op *op, int64_t saving_ns)
{
    int64_t ns = lpo_trace_gpu_op_ns(op);
    struct lpo_findings_kernel *row;
    bool fresh;
    uint32_t at = lpo_map_pair_put(&k->rows, op->name, 0, &fresh);

    if (fresh)
        lpo_vec_push(&k->names, ((struct lpo_findings_kernel){ .name = op->name }));
    row = &k->names.at[at];
    row->gpu_ns += ns;
    if (saving_ns > row->most_ns) {
        row->most_ns = saving_ns;
        row->waves = c->value[LPO_COUNTER_WAVES];
    }
    k->launches++;
    k->gpu_ns += ns;
    for (int i = 0; i < LPO_COUNTERS; i++) {
        if (isnan(c->value[i]))
            continue;
        k->weighted[i] += c->value[i] * (double)ns;
        k->weight[i] += (double)ns;
    }
}

const struct lpo_findings_kernel *lpo_findings_kernels_facts(const struct lpo_findings_kernels *k,
                                                             struct lpo_finding *f)
{
    const struct lpo_findings_kernel *most = NULL;

    lpo_findings_fact(f, LPO_FACT_LAUNCHES, (double)k->launches);
    lpo_findings_fact(f, LPO_FACT_GPU_NS, (double)k->gpu_ns);
    for (size_t i = 0; i < k->names.len; i++)
        if (!most || k->names.at[i].gpu_ns > most->gpu_ns)
            most = &k->names.at[i];
    if (!most || most->gpu_ns < k->gpu_ns / 5)
        return NULL;
    lpo_findings_fact_name(f, LPO_FACT_KERNEL, (double)most->gpu_ns, most->name);
    return most;
}

void lpo_findings_kernels_share(const struct lpo_findings_kernels *k, struct lpo_finding *f,
                                enum lpo_findings_counter counter, enum lpo_fact fact)
{
    if (k->weight[counter] > 0)
        lpo_findings_fact(f, fact, k->weighted[counter] / k->weight[counter] / 100);
}

void lpo_findings_kernels_free(struct lpo_findings_kernels *k)
{
    lpo_vec_free(&k->names);
    lpo_map_pair_free(&k->rows);
}
