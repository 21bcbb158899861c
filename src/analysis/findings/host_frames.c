/* SPDX-License-Identifier: Apache-2.0 */
/* What the launching thread was in during each gap: the innermost operator, and the innermost
 * Python function, that covers at least half of it. What covers half of a gap covers its middle, so
 * one walk over the middles in order of time finds all of them. */
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/private.h"
#include "region/thread_rows.h"
#include "util/search.h"
#include "util/xmalloc.h"

/* Frames that are looked at from the inside out; real stacks of a gap are less deep. */
enum { MOST_FRAMES = 256 };

struct frame {
    int64_t start_ns, end_ns;
    uint32_t name, thread;
};

typedef LPO_VEC(struct frame) frames;

/* Operators or Python functions. A trace has millions, and many of them lie around a gap: what is
 * kept and sorted are their rows. */
struct side {
    const struct lpo_trace *trace;
    bool python;
    LPO_VEC(uint32_t) rows;
};

static struct frame frame_at(const struct side *s, size_t row)
{
    const struct lpo_op *o;
    const struct lpo_python_call *p;

    if (s->python) {
        p = &s->trace->python.at[row];
        return (struct frame){ p->start_ns, p->end_ns, p->name, p->thread };
    }
    o = &s->trace->ops.at[row];
    return (struct frame){ o->start_ns, o->end_ns, o->name, o->thread };
}

static int64_t middle(const struct lpo_trace *t, const struct lpo_findings_gap *g)
{
    return lpo_findings_gap_start(t, g) + g->ns / 2;
}

static uint32_t thread_of(const struct lpo_trace *t, const struct lpo_findings_gap *g)
{
    uint32_t launch = t->gpu_ops.at[g->op].launch;

    return launch == LPO_NONE ? LPO_NONE : t->launches.at[launch].thread;
}

/* By thread and start, outer frames first. */
static bool comes_before(const void *side, uint32_t x, uint32_t y)
{
    struct frame a = frame_at(side, x), b = frame_at(side, y);

    if (a.thread != b.thread)
        return a.thread < b.thread;
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
}

static bool is_over(const struct lpo_trace *t, const struct lpo_findings_gap *g,
                    const struct frame *f)
{
    uint32_t thread = thread_of(t, g);

    return thread < f->thread || (thread == f->thread && middle(t, g) < f->start_ns);
}

/* The first gap whose middle is not before the frame. Frames come nearly in order of time, so the
 * search begins at the answer for the one before and doubles its steps. */
static size_t first_gap(const struct lpo_trace *t, const lpo_findings_gaps *gaps,
                        const struct frame *f, size_t hint)
{
    size_t low, high, step = 1;

    if (hint < gaps->len && is_over(t, &gaps->at[hint], f)) {
        for (low = hint + 1; low + step < gaps->len && is_over(t, &gaps->at[low + step], f);
             step *= 2)
            low += step;
        high = low + step < gaps->len ? low + step : gaps->len;
    } else {
        for (high = hint; high > step && !is_over(t, &gaps->at[high - step], f); step *= 2)
            high -= step;
        low = high > step ? high - step : 0;
    }
    lpo_search(low, high, at, is_over(t, &gaps->at[at], f));
    return low;
}

/* A stretch of one thread in which no gap has its middle: a frame inside it is around none. */
struct between {
    uint32_t thread;
    int64_t after_ns, before_ns; /* neither is part of it */
};

/* The stretch that ends with the gap at `at`, for frames of `thread`. */
static struct between stretch_before(const struct lpo_trace *t, const lpo_findings_gaps *gaps,
                                     size_t at, uint32_t thread)
{
    struct between b = { thread, INT64_MIN, INT64_MAX };

    if (at > 0 && thread_of(t, &gaps->at[at - 1]) == thread)
        b.after_ns = middle(t, &gaps->at[at - 1]);
    if (at < gaps->len && thread_of(t, &gaps->at[at]) == thread)
        b.before_ns = middle(t, &gaps->at[at]);
    return b;
}

/* Most frames lie between two gaps: only those around the middle of one are kept. */
static void keep_those_around(struct side *s, const lpo_findings_gaps *gaps)
{
    size_t count = s->python ? s->trace->python.len : s->trace->ops.len, at = 0;
    struct between quiet = { .thread = LPO_NONE };

    for (size_t i = 0; i < count; i++) {
        struct frame f = frame_at(s, i);

        if (f.thread != quiet.thread || f.start_ns <= quiet.after_ns ||
            f.start_ns > quiet.before_ns) {
            at = first_gap(s->trace, gaps, &f, at);
            quiet = stretch_before(s->trace, gaps, at, f.thread);
        }
        if (quiet.before_ns <= f.end_ns && at < gaps->len &&
            thread_of(s->trace, &gaps->at[at]) == f.thread)
            lpo_vec_push(&s->rows, (uint32_t)i);
    }
    lpo_region_order_sort(s->rows.at, s->rows.len, comes_before, s);
}

