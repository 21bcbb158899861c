/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/check_trace.h - what must hold for any trace, whatever bytes it was read from. */
#pragma once

#include <stdlib.h>

#include "trace/trace.h"

static inline void insist(int truth)
{
    if (!truth)
        abort();
}

static inline void check_stack(const struct lpo_trace *t, uint32_t stack)
{
    insist(stack == LPO_NONE || stack < t->stacks.len);
}

static inline void check_gpu_ops(const struct lpo_trace *t)
{
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        insist(w->name < lpo_trace_name_count(t) && w->end_ns >= w->start_ns);
        insist(w->device < t->devices.len && w->process < t->processes.len);
        insist(w->launch == LPO_NONE || w->launch < t->launches.len);
        check_stack(t, w->stack);
        insist(w->capture == LPO_NONE || w->capture < t->captures.len);
        insist(w->shape == LPO_NONE || w->shape < t->shapes.len);
        insist(w->metrics == LPO_NONE || w->metrics < t->nmetric_rows);
    }
}

/* What a reader summed instead of keeping it. */
static inline void check_sums(const struct lpo_trace *t)
{
    for (size_t i = 0; i < t->paths.len; i++)
        insist((t->paths.at[i].parent == LPO_NONE || t->paths.at[i].parent < i) &&
               t->paths.at[i].name < lpo_trace_name_count(t) && t->paths.at[i].host_ns >= 0 &&
               t->paths.at[i].child_ns >= 0 && t->paths.at[i].depth < LPO_PATH_DEPTH &&
               t->paths.at[i].domain < t->domains.len && t->paths.at[i].thread < t->threads.len);
    for (size_t i = 0; i < t->open_paths.len; i++)
        insist(
            t->open_paths.at[i].path < t->paths.len &&
            (t->open_paths.at[i].around == LPO_NONE || t->open_paths.at[i].around < t->paths.len));
    for (size_t i = 0; i < t->launches.len; i++)
        insist(t->launches.at[i].path <= t->paths.len);
    for (size_t i = 0; i < t->captures.len; i++)
        insist(t->captures.at[i].path <= t->paths.len);
    for (size_t i = 0; i < t->summaries.len; i++)
        if (t->summaries.at[i].placed) {
            const struct lpo_summary *s = &t->summaries.at[i];

            insist(s->device < t->devices.len && s->process < t->processes.len);
            insist(s->capture == LPO_NONE || s->capture < t->captures.len);
            insist(s->unknown <= s->count && s->total_ns >= 0);
            check_stack(t, s->stack);
        }
}

/* Quantities over time, and what was said about collectives. */
static inline void check_series(const struct lpo_trace *t)
{
    for (size_t i = 0; i < t->series.len; i++) {
        const struct lpo_series *s = &t->series.at[i];

        insist(s->device < t->devices.len && s->name < lpo_trace_name_count(t) &&
               s->points.len > 0 && s->points.len <= s->seen);
        for (size_t k = 0; k < s->points.len; k++)
            insist(s->points.at[k].value == s->points.at[k].value &&
                   (k == 0 || s->points.at[k - 1].ns <= s->points.at[k].ns));
    }
    for (size_t i = 0; i < t->collectives.len; i++)
        insist(t->collectives.at[i].op < t->gpu_ops.len &&
               t->collectives.at[i].kind < lpo_trace_name_count(t) &&
               (i == 0 || t->collectives.at[i - 1].op < t->collectives.at[i].op));
}

static inline void check_memory(const struct lpo_trace *t)
{
    for (size_t i = 0; i < t->allocators.len; i++)
        insist(t->allocators.at[i].device < t->devices.len);
    for (size_t i = 0; i < t->memory_events.len; i++) {
        const struct lpo_memory_event *e = &t->memory_events.at[i];

        insist(e->allocator < t->allocators.len &&
               (e->thread == LPO_NONE || e->thread < t->threads.len) &&
               (e->owner == LPO_NONE || e->owner < t->memory_owners.len));
    }
    for (size_t i = 0; i < t->rules.len; i++)
        insist(t->rules.at[i].op < t->gpu_ops.len && t->rules.at[i].text < lpo_trace_name_count(t));
    for (size_t i = 0; i < t->memory_pools.len; i++)
        insist(t->memory_pools.at[i].allocator < t->allocators.len);
}

static inline void check_trace(const struct lpo_trace *t)
{
    size_t names = lpo_trace_name_count(t);

    check_gpu_ops(t);
    check_series(t);
    check_memory(t);
    for (size_t i = 0; i < t->launches.len; i++)
        insist(t->launches.at[i].thread < t->threads.len &&
               t->launches.at[i].end_ns >= t->launches.at[i].start_ns);
    for (size_t i = 0; i < t->captures.len; i++)
        insist(t->captures.at[i].thread == LPO_NONE || t->captures.at[i].thread < t->threads.len);
    for (size_t i = 0; i < t->ranges.len; i++)
        insist(t->ranges.at[i].thread < t->threads.len && t->ranges.at[i].name < names &&
               t->ranges.at[i].domain < t->domains.len &&
               t->ranges.at[i].end_ns >= t->ranges.at[i].start_ns);
    for (size_t i = 0; i < t->ops.len; i++)
        insist(t->ops.at[i].thread < t->threads.len && t->ops.at[i].name < names &&
               t->ops.at[i].end_ns >= t->ops.at[i].start_ns);
    for (size_t i = 0; i < t->captured_launches.len; i++)
        insist(t->captured_launches.at[i].thread < t->threads.len &&
               t->captured_launches.at[i].graph < t->captured_graphs &&
               t->captured_launches.at[i].end_ns >= t->captured_launches.at[i].start_ns);
    for (size_t i = 0; i < t->op_links.len; i++)
        insist(t->op_links.at[i].forward < t->ops.len && t->op_links.at[i].backward < t->ops.len &&
               (i == 0 || t->op_links.at[i - 1].backward <= t->op_links.at[i].backward));
    for (size_t i = 0; i < t->stacks.len; i++)
        insist((size_t)t->stacks.at[i].first + t->stacks.at[i].count <= t->frames.len);
    for (size_t i = 0; i < t->frames.len; i++)
        insist(t->frames.at[i].name < names && t->frames.at[i].domain < t->domains.len);
    for (size_t i = 0; i < t->threads.len; i++)
        insist(t->threads.at[i].process < t->processes.len);
    for (size_t i = 0; i < t->summaries.len; i++)
        insist(t->summaries.at[i].name < names);
    check_sums(t);
    for (size_t i = 0; i < t->notes.len; i++)
        insist(t->notes.at[i].text < names);
}
