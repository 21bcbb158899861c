/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/by_kernel.h"

#include "analysis/limits/counters.h"
#include "trace/trace.h"

/* The first name that was collected is taken: chips and sets of ncu differ. */
enum { NAMES = 4 };
static const char *const names[LPO_KERNEL_FIGURES][NAMES] = {
    [LPO_FIGURE_SM] = { "sm__throughput.avg.pct_of_peak_sustained_elapsed" },
    [LPO_FIGURE_TENSOR] = { "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                            "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
                            "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_"
                            "active" },
    [LPO_FIGURE_L1] = { "l1tex__throughput.avg.pct_of_peak_sustained_active",
                        "l1tex__throughput.avg.pct_of_peak_sustained_elapsed" },
    [LPO_FIGURE_L2] = { "lts__throughput.avg.pct_of_peak_sustained_elapsed",
                        "lts__t_sectors.avg.pct_of_peak_sustained_elapsed" },
    [LPO_FIGURE_DRAM] = { "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                          "dram__throughput.avg.pct_of_peak_sustained_elapsed" },
    [LPO_FIGURE_OCCUPANCY] = { "sm__warps_active.avg.pct_of_peak_sustained_active" },
    [LPO_FIGURE_REGISTERS] = { "launch__registers_per_thread" },
    [LPO_FIGURE_WAVES] = { "launch__waves_per_multiprocessor" },
};

struct lpo_measure lpo_counters_kernel_figure(const struct lpo_trace *t,
                                              const struct lpo_gpu_op *op,
                                              enum lpo_kernel_figure figure)
{
    for (int i = 0; op->metrics != LPO_NONE && i < NAMES && names[figure][i]; i++) {
        uint32_t m = lpo_trace_metric_find(t, names[figure][i]);
        double v = m == LPO_NONE ? NAN : lpo_trace_metric_get(t, op->metrics, m);

        if (isnan(v))
            continue;
        return lpo_measure_measured(v);
    }
    if (figure == LPO_FIGURE_REGISTERS && op->shape != LPO_NONE &&
        t->shapes.at[op->shape].registers && t->shapes.at[op->shape].registers != LPO_NONE)
        return lpo_measure_measured(t->shapes.at[op->shape].registers);
    return lpo_measure_unknown();
}

struct weight {
    double sum, of;
};

static bool is_mean_of_time(int figure)
{
    return figure != LPO_FIGURE_REGISTERS && figure != LPO_FIGURE_WAVES;
}

static void add_launch(const struct lpo_trace *t, const struct lpo_gpu_op *op,
                       struct weight *weights)
{
    for (int f = 0; f < LPO_KERNEL_FIGURES; f++) {
        struct lpo_measure m = lpo_counters_kernel_figure(t, op, (enum lpo_kernel_figure)f);
        double weight = is_mean_of_time(f) ? (double)lpo_trace_gpu_op_ns(op) : 1;

        if (!lpo_measure_known(m))
            continue;
        weight = weight > 0 ? weight : 1; /* a launch without a length still counts */
        weights[f].sum += m.value * weight;
        weights[f].of += weight;
    }
}

static bool put_means(struct lpo_kernel_counters *k, const struct weight *weights)
{
    bool any = false;

    for (int f = 0; f < LPO_KERNEL_FIGURES; f++) {
        k->figure[f] = weights[f].of > 0 ? lpo_measure_measured(weights[f].sum / weights[f].of)
                                         : lpo_measure_unknown();
        any = any || (weights[f].of > 0 && f != LPO_FIGURE_REGISTERS);
    }
    return any;
}

struct lpo_counters_by_kernel lpo_counters_by_kernel(struct lpo_arena *a, const struct lpo_trace *t)
{
    struct lpo_counters_by_kernel all = { 0 };
    LPO_FREED struct lpo_map_pair rows = { 0 };
    struct weight(*weights)[LPO_KERNEL_FIGURES];
    size_t kernels = 0, kept = 0;

    for (size_t i = 0; t->metrics.len && i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        bool fresh;

        if (op->kind != LPO_KERNEL || op->metrics == LPO_NONE || (op->flags & LPO_GPU_OP_SAMPLED))
            continue;
        lpo_map_pair_put(&rows, op->name, op->linker, &fresh);
        kernels += fresh;
    }
    all.at = lpo_arena_array(a, kernels + 1, sizeof *all.at);
    weights = lpo_arena_array(a, kernels + 1, sizeof *weights);
    for (size_t i = 0; kernels && i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        uint32_t row;

        if (op->kind != LPO_KERNEL || op->metrics == LPO_NONE || (op->flags & LPO_GPU_OP_SAMPLED))
            continue;
        row = lpo_map_pair_find(&rows, op->name, op->linker);
        all.at[row].kernel = lpo_trace_text(t, op->name);
        all.at[row].linker = op->linker ? lpo_trace_text(t, op->linker) : "";
        all.at[row].launches++;
        add_launch(t, op, weights[row]);
    }
    for (size_t i = 0; i < kernels; i++) {
        struct lpo_kernel_counters k = all.at[i];

        if (!put_means(&k, weights[i]))
            continue;
        for (int f = 0; f < LPO_KERNEL_FIGURES; f++)
            all.has[f] = all.has[f] || lpo_measure_known(k.figure[f]);
        all.at[kept++] = k;
    }
    all.len = kept;
    return all;
}

const struct lpo_kernel_counters *lpo_counters_find_kernel(const struct lpo_counters_by_kernel *all,
                                                           const char *kernel, const char *linker)
{
    const struct lpo_kernel_counters *named = NULL;

    for (size_t i = 0; i < all->len; i++) {
        const struct lpo_kernel_counters *k = &all->at[i];

        if (linker && *linker && *k->linker) {
            if (strcmp(k->linker, linker) == 0)
                return k;
        } else if (strcmp(k->kernel, kernel) == 0) {
            named = k;
        }
    }
    return named;
}

const char *lpo_counters_memory_level(struct lpo_measure memory, struct lpo_measure l1,
                                      struct lpo_measure l2, struct lpo_measure dram)
{
    const struct {
        const char *name;
        struct lpo_measure share;
    } levels[] = { { "DRAM", dram }, { "L2", l2 }, { "L1", l1 } };
    const char *name = NULL;
    double nearest = INFINITY;

    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        double apart = lpo_measure_known(memory) ? fabs(levels[i].share.value - memory.value)
                                                 : -levels[i].share.value;

        if (lpo_measure_known(levels[i].share) && apart < nearest) {
            nearest = apart;
            name = levels[i].name;
        }
    }
    return name;
}