/* The part of a gap that lies in a frame. */
static int64_t covered(const struct lpo_trace *t, const struct lpo_findings_gap *g,
                       const struct frame *f)
{
    int64_t start_ns = lpo_findings_gap_start(t, g), end_ns = start_ns + g->ns;
    int64_t from = f->start_ns > start_ns ? f->start_ns : start_ns;
    int64_t to = f->end_ns < end_ns ? f->end_ns : end_ns;

    return to > from ? to - from : 0;
}

/* "train.py(12): step" is a place that a reader can open; a built-in function is not. */
static bool is_source_line(const char *name)
{
    return strstr(name, ".py(") != NULL;
}

/* Frames of PyTorch itself lie between the program and what it calls. */
static bool is_torch(const char *name)
{
    return strncmp(name, "torch/", 6) == 0 || strstr(name, "/torch/") != NULL;
}

/* From the inside out: the first; of Python functions the first with a source line outside PyTorch,
 * else the first with any. */
static const struct frame *choose(const struct lpo_trace *t, const struct lpo_findings_gap *g,
                                  const frames *open, bool python)
{
    size_t least = open->len > MOST_FRAMES ? open->len - MOST_FRAMES : 0;
    const struct frame *inner = NULL;

    for (size_t i = open->len; i-- > least;) {
        const struct frame *f = &open->at[i];
        const char *name = lpo_trace_text(t, f->name);
        int64_t ns = covered(t, g, f);

        if (!ns || ns < g->ns - ns || (python && !is_source_line(name)))
            continue;
        if (!python || !is_torch(name))
            return f;
        if (!inner)
            inner = f;
    }
    return inner;
}

/* Opens what began until the middle of the gap, and closes what ended before it. */
static void open_until(const struct side *s, uint32_t thread, int64_t middle_ns, size_t *next,
                       frames *open)
{
    for (; *next < s->rows.len; ++*next) {
        struct frame f = frame_at(s, s->rows.at[*next]);

        if (f.thread > thread || (f.thread == thread && f.start_ns > middle_ns))
            break;
        while (open->len && open->at[open->len - 1].end_ns < f.start_ns)
            open->len--;
        if (f.thread == thread)
            lpo_vec_push(open, f);
    }
    while (open->len && open->at[open->len - 1].end_ns < middle_ns)
        open->len--;
}

void lpo_findings_host_frames(const struct lpo_trace *t, const lpo_findings_gaps *gaps, bool python,
                              lpo_findings_frame_fn *found, void *ctx)
{
    struct side s = { .trace = t, .python = python };
    uint32_t thread = LPO_NONE;
    frames open = { 0 };
    size_t next = 0;

    if (gaps->len)
        keep_those_around(&s, gaps);
    for (size_t i = 0; i < gaps->len && s.rows.len; i++) {
        const struct lpo_findings_gap *g = &gaps->at[i];
        const struct frame *f;
        uint32_t of = thread_of(t, g);

        if (of == LPO_NONE)
            break; /* the last in order */
        if (of != thread)
            open.len = 0;
        thread = of;
        open_until(&s, thread, middle(t, g), &next, &open);
        f = choose(t, g, &open, python);
        if (f)
            found(ctx, g, f->name, covered(t, g, f));
    }
    lpo_vec_free(&open);
    lpo_vec_free(&s.rows);
}

static bool is_by_thread(const struct lpo_trace *t, const lpo_findings_gaps *gaps)
{
    for (size_t i = 1; i < gaps->len; i++)
        if (thread_of(t, &gaps->at[i]) < thread_of(t, &gaps->at[i - 1]))
            return false;
    return true;
}

struct ordering {
    const struct lpo_trace *trace;
    const lpo_findings_gaps *gaps;
};

static bool lower_thread(const void *ordering, uint32_t a, uint32_t b)
{
    const struct ordering *o = ordering;

    return thread_of(o->trace, &o->gaps->at[a]) < thread_of(o->trace, &o->gaps->at[b]);
}

void lpo_findings_gaps_by_thread(const struct lpo_trace *t, lpo_findings_gaps *gaps)
{
    struct ordering o = { t, gaps };
    lpo_findings_gaps sorted = { 0 };
    uint32_t *order;

    if (is_by_thread(t, gaps)) /* nearly always: one thread launches */
        return;
    order = lpo_xrealloc(NULL, gaps->len, sizeof *order);
    for (size_t i = 0; i < gaps->len; i++)
        order[i] = (uint32_t)i;
    lpo_region_order_sort(order, gaps->len, lower_thread, &o);
    for (size_t i = 0; i < gaps->len; i++)
        lpo_vec_push(&sorted, gaps->at[order[i]]);
    free(order);
    lpo_vec_free(gaps);
    *gaps = sorted;
}
