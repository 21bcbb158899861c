/* SPDX-License-Identifier: Apache-2.0 */
/* tests/trace/dump.h - a trace as lines of text, so that a test can say what it wants in one. */
#pragma once

#include <math.h>

#include "region/tree.h"
#include "trace/trace.h"
#include "util/str.h"

static inline void dump_stack(struct lpo_str *s, const struct lpo_trace *t, uint32_t stack)
{
    const struct lpo_stack *k = &t->stacks.at[stack];

    for (uint32_t i = 0; i < k->count; i++) {
        const struct lpo_frame *f = &t->frames.at[k->first + i];

        lpo_str_addf(s, "%s%s%s%s", i ? "/" : "", f->kind == LPO_START_END ? "~" : "",
                     lpo_trace_text(t, t->domains.at[f->domain]), f->domain ? "@" : "");
        lpo_str_add(s, lpo_trace_text(t, f->name));
        if (f->visit)
            lpo_str_addf(s, "#%llu", (unsigned long long)f->visit);
    }
}

static inline void dump_metrics(struct lpo_str *s, const struct lpo_trace *t, uint32_t row)
{
    for (uint32_t m = 0; m < t->metrics.len; m++) {
        double v = lpo_trace_metric_get(t, row, m);

        if (!isnan(v))
            lpo_str_addf(s, " %s=%.9g%s", lpo_trace_text(t, t->metrics.at[m].name), v,
                         lpo_trace_text(t, t->metrics.at[m].unit));
    }
}

/* The path of the push/pop ranges, "" outside of all. */
static inline void dump_place(struct lpo_str *s, const struct lpo_region_tree *tree, uint32_t place)
{
    lpo_region_add_path(tree, tree->places.at[place].leaf, s);
}

static inline void dump_gpu_op(struct lpo_str *s, const struct lpo_region_tree *tree,
                               const struct lpo_gpu_op *w)
{
    const struct lpo_trace *t = tree->trace;
    static const char *const kinds[] = { "kernel", "copy", "set" };

    lpo_str_addf(s, "%s %s pid=%lld dev=%d stream=%u %lld+%lld", kinds[w->kind],
                 lpo_trace_text(t, w->name), (long long)t->processes.at[w->process].pid,
                 t->devices.at[w->device].id, w->stream, (long long)w->start_ns,
                 (long long)lpo_trace_gpu_op_ns(w));
    if (w->bytes)
        lpo_str_addf(s, " bytes=%llu", (unsigned long long)w->bytes);
    if (w->launch != LPO_NONE) {
        const struct lpo_launch *l = &t->launches.at[w->launch];

        lpo_str_addf(s, " launch=%lld..%lld@%lld", (long long)l->start_ns, (long long)l->end_ns,
                     (long long)t->threads.at[l->thread].tid);
    }
    if (w->shape != LPO_NONE) {
        const struct lpo_shape *p = &t->shapes.at[w->shape];

        lpo_str_addf(s, " %ux%ux%u,%ux%ux%u", p->grid[0], p->grid[1], p->grid[2], p->block[0],
                     p->block[1], p->block[2]);
    }
    if (w->stack != LPO_NONE) {
        lpo_str_add(s, " in=");
        dump_stack(s, t, w->stack);
    }
    if (w->capture != LPO_NONE && tree->capture_place[w->capture] != LPO_NONE) {
        lpo_str_add(s, " captured=");
        dump_place(s, tree, tree->capture_place[w->capture]);
    }
    if (w->flags)
        lpo_str_addf(s, " flags=%u", w->flags);
    if (w->metrics != LPO_NONE)
        dump_metrics(s, t, w->metrics);
    lpo_str_addc(s, '\n');
}

static inline void dump_range(struct lpo_str *s, const struct lpo_trace *t,
                              const struct lpo_range *r)
{
    const struct lpo_thread *thread = &t->threads.at[r->thread];

    lpo_str_addf(s, "%s %s%s%s pid=%lld tid=%lld %lld..%lld%s\n",
                 r->kind == LPO_PUSH_POP ? "push" : "start",
                 lpo_trace_text(t, t->domains.at[r->domain]), r->domain ? "@" : "",
                 lpo_trace_text(t, r->name), (long long)t->processes.at[thread->process].pid,
                 (long long)thread->tid, (long long)r->start_ns, (long long)r->end_ns,
                 r->flags & LPO_RANGE_OPEN ? " open" : "");
}

static inline void dump_trace(struct lpo_str *s, const struct lpo_trace *t)
{
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        dump_gpu_op(s, tree, &t->gpu_ops.at[i]);
    for (size_t i = 0; i < t->ranges.len; i++)
        dump_range(s, t, &t->ranges.at[i]);
    for (size_t i = 0; i < t->summaries.len; i++) {
        const struct lpo_summary *m = &t->summaries.at[i];

        lpo_str_addf(s, "sum %s x%llu %lld\n", lpo_trace_text(t, m->name),
                     (unsigned long long)m->count, (long long)m->total_ns);
    }
    for (size_t i = 0; i < t->notes.len; i++)
        lpo_str_addf(s, "note %llu %s\n", (unsigned long long)t->notes.at[i].count,
                     lpo_trace_text(t, t->notes.at[i].text));
}
