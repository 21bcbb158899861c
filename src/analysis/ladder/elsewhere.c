/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on what has no wall time: flight recorders of a job that hangs, memory snapshots, and
 * kernels that ncu measured alone. */

#include "analysis/analysis.h"
#include "analysis/counters/by_kernel.h"
#include "analysis/counters/kernel_profile.h"
#include "analysis/counters/rules.h"
#include "analysis/ladder/private.h"
#include "analysis/memory/memory.h"
#include "analysis/ranks/flight.h"
#include "analysis/wall/steady.h"

enum { HOLDERS = 3 };

static const double LEAST_OF_KERNELS = 0.1, BUSY = 0.6;

static struct lpo_rung plain(enum lpo_rung_kind kind)
{
    return (struct lpo_rung){ .kind = kind,
                              .basis = LPO_BASIS_MEASURED,
                              .name = LPO_NONE,
                              .code = LPO_NONE,
                              .node = LPO_NONE };
}

static void add_peak(const struct lpo_trace *t, const struct lpo_memory_peaks_row *p, uint32_t at,
                     struct lpo_ladders *out)
{
    struct lpo_rung r = plain(LPO_RUNG_MEMORY);
    int64_t unused = 0;

    if (p->peak_bytes == LPO_NO_TIME || p->peak_bytes <= 0)
        return;
    r.device = t->allocators.at[p->allocator].device;
    r.bytes = p->owners.len ? p->owners.at[0].bytes : 0;
    lpo_ladder_fact(&r, LPO_FACT_PEAK, at, (double)p->peak_bytes,
                    p->most_reserved == LPO_NO_TIME ? 0 : (double)p->most_reserved, 0);
    for (int i = 0; p->has_categories && i < LPO_MEMORY_CATEGORIES; i++)
        if (10 * p->categories[i].bytes > p->peak_bytes)
            lpo_ladder_fact(&r, LPO_FACT_ROLE, (uint32_t)i, (double)p->categories[i].bytes,
                            (double)p->categories[i].bytes / (double)p->peak_bytes,
                            (double)p->categories[i].blocks);
    for (size_t i = 0; i < p->owners.len && i < HOLDERS; i++)
        lpo_ladder_fact(&r, LPO_FACT_HOLDER, (uint32_t)i, (double)p->owners.at[i].bytes,
                        (double)p->owners.at[i].bytes / (double)p->peak_bytes,
                        (double)p->owners.at[i].allocations);
    if (p->most_reserved != LPO_NO_TIME)
        unused = p->most_reserved - p->peak_bytes;
    if (unused > p->peak_bytes / 10)
        lpo_ladder_fact(&r, LPO_FACT_FRAGMENTS, LPO_NONE, (double)p->most_reserved, (double)unused,
                        0);
    lpo_vec_push(&out->other, r);
}

/* What an allocator had given out and held at a moment. */
static const struct lpo_memory_event *last_before(const struct lpo_trace *t, uint32_t allocator,
                                                  int64_t ns)
{
    const struct lpo_memory_event *last = NULL;

    for (size_t i = 0; i < t->memory_events.len; i++)
        if (t->memory_events.at[i].allocator == allocator && t->memory_events.at[i].ns <= ns)
            last = &t->memory_events.at[i];
    return last;
}

/* A request that failed. What was reserved and not in use would have been enough, or not. */
static void add_refusal(const struct lpo_trace *t, uint32_t allocator, struct lpo_ladders *out)
{
    const struct lpo_allocator *from = &t->allocators.at[allocator];
    const struct lpo_memory_event *then = last_before(t, allocator, from->refused_ns);
    struct lpo_rung r = plain(LPO_RUNG_REFUSED);

    if (!from->out_of_memory)
        return;
    r.device = from->device;
    if (from->refused_owner != LPO_NONE)
        r.code = t->memory_owners.at[from->refused_owner].place;
    lpo_ladder_fact(&r, LPO_FACT_REFUSED, r.code, (double)from->refused_bytes,
                    (double)from->out_of_memory, 0);
    if (then && then->allocated != LPO_NO_TIME && then->reserved != LPO_NO_TIME)
        lpo_ladder_fact(&r, LPO_FACT_HELD, LPO_NONE, (double)then->allocated,
                        (double)then->reserved,
                        from->gpu_free_bytes == LPO_NO_TIME ? 0 : (double)from->gpu_free_bytes);
    lpo_vec_push(&out->other, r);
}

void lpo_ladder_memory(const struct lpo_analysis *a, struct lpo_ladders *out)
{
    const struct lpo_memory_peaks *peaks;
    bool snapshot = false;

    for (size_t i = 0; i < a->trace->allocators.len; i++)
        snapshot |= a->trace->allocators.at[i].source == LPO_ALLOCATOR_SNAPSHOT;
    if (!snapshot && (out->all.len || !a->trace->allocators.len))
        return;
    for (uint32_t i = 0; i < a->trace->allocators.len; i++)
        add_refusal(a->trace, i, out);
    peaks = lpo_analysis_memory(a);
    for (size_t i = 0; i < peaks->rows.len; i++) /* a snapshot knows more than a trace beside it */
        if (!snapshot ||
            a->trace->allocators.at[peaks->rows.at[i].allocator].source == LPO_ALLOCATOR_SNAPSHOT)
            add_peak(a->trace, &peaks->rows.at[i], (uint32_t)i, out);
}

