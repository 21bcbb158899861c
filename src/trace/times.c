/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/times.h"

#include "trace/trace.h"

/* Unix time in nanoseconds is near 2^61, so the clock needs that span; one event longer than 2^55
 * ns (417 days) is damage; 2^61 ns (73 years) in all leave room for sums of a few of them. */
#define CLOCK_END     ((int64_t)1 << 61)
#define LONGEST_NS    LPO_LONGEST_NS
#define LONGEST_TOTAL ((int64_t)1 << 61)

struct check {
    uint64_t damaged; /* events whose times were changed */
    int64_t total_ns;
    bool too_long;
};

struct lpo_trace_mark lpo_trace_mark(const struct lpo_trace *t)
{
    return (struct lpo_trace_mark){ .gpu_ops = t->gpu_ops.len,
                                    .launches = t->launches.len,
                                    .captures = t->captures.len,
                                    .ranges = t->ranges.len,
                                    .paths = t->paths.len,
                                    .frames = t->frames.len,
                                    .ops = t->ops.len,
                                    .summaries = t->summaries.len,
                                    .calls = t->calls.len,
                                    .python = t->python.len,
                                    .damaged = t->path_losses.damaged };
}

static inline int64_t on_clock(int64_t ns)
{
    return ns < -CLOCK_END ? -CLOCK_END : ns > CLOCK_END ? CLOCK_END : ns;
}

static inline void add(struct check *c, int64_t ns)
{
    c->total_ns += ns; /* both are at most 2^61 */
    if (c->total_ns > LONGEST_TOTAL) {
        c->too_long = true;
        c->total_ns = LONGEST_TOTAL;
    }
}

/* False: the event had to be changed. */
static inline bool check_event(struct check *c, lpo_event_ns *start_ns, lpo_event_ns *end_ns)
{
    int64_t start = on_clock(*start_ns), end = on_clock(*end_ns);
    bool good = start == *start_ns && end == *end_ns;

    if (end < start || end - start > LONGEST_NS) {
        end = start;
        good = false;
    }
    add(c, end - start);
    if (!good) {
        *start_ns = start;
        *end_ns = end;
        c->damaged++;
    }
    return good;
}

static void check_gpu_ops(struct check *c, struct lpo_trace *t, size_t from)
{
    for (size_t i = from; i < t->gpu_ops.len; i++) {
        struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        if (!check_event(c, &w->start_ns, &w->end_ns))
            w->flags |= LPO_GPU_OP_NO_LENGTH;
    }
}

static void check_ranges(struct check *c, struct lpo_trace *t, size_t from)
{
    struct check apart = { 0 }; /* ranges that the reader summed are counted with their paths */

    for (size_t i = from; i < t->ranges.len; i++) {
        struct lpo_range *r = &t->ranges.at[i];
        int64_t start = r->start_ns, end = r->end_ns; /* not aligned as an int64_t is */

        if (r->flags & LPO_RANGE_OPEN) { /* it ends with its process */
            end = t->processes.at[t->threads.at[r->thread].process].end_ns;
            end = end == LPO_NO_TIME || end < start ? start : end;
        }
        if (!check_event(r->flags & LPO_RANGE_SUMMED ? &apart : c, &start, &end)) {
            r->flags &= (uint8_t)~LPO_RANGE_OPEN;
            r->start_ns = start;
            r->end_ns = end;
        }
    }
}

/* Calls hold each other and run beside everything else, so they are no part of the total; but a
 * time outside any clock must not reach arithmetic either. */
static void check_call(struct check *c, lpo_event_ns *start_ns, lpo_event_ns *end_ns)
{
    struct check apart = { 0 };
    int64_t start = *start_ns, end = *end_ns; /* not aligned as an int64_t is */

    if (!check_event(&apart, &start, &end)) {
        *start_ns = start;
        *end_ns = end;
        c->damaged++;
    }
}

static void check_calls(struct check *c, struct lpo_trace *t, const struct lpo_trace_mark *mark)
{
    for (size_t i = mark->calls; i < t->calls.len; i++)
        check_call(c, &t->calls.at[i].start_ns, &t->calls.at[i].end_ns);
    for (size_t i = mark->python; i < t->python.len; i++)
        check_call(c, &t->python.at[i].start_ns, &t->python.at[i].end_ns);
}

/* The reader took the times of each range out that could not be. */
static void check_paths(struct check *c, const struct lpo_trace *t, size_t from)
{
    for (size_t i = from; i < t->paths.len; i++) {
        int64_t ns = t->paths.at[i].host_ns;

        add(c, ns > LONGEST_TOTAL ? LONGEST_TOTAL : ns);
    }
}

static void check_summaries(struct check *c, struct lpo_trace *t, size_t from)
{
    for (size_t i = from; i < t->summaries.len; i++) {
        struct lpo_summary *s = &t->summaries.at[i];

        if (s->total_ns == LPO_NO_TIME)
            continue;
        if (s->total_ns < 0 || s->total_ns > LONGEST_NS) {
            s->total_ns = s->min_ns = s->max_ns = LPO_NO_TIME;
            c->damaged++;
        } else {
            add(c, s->total_ns);
        }
    }
}

int lpo_trace_times_check(struct lpo_trace *t, const struct lpo_trace_mark *mark,
                          struct lpo_err *err)
{
    struct check c = { .total_ns = t->total_ns };

    for (size_t i = 0; i < t->processes.len; i++)
        if (t->processes.at[i].end_ns != LPO_NO_TIME)
            t->processes.at[i].end_ns = on_clock(t->processes.at[i].end_ns);
    check_gpu_ops(&c, t, mark->gpu_ops);
    check_ranges(&c, t, mark->ranges);
    check_paths(&c, t, mark->paths);
    c.damaged += t->path_losses.damaged - mark->damaged;
    check_summaries(&c, t, mark->summaries);
    check_calls(&c, t, mark);
    for (size_t i = mark->launches; i < t->launches.len; i++)
        check_event(&c, &t->launches.at[i].start_ns, &t->launches.at[i].end_ns);
    for (size_t i = mark->ops; i < t->ops.len; i++) {
        int64_t start = t->ops.at[i].start_ns, end = t->ops.at[i].end_ns; /* as those of ranges */

        if (!check_event(&c, &start, &end)) {
            t->ops.at[i].start_ns = start;
            t->ops.at[i].end_ns = end;
        }
    }
    for (size_t i = mark->captures; i < t->captures.len; i++)
        t->captures.at[i].ns = on_clock(t->captures.at[i].ns);
    t->total_ns = c.total_ns;
    if (c.damaged)
        lpo_trace_note(t, c.damaged,
                       "events have times that no clock can have shown, or last longer than a "
                       "year: their duration is taken as unknown");
    if (c.too_long)
        return lpo_fail(err, LPO_E_RANGE,
                        "the durations in it add up to more than 73 years: the file is damaged");
    return 0;
}
