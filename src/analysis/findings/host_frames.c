/* SPDX-License-Identifier: Apache-2.0 */
/* What the launching thread was in during each gap: the innermost operator, and the innermost
 * Python function, that covers at least half of it. What covers half of a gap covers its middle, so
 * one walk over the middles in order of time finds all of them. */
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/private.h"
#include "region/thread_rows.h"
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

static int64_t middle(const struct lpo_findings_gap *g)
{
    return g->start_ns + g->ns / 2;
}

static int by_thread_and_middle(const void *x, const void *y)
{
    const struct lpo_findings_gap *a = x, *b = y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return middle(a) < middle(b) ? -1 : middle(a) > middle(b);
}

/* By thread and start, outer frames first. */
static bool comes_before(const void *side, uint32_t x, uint32_t y)
{
    struct frame a = frame_at(side, x), b = frame_at(side, y);

    if (a.thread != b.thread)
        return a.thread < b.thread;
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
}

static bool is_over(const struct lpo_findings_gap *g, const struct frame *f)
{
    return g->thread < f->thread || (g->thread == f->thread && middle(g) < f->start_ns);
}

/* The first gap whose middle is not before the frame. Frames come nearly in order of time, so the
 * search begins at the answer for the one before and doubles its steps. */
static size_t first_gap(const lpo_findings_gaps *gaps, const struct frame *f, size_t hint)
{
    size_t low, high, step = 1;

    if (hint < gaps->len && is_over(&gaps->at[hint], f)) {
        for (low = hint + 1; low + step < gaps->len && is_over(&gaps->at[low + step], f); step *= 2)
            low += step;
        high = low + step < gaps->len ? low + step : gaps->len;
    } else {
        for (high = hint; high > step && !is_over(&gaps->at[high - step], f); step *= 2)
            high -= step;
        low = high > step ? high - step : 0;
    }
    while (low < high) {
        size_t at = low + (high - low) / 2;

        if (is_over(&gaps->at[at], f))
            low = at + 1;
        else
            high = at;
    }
    return low;
}

/* Most frames lie between two gaps: only those around the middle of one are kept. */
static void keep_those_around(struct side *s, const lpo_findings_gaps *gaps)
{
    size_t count = s->python ? s->trace->python.len : s->trace->ops.len, at = 0;

    for (size_t i = 0; i < count; i++) {
        struct frame f = frame_at(s, i);

        at = first_gap(gaps, &f, at);
        if (at < gaps->len && gaps->at[at].thread == f.thread && middle(&gaps->at[at]) <= f.end_ns)
            lpo_vec_push(&s->rows, (uint32_t)i);
    }
    lpo_region_order_sort(s->rows.at, s->rows.len, comes_before, s);
}

static bool covers_half(const struct lpo_findings_gap *g, const struct frame *f)
{
    int64_t end_ns = g->start_ns + g->ns;
    int64_t from = f->start_ns > g->start_ns ? f->start_ns : g->start_ns;
    int64_t to = f->end_ns < end_ns ? f->end_ns : end_ns;

    return to > from && to - from >= g->ns - (to - from);
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
static uint32_t choose(const struct lpo_trace *t, const struct lpo_findings_gap *g,
                       const frames *open, bool python)
{
    size_t least = open->len > MOST_FRAMES ? open->len - MOST_FRAMES : 0;
    uint32_t inner = LPO_NONE;

    for (size_t i = open->len; i-- > least;) {
        const struct frame *f = &open->at[i];
        const char *name = lpo_trace_text(t, f->name);

        if (!covers_half(g, f) || (python && !is_source_line(name)))
            continue;
        if (!python || !is_torch(name))
            return f->name;
        if (inner == LPO_NONE)
            inner = f->name;
    }
    return inner;
}

/* Opens what began until the middle of the gap, and closes what ended before it. */
static void open_until(const struct side *s, const struct lpo_findings_gap *g, size_t *next,
                       frames *open)
{
    for (; *next < s->rows.len; ++*next) {
        struct frame f = frame_at(s, s->rows.at[*next]);

        if (f.thread > g->thread || (f.thread == g->thread && f.start_ns > middle(g)))
            break;
        while (open->len && open->at[open->len - 1].end_ns < f.start_ns)
            open->len--;
        if (f.thread == g->thread)
            lpo_vec_push(open, f);
    }
    while (open->len && open->at[open->len - 1].end_ns < middle(g))
        open->len--;
}

static void walk(const struct lpo_trace *t, lpo_findings_gaps *gaps, bool python)
{
    struct side s = { .trace = t, .python = python };
    frames open = { 0 };
    size_t next = 0;

    keep_those_around(&s, gaps);
    for (size_t i = 0; i < gaps->len; i++) {
        struct lpo_findings_gap *g = &gaps->at[i];

        if (g->thread == LPO_NONE)
            break; /* the last in order */
        if (i && g->thread != gaps->at[i - 1].thread)
            open.len = 0;
        open_until(&s, g, &next, &open);
        *(python ? &g->python_name : &g->operator_name) = choose(t, g, &open, python);
    }
    lpo_vec_free(&open);
    lpo_vec_free(&s.rows);
}

void lpo_findings_host_frames(const struct lpo_trace *t, lpo_findings_gaps *gaps)
{
    if (!gaps->len)
        return;
    qsort(gaps->at, gaps->len, sizeof *gaps->at, by_thread_and_middle);
    walk(t, gaps, false);
    walk(t, gaps, true);
}
