/* SPDX-License-Identifier: Apache-2.0 */
/* What the launching thread was in during each gap: the innermost operator, and the innermost
 * Python function, that covers at least half of it. What covers half of a gap covers its middle, so
 * one walk over the middles in order of time finds all of them. */
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/private.h"
#include "util/xmalloc.h"

/* Frames that are looked at from the inside out; real stacks of a gap are less deep. */
enum { MOST_FRAMES = 256 };

struct frame {
    int64_t start_ns, end_ns;
    uint32_t name, thread;
};

typedef LPO_VEC(struct frame) frames;

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

/* Outer frames first. */
static int by_thread_and_start(const void *x, const void *y)
{
    const struct frame *a = x, *b = y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* Most operators lie between two gaps: only those around the middle of one are kept and sorted. */
static bool around_a_middle(const lpo_findings_gaps *gaps, const struct frame *f)
{
    size_t low = 0, high = gaps->len;

    while (low < high) {
        size_t at = low + (high - low) / 2;
        const struct lpo_findings_gap *g = &gaps->at[at];

        if (g->thread < f->thread || (g->thread == f->thread && middle(g) < f->start_ns))
            low = at + 1;
        else
            high = at;
    }
    return low < gaps->len && gaps->at[low].thread == f->thread &&
           middle(&gaps->at[low]) <= f->end_ns;
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

static void walk(const struct lpo_trace *t, lpo_findings_gaps *gaps, frames *all, bool python)
{
    frames open = { 0 };
    size_t next = 0;

    if (all->len)
        qsort(all->at, all->len, sizeof *all->at, by_thread_and_start);
    for (size_t i = 0; i < gaps->len; i++) {
        struct lpo_findings_gap *g = &gaps->at[i];
        uint32_t *to = python ? &g->python_name : &g->operator_name;

        if (g->thread == LPO_NONE)
            break; /* the last in order */
        if (i && g->thread != gaps->at[i - 1].thread)
            open.len = 0;
        for (; next < all->len &&
               (all->at[next].thread < g->thread ||
                (all->at[next].thread == g->thread && all->at[next].start_ns <= middle(g)));
             next++) {
            while (open.len && open.at[open.len - 1].end_ns < all->at[next].start_ns)
                open.len--;
            if (all->at[next].thread == g->thread)
                lpo_vec_push(&open, all->at[next]);
        }
        while (open.len && open.at[open.len - 1].end_ns < middle(g))
            open.len--;
        *to = choose(t, g, &open, python);
    }
    lpo_vec_free(&open);
}

void lpo_findings_host_frames(const struct lpo_trace *t, lpo_findings_gaps *gaps)
{
    frames all = { 0 };

    if (!gaps->len)
        return;
    qsort(gaps->at, gaps->len, sizeof *gaps->at, by_thread_and_middle);
    for (size_t i = 0; i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];
        struct frame f = { o->start_ns, o->end_ns, o->name, o->thread };

        if (around_a_middle(gaps, &f))
            lpo_vec_push(&all, f);
    }
    walk(t, gaps, &all, false);
    all.len = 0;
    for (size_t i = 0; i < t->python.len; i++) {
        const struct lpo_python_call *p = &t->python.at[i];
        struct frame f = { p->start_ns, p->end_ns, p->name, p->thread };

        if (around_a_middle(gaps, &f))
            lpo_vec_push(&all, f);
    }
    walk(t, gaps, &all, true);
    lpo_vec_free(&all);
}