/* What a job hangs in: what the others wait for comes first. */
void lpo_ladder_flight(const struct lpo_analysis *a, struct lpo_ladders *out)
{
    const struct lpo_flight *f = lpo_analysis_flight(a);

    for (size_t i = 0; f && i < f->verdicts.len; i++) {
        const struct lpo_flight_verdict *v = &f->verdicts.at[i];
        struct lpo_rung r = plain((enum lpo_rung_kind)(LPO_RUNG_MISMATCH + v->kind));

        r.device = UINT16_MAX;
        r.name = a->trace->flight_calls.at[v->call].name;
        r.code = v->last == LPO_NONE ? a->trace->flight_calls.at[v->call].place
                                     : a->trace->flight_calls.at[v->last].place;
        for (size_t k = 0; k < LPO_FLIGHT_SENTENCES; k++)
            lpo_ladder_fact(&r, LPO_FACT_FLIGHT, LPO_NONE, (double)i, (double)k, 0);
        lpo_vec_push(&out->other, r);
    }
}

/* The longest launch of a kernel that ncu measured; NULL. */
static const struct lpo_gpu_op *longest_of(const struct lpo_trace *t, uint32_t name)
{
    const struct lpo_gpu_op *best = NULL;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        if (op->name == name && op->kind == LPO_KERNEL && op->metrics != LPO_NONE &&
            (!best || lpo_trace_gpu_op_ns(op) > lpo_trace_gpu_op_ns(best)))
            best = op;
    }
    return best;
}

static double figure(const struct lpo_trace *t, const struct lpo_gpu_op *op,
                     enum lpo_kernel_figure f)
{
    struct lpo_measure m = lpo_counters_kernel_figure(t, op, f);

    return lpo_measure_known(m) ? m.value / 100 : NAN;
}

/* Which of the caches and DRAM is busy, and which are not. */
static void add_levels(const struct lpo_trace *t, const struct lpo_gpu_op *op, struct lpo_rung *r)
{
    double l1 = figure(t, op, LPO_FIGURE_L1), l2 = figure(t, op, LPO_FIGURE_L2),
           dram = figure(t, op, LPO_FIGURE_DRAM);

    if (isnan(l1) || isnan(l2) || isnan(dram))
        return;
    lpo_ladder_fact(r, LPO_FACT_LEVELS, LPO_NONE, l1, l2, dram);
    if (l1 > BUSY && l2 < l1 / 4 && dram < l1 / 4)
        lpo_ladder_fact(r, LPO_FACT_SCATTERED, LPO_NONE, l1, 0, 0);
}

/* What ncu's own rules say about it: what could save most first. */
static void add_rules(const struct lpo_counters_rules *rules, struct lpo_rung *r)
{
    size_t said = 0;

    for (size_t i = 0; i < rules->rows.len && said < HOLDERS; i++) {
        const struct lpo_counters_rule *x = &rules->rows.at[i];

        if (x->kernel != r->name || x->text == LPO_NONE || !(x->percent > 0))
            continue;
        if (!r->saving_ns && x->saving_ns > 0)
            r->saving_ns = r->alone_ns = (int64_t)x->saving_ns;
        lpo_ladder_fact(r, LPO_FACT_RULE, x->text, x->percent / 100, 0, 0);
        said++;
    }
}

static void add_kernel(const struct lpo_analysis *a, const struct lpo_top_row *top,
                       struct lpo_ladders *out)
{
    static const char memory_metric[] =
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";
    const struct lpo_trace *t = a->trace;
    const struct lpo_gpu_op *op = longest_of(t, top->name);
    uint32_t column = lpo_trace_metric_find(t, memory_metric);
    struct lpo_rung r = plain(LPO_RUNG_KERNEL);
    double memory, sm;
    enum lpo_bound bound;

    if (!op)
        return;
    memory = column == LPO_NONE ? NAN : lpo_trace_metric_get(t, op->metrics, column) / 100;
    sm = figure(t, op, LPO_FIGURE_SM);
    bound = isnan(memory) || isnan(sm) ? LPO_BOUND_UNKNOWN
                                       : lpo_counters_bound_of(lpo_measure_measured(100 * sm),
                                                               lpo_measure_measured(100 * memory));
    r.basis = LPO_BASIS_ESTIMATED;
    r.name = top->name;
    r.device = op->device;
    lpo_ladder_fact(&r, LPO_FACT_KERNEL_TIME, LPO_NONE, (double)top->sum.launches,
                    (double)top->sum.ns, top->share);
    if (bound != LPO_BOUND_UNKNOWN)
        lpo_ladder_fact(&r, LPO_FACT_BOUND_BY, bound, sm, memory, 0);
    add_levels(t, op, &r);
    if (figure(t, op, LPO_FIGURE_WAVES) > 0 && 100 * figure(t, op, LPO_FIGURE_WAVES) < 1)
        lpo_ladder_fact(&r, LPO_FACT_FEW_WAVES, LPO_NONE, 100 * figure(t, op, LPO_FIGURE_WAVES), 0,
                        0);
    add_rules(lpo_analysis_rules(a), &r);
    if (r.nevidence > 1)
        lpo_vec_push(&out->other, r);
}

/* Of an ncu report: its most expensive kernels, and what holds each of them back. */
void lpo_ladder_profiles(const struct lpo_analysis *a, struct lpo_ladders *out)
{
    const struct lpo_wall_steady *steady;

    if (out->all.len || !a->trace->metrics.len)
        return;
    steady = lpo_analysis_steady(a);
    for (size_t i = 0; i < steady->top.len && i < HOLDERS; i++)
        if (steady->top.at[i].share >= LEAST_OF_KERNELS)
            add_kernel(a, &steady->top.at[i], out);
}
