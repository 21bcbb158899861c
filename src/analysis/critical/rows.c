/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the trace by process or thread, in order of time. */
#include <stdlib.h>

#include "analysis/critical/private.h"
#include "region/tree.h"

static bool op_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->gpu_ops.at[a].start_ns < t->gpu_ops.at[b].start_ns;
}

static bool host_op_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;
    const struct lpo_op *x = &t->ops.at[a], *y = &t->ops.at[b];

    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : x->end_ns > y->end_ns;
}

static bool call_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;
    const struct lpo_api_call *x = &t->calls.at[a], *y = &t->calls.at[b];

    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : x->end_ns > y->end_ns;
}

/* From how many rows each group has, to where it starts; the last entry is the end of all. */
static void add_up(size_t *starts, size_t groups)
{
    size_t sum = 0;

    for (size_t i = 0; i <= groups; i++) {
        size_t n = starts[i];

        starts[i] = sum;
        sum += n;
    }
}

static bool has_times(const struct lpo_gpu_op *w)
{
    return !(w->flags & (LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH));
}

static struct lpo_group group_gpu_ops(const struct lpo_trace *t)
{
    size_t n = t->processes.len;
    struct lpo_group g = { lpo_xrealloc(NULL, t->gpu_ops.len + 1, sizeof *g.rows),
                           lpo_xcalloc(n + 1, sizeof *g.starts) };
    size_t *at = lpo_xcalloc(n + 1, sizeof *at);

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        g.starts[t->gpu_ops.at[i].process] += has_times(&t->gpu_ops.at[i]);
    add_up(g.starts, n);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (has_times(&t->gpu_ops.at[i])) {
            uint16_t p = t->gpu_ops.at[i].process;

            g.rows[g.starts[p] + at[p]++] = (uint32_t)i;
        }
    for (size_t i = 0; i < n; i++)
        lpo_region_order_sort(g.rows + g.starts[i], g.starts[i + 1] - g.starts[i], op_before, t);
    free(at);
    return g;
}

/* Calls of which `wanted`, per name, says so; NULL: all. */
static struct lpo_group group_calls(const struct lpo_trace *t, const bool *wanted)
{
    size_t n = t->threads.len;
    struct lpo_group g = { NULL, lpo_xcalloc(n + 1, sizeof *g.starts) };
    size_t *at = lpo_xcalloc(n + 1, sizeof *at);

    for (size_t i = 0; i < t->calls.len; i++)
        g.starts[t->calls.at[i].thread] += !wanted || wanted[t->calls.at[i].name];
    add_up(g.starts, n);
    g.rows = lpo_xrealloc(NULL, g.starts[n] + 1, sizeof *g.rows);
    for (size_t i = 0; i < t->calls.len; i++)
        if (!wanted || wanted[t->calls.at[i].name]) {
            uint32_t thread = t->calls.at[i].thread;

            g.rows[g.starts[thread] + at[thread]++] = (uint32_t)i;
        }
    for (size_t i = 0; i < n; i++)
        lpo_region_order_sort(g.rows + g.starts[i], g.starts[i + 1] - g.starts[i], call_before, t);
    free(at);
    return g;
}

static void sort_threads(const struct lpo_trace *t, struct lpo_group *g, lpo_before *before)
{
    for (size_t i = 0; i < t->threads.len; i++)
        lpo_region_order_sort(g->rows + g->starts[i], g->starts[i + 1] - g->starts[i], before, t);
}

void lpo_critical_rows_find(struct critical_rows *r, const struct lpo_trace *t)
{
    bool *waits = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *waits);

    for (uint32_t i = 0; i < lpo_trace_name_count(t); i++)
        waits[i] = lpo_critical_waits(lpo_trace_text(t, i));
    r->gpu_ops = group_gpu_ops(t);
    r->waits = group_calls(t, waits);
    r->calls = group_calls(t, NULL);
    r->launches = lpo_region_group_launches(t);
    r->ops = lpo_region_group_ops(t);
    sort_threads(t, &r->launches, lpo_region_launch_before);
    sort_threads(t, &r->ops, host_op_before);
    r->call_of = lpo_xrealloc(NULL, t->launches.len + 1, sizeof *r->call_of);
    for (size_t i = 0; i < t->launches.len; i++)
        r->call_of[i] = LPO_NONE;
    free(waits);
}

void lpo_critical_rows_free(struct critical_rows *r)
{
    lpo_region_group_free(&r->gpu_ops);
    lpo_region_group_free(&r->waits);
    lpo_region_group_free(&r->calls);
    lpo_region_group_free(&r->launches);
    lpo_region_group_free(&r->ops);
    free(r->call_of);
}
