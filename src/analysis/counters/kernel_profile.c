/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/kernel_profile.h"

#include "analysis/counters/by_kernel.h"
#include "analysis/limits/counters.h"
#include "trace/trace.h"

enum lpo_bound lpo_counters_bound_of(struct lpo_measure compute, struct lpo_measure memory)
{
    if (!lpo_measure_known(compute) || !lpo_measure_known(memory))
        return LPO_BOUND_UNKNOWN;
    if (compute.value < LPO_BOUND_LOW_PERCENT && memory.value < LPO_BOUND_LOW_PERCENT)
        return LPO_BOUND_LATENCY;
    if (fabs(compute.value - memory.value) < LPO_BOUND_NEAR_POINTS)
        return LPO_BOUND_BALANCED;
    return compute.value > memory.value ? LPO_BOUND_COMPUTE : LPO_BOUND_MEMORY;
}

LPO_NAMES(lpo_counters_bound_name, enum lpo_bound, NULL, "latency", "balanced", "memory",
          "compute");

/* The first of these metrics that was collected, in base units. */
static struct lpo_measure metric_of(const struct lpo_trace *t, const struct lpo_gpu_op *w,
                                    const char *const *names)
{
    for (; w->metrics != LPO_NONE && *names; names++) {
        uint32_t m = lpo_trace_metric_find(t, *names);
        double v = m == LPO_NONE ? NAN : lpo_trace_metric_get(t, w->metrics, m);

        if (isnan(v))
            continue;
        if (t->metrics.at[m].unit != LPO_NONE)
            v *= lpo_limits_unit_scale(lpo_trace_text(t, t->metrics.at[m].unit));
        return lpo_measure_measured(v);
    }
    return lpo_measure_unknown();
}

static struct lpo_kernel_profile profile_of(struct lpo_arena *a, const struct lpo_trace *t,
                                            const struct lpo_gpu_op *w)
{
    static const char *const memory[] = {
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", NULL
    };
    static const char *const rate[] = { "dram__bytes.sum.per_second", NULL };
    struct lpo_kernel_profile p = {
        .kernel = lpo_arena_name(a, lpo_trace_text(t, w->name), lpo_trace_text_len(t, w->name)),
        .shaped = w->shape != LPO_NONE,
        .compute_percent = lpo_counters_kernel_figure(t, w, LPO_FIGURE_SM),
        .memory_percent = metric_of(t, w, memory),
        .tensor_percent = lpo_counters_kernel_figure(t, w, LPO_FIGURE_TENSOR),
        .l1_percent = lpo_counters_kernel_figure(t, w, LPO_FIGURE_L1),
        .l2_percent = lpo_counters_kernel_figure(t, w, LPO_FIGURE_L2),
        .dram_percent = lpo_counters_kernel_figure(t, w, LPO_FIGURE_DRAM),
        .dram_bytes_per_second = metric_of(t, w, rate),
        .occupancy_percent = lpo_counters_kernel_figure(t, w, LPO_FIGURE_OCCUPANCY),
        .registers = lpo_counters_kernel_figure(t, w, LPO_FIGURE_REGISTERS),
        .waves = lpo_counters_kernel_figure(t, w, LPO_FIGURE_WAVES),
    };

    if (p.shaped) {
        memcpy(p.grid, t->shapes.at[w->shape].grid, sizeof p.grid);
        memcpy(p.block, t->shapes.at[w->shape].block, sizeof p.block);
    }
    if (!(w->flags & LPO_GPU_OP_NO_LENGTH))
        p.duration_ns = lpo_measure_measured((double)lpo_trace_gpu_op_ns(w));
    p.level =
        lpo_counters_memory_level(p.memory_percent, p.l1_percent, p.l2_percent, p.dram_percent);
    p.bound = lpo_counters_bound_of(p.compute_percent, p.memory_percent);
    return p;
}

static const char *text_of(struct lpo_arena *a, const struct lpo_trace *t, uint32_t name)
{
    return name == LPO_NONE
               ? NULL
               : lpo_arena_name(a, lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

/* Rules stand in order of their operations; `at` is where those before ended. */
static void add_rules(struct lpo_arena *a, const struct lpo_trace *t, uint32_t op, size_t *at,
                      struct lpo_kernel_profile *p)
{
    size_t end;

    while (*at < t->rules.len && t->rules.at[*at].op < op)
        (*at)++;
    for (end = *at; end < t->rules.len && t->rules.at[end].op == op;)
        end++;
    p->rules = lpo_arena_array(a, end - *at, sizeof *p->rules);
    for (; *at < end; (*at)++) {
        const struct lpo_rule *r = &t->rules.at[*at];

        p->rules[p->nrules++] = (struct lpo_kernel_rule){
            .section = text_of(a, t, r->section),
            .rule = text_of(a, t, r->rule),
            .title = text_of(a, t, r->title),
            .text = text_of(a, t, r->text),
            .kind = r->kind,
            .speedup = r->speedup,
            .percent =
                isnan(r->percent) ? lpo_measure_unknown() : lpo_measure_estimated(r->percent),
        };
    }
}

struct lpo_kernel_profiles lpo_counters_kernel_profiles(struct lpo_arena *a,
                                                        const struct lpo_trace *t)
{
    struct lpo_kernel_profiles got = { 0 };
    size_t rule = 0;

    got.at = lpo_arena_array(a, t->gpu_ops.len + 1, sizeof *got.at);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].kind == LPO_KERNEL) {
            got.at[got.len] = profile_of(a, t, &t->gpu_ops.at[i]);
            add_rules(a, t, (uint32_t)i, &rule, &got.at[got.len++]);
        }
    return got;
}
