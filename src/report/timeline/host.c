/* SPDX-License-Identifier: Apache-2.0 */
/* What the host did: operators, calls of the runtime, and from which call an operation came. */

#include "analysis/analysis.h"
#include "report/doc/doc.h"
#include "report/timeline/private.h"

const char *lpo_timeline_thread_name(struct lpo_timeline *b, uint32_t thread, const char *what)
{
    const struct lpo_trace *trace = b->a->trace;
    const struct lpo_thread *t = &trace->threads.at[thread];
    const char *name = t->name == LPO_NONE ? "" : lpo_trace_text(trace, t->name);

    return lpo_arena_printf(b->doc->arena, *name ? "thread %lld (%s), %s" : "thread %lld%s, %s",
                            (long long)t->tid, name, what);
}

static uint32_t thread_lane(struct lpo_timeline *b, uint32_t thread, const char *what)
{
    const struct lpo_thread *t = &b->a->trace->threads.at[thread];
    const struct lpo_process *p = &b->a->trace->processes.at[t->process];

    return lpo_doc_figure_lane(b->f,
                               lpo_arena_printf(b->doc->arena, "process %lld", (long long)p->pid),
                               lpo_timeline_thread_name(b, thread, what));
}

static void add_span(struct lpo_timeline *b, uint32_t *lanes, uint32_t thread, const char *what,
                     const char *name, int64_t start_ns, int64_t end_ns)
{
    if (thread >= b->a->trace->threads.len || end_ns < start_ns)
        return;
    if (lanes[thread] == LPO_NONE)
        lanes[thread] = thread_lane(b, thread, what);
    lpo_doc_figure_span(b->f, lanes[thread], name,
                        lpo_timeline_at(b, b->a->trace->threads.at[thread].process, start_ns),
                        lpo_timeline_at(b, b->a->trace->threads.at[thread].process, end_ns));
}

/* All of a kind or none: half of the calls would be a wrong picture. */
static bool has_room(struct lpo_timeline *b, size_t events, const char *what)
{
    if (events > b->left) {
        lpo_doc_note(b->doc, LPO_NOTE_INFO, "%zu %s are left out, as the file would be too large",
                     events, what);
        return false;
    }
    b->left -= events;
    return true;
}

/* A source may keep only the calls that can block: a launch without its call is a span too. */
static void add_calls(struct lpo_timeline *b)
{
    const struct lpo_trace *t = b->a->trace;
    LPO_FREED struct lpo_map_pair seen = { 0 };
    bool fresh;

    if (!has_room(b, t->calls.len + t->launches.len + t->gpu_ops.len, "calls and launches"))
        return;
    for (size_t i = 0; i < lpo_trace_call_count(t); i++) {
        struct lpo_api_call c = lpo_trace_call(t, i);

        if (!c.name)
            continue;
        lpo_map_pair_put(&seen, (uint64_t)c.start_ns, c.thread, &fresh);
        add_span(b, b->call_lanes, c.thread, "API calls", lpo_trace_text(t, c.name), c.start_ns,
                 c.end_ns);
    }
    for (size_t i = 0; i < t->launches.len; i++) {
        lpo_map_pair_put(&seen, (uint64_t)t->launches.at[i].start_ns, t->launches.at[i].thread,
                         &fresh);
        if (fresh)
            add_span(b, b->call_lanes, t->launches.at[i].thread, "API calls", "launch",
                     t->launches.at[i].start_ns, t->launches.at[i].end_ns);
    }
}

static void add_operators(struct lpo_timeline *b)
{
    const struct lpo_trace *t = b->a->trace;
    LPO_FREED uint32_t *lanes = lpo_xrealloc(NULL, t->threads.len + 1, sizeof *lanes);

    for (size_t i = 0; i <= t->threads.len; i++)
        lanes[i] = LPO_NONE;
    if (has_room(b, t->ops.len, "operators"))
        for (size_t i = 0; i < t->ops.len; i++)
            add_span(b, lanes, t->ops.at[i].thread, "operators",
                     lpo_trace_text(t, t->ops.at[i].name), t->ops.at[i].start_ns,
                     t->ops.at[i].end_ns);
}

/* Each is a span without length: viewers draw a line. */
static void add_marks(struct lpo_timeline *b)
{
    const struct lpo_trace *t = b->a->trace;
    LPO_FREED uint32_t *lanes = lpo_xrealloc(NULL, t->threads.len + 1, sizeof *lanes);

    for (size_t i = 0; i <= t->threads.len; i++)
        lanes[i] = LPO_NONE;
    if (has_room(b, t->marks.len, "marks"))
        for (size_t i = 0; i < t->marks.len; i++)
            add_span(b, lanes, t->marks.at[i].thread, "marks",
                     lpo_trace_text(t, t->marks.at[i].name), t->marks.at[i].ns, t->marks.at[i].ns);
}

void lpo_timeline_add_host(struct lpo_timeline *b)
{
    size_t threads = b->a->trace->threads.len;

    b->call_lanes = lpo_xrealloc(NULL, threads + 1, sizeof *b->call_lanes);
    for (size_t i = 0; i <= threads; i++)
        b->call_lanes[i] = LPO_NONE;
    add_operators(b);
    add_marks(b);
    add_calls(b);
}

void lpo_timeline_add_arrow(struct lpo_timeline *b, const struct lpo_gpu_op *op, uint32_t lane)
{
    const struct lpo_trace *t = b->a->trace;
    const struct lpo_launch *l = op->launch == LPO_NONE ? NULL : &t->launches.at[op->launch];

    /* an arrow back in time: clocks that do not agree */
    if (!l || l->thread >= t->threads.len || b->call_lanes[l->thread] == LPO_NONE ||
        l->start_ns > op->start_ns)
        return;
    lpo_vec_push(&b->f->arrows, (struct lpo_arrow){ lpo_timeline_at(b, op->process, l->start_ns),
                                                    lpo_timeline_at(b, op->process, op->start_ns),
                                                    b->call_lanes[l->thread], lane });
}

struct change {
    int64_t ns, by;
};

LPO_COMPARE(by_time, struct change, LPO_UP(ns));

void lpo_timeline_count_waiting(struct lpo_timeline *b, const uint32_t *ops, size_t count,
                                uint32_t lane)
{
    const struct lpo_trace *t = b->a->trace;
    LPO_FREED LPO_VEC(struct change) changes = { 0 };
    int64_t waiting = 0;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[ops[i]];

        if (op->launch == LPO_NONE || t->launches.at[op->launch].start_ns >= op->start_ns)
            continue;
        lpo_vec_push(&changes,
                     (struct change){
                         lpo_timeline_at(b, op->process, t->launches.at[op->launch].start_ns), 1 });
        lpo_vec_push(&changes,
                     (struct change){ lpo_timeline_at(b, op->process, op->start_ns), -1 });
    }
    if (changes.len > b->left)
        return;
    b->left -= changes.len;
    lpo_vec_sort(&changes, by_time);
    for (size_t i = 0; i < changes.len; i++) {
        waiting += changes.at[i].by;
        if (i + 1 == changes.len || changes.at[i + 1].ns != changes.at[i].ns)
            lpo_vec_push(&b->f->counts, (struct lpo_count){ changes.at[i].ns, (double)waiting, lane,
                                                            "operations launched, not started" });
    }
}
