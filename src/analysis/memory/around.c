/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/memory/around.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps/steps.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/map.h"
#include "util/search.h"
#include "util/str.h"
#include "util/vec.h"

enum kind { RANGE, MODULE, FUNCTION, OPERATOR };

/* Frames that are open at one time on one thread; those further in are passed over. */
enum { MOST_OPEN = 2048 };

static const char engine_prefix[] = "autograd::engine::evaluate_function: ";

struct frame {
    int64_t start_ns, end_ns;
    uint32_t name, args, thread, sequence;
    uint8_t kind;
};

struct around {
    const struct lpo_trace *t;
    struct lpo_arena *a;
    struct lpo_memory_moment *moments;
    size_t count;
    size_t *first; /* per thread: its first moment; one more at the end */
    LPO_VEC(struct frame) frames;
    struct lpo_map *places; /* a path once */
};

static int by_thread(const void *x, const void *y)
{
    const struct lpo_memory_moment *a = x, *b = y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

/* As they nest: outer ones first. */
static int by_start(const void *x, const void *y)
{
    const struct frame *a = x, *b = y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

/* A trace has millions of frames and few of them are open when memory is asked for. */
static void offer(struct around *r, const struct frame *f)
{
    size_t low = r->first[f->thread], high = r->first[f->thread + 1], end = high;

    lpo_search(low, high, middle, r->moments[middle].ns < f->start_ns);
    if (low < end && r->moments[low].ns <= f->end_ns)
        lpo_vec_push(&r->frames, *f);
}

static void gather(struct around *r)
{
    const struct lpo_trace *t = r->t;
    struct lpo_step_facts facts;
    int family;

    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *g = &t->ranges.at[i];

        /* a step of its own for each owner would tear apart what belongs together */
        if (g->kind == LPO_PUSH_POP &&
            !lpo_steps_read_name(lpo_trace_text(t, g->name), &family, &facts))
            offer(r, &(struct frame){ g->start_ns, g->end_ns, g->name, LPO_NONE, g->thread,
                                      LPO_NONE, RANGE });
    }
    for (size_t i = 0; i < t->python.len; i++) {
        const struct lpo_python_call *p = &t->python.at[i];
        bool module = lpo_str_starts(lpo_trace_text(t, p->name), LPO_MODULE_PREFIX);

        offer(r, &(struct frame){ p->start_ns, p->end_ns, p->name, LPO_NONE, p->thread, LPO_NONE,
                                  module ? MODULE : FUNCTION });
    }
    for (size_t i = 0; i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];

        offer(r, &(struct frame){ o->start_ns, o->end_ns, o->name, o->args, o->thread, o->sequence,
                                  OPERATOR });
    }
    if (r->frames.len)
        qsort(r->frames.at, r->frames.len, sizeof *r->frames.at, by_start);
}

static bool is_of_torch(const char *function)
{
    return function[0] == '<' || lpo_str_starts(function, "torch/") ||
           strstr(function, "/torch/") != NULL;
}

static const char *kept(struct around *r, const char *text, size_t len)
{
    bool fresh;
    uint64_t *at = lpo_map_put(r->places, text, len, &fresh);

    if (fresh)
        *at = (uint64_t)(uintptr_t)lpo_arena_name(r->a, text, len);
    return (const char *)(uintptr_t)*at;
}

/* The path of ranges and modules, else the innermost function; *inner: where its operators begin.
 */
static const char *place_of(struct around *r, const struct frame *const *open, size_t count,
                            size_t *inner)
{
    const char *function = NULL;
    LPO_STR path = { 0 };

    *inner = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = lpo_trace_text(r->t, open[i]->name);

        if (open[i]->kind == FUNCTION && !is_of_torch(name))
            function = name;
        if (open[i]->kind != RANGE && open[i]->kind != MODULE)
            continue;
        lpo_str_add(&path, path.len ? "/" : "");
        lpo_str_add(&path, open[i]->kind == MODULE ? name + strlen(LPO_MODULE_PREFIX) : name);
        *inner = i + 1;
    }
    if (path.len)
        return kept(r, lpo_str_text(&path), path.len);
    return function ? kept(r, function, strlen(function)) : NULL;
}

/* The outermost operator from `inner` on, the work of autograd's engine by the name of its node. */
static void find_op(const struct around *r, const struct frame *const *open, size_t inner,
                    size_t count, struct lpo_memory_moment *m)
{
    const struct frame *found = NULL;

    for (size_t i = inner; i < count; i++) {
        bool engine = open[i]->kind == OPERATOR &&
                      lpo_str_starts(lpo_trace_text(r->t, open[i]->name), engine_prefix);

        if (open[i]->kind != OPERATOR)
            continue;
        found = open[i];
        if (!engine)
            break;
    }
    if (!found)
        return;
    m->op = found->name;
    if (found->args != LPO_NONE)
        m->shapes = r->t->op_args.at[found->args].dims;
}

/* Nodes of autograd have the number of the operator that made them. */
static bool is_backward(const char *name)
{
    return strstr(name, "Backward") != NULL || lpo_str_starts(name, engine_prefix);
}

static void describe(struct around *r, const struct frame *const *open, size_t count,
                     struct lpo_memory_moment *m)
{
    size_t inner;

    m->place = place_of(r, open, count, &inner);
    find_op(r, open, inner, count, m);
    for (size_t i = 0; i < count && !m->place; i++)
        if (open[i]->sequence != LPO_NONE && is_backward(lpo_trace_text(r->t, open[i]->name)))
            m->sequence = open[i]->sequence;
    if (m->op == LPO_NONE) /* a range may have begun inside of an operator */
        find_op(r, open, 0, inner, m);
}

struct open_frames {
    const struct frame **at; /* those that have begun and may not have ended, outer ones first */
    size_t len;
};

static void close_ended(struct open_frames *o, int64_t ns)
{
    size_t to = 0;

    for (size_t k = 0; k < o->len; k++)
        if (o->at[k]->end_ns >= ns)
            o->at[to++] = o->at[k];
    o->len = to;
}

/* Moments and frames in one order. */
static void sweep(struct around *r)
{
    struct open_frames open = { lpo_xcalloc(MOST_OPEN, sizeof *open.at), 0 };
    uint32_t thread = LPO_NONE;
    size_t next = 0;

    for (size_t i = 0; i < r->count; i++) {
        struct lpo_memory_moment *m = &r->moments[i];

        if (m->thread != thread)
            open.len = 0;
        thread = m->thread;
        close_ended(&open, m->ns);
        for (; next < r->frames.len; next++) {
            const struct frame *f = &r->frames.at[next];

            if (f->thread > thread || (f->thread == thread && f->start_ns > m->ns))
                break;
            if (f->thread == thread && f->end_ns >= m->ns && open.len < MOST_OPEN)
                open.at[open.len++] = f;
        }
        describe(r, open.at, open.len, m);
    }
    free(open.at);
}

static void look_around(const struct lpo_trace *t, struct lpo_arena *a,
                        struct lpo_memory_moment *moments, size_t count)
{
    struct around r = { .t = t, .a = a, .moments = moments, .count = count };
    size_t at = 0;

    qsort(moments, count, sizeof *moments, by_thread);
    r.first = lpo_xcalloc(t->threads.len + 1, sizeof *r.first);
    for (size_t i = 0; i <= t->threads.len; i++) {
        while (at < count && moments[at].thread < i)
            at++;
        r.first[i] = at;
    }
    r.places = lpo_map_create();
    gather(&r);
    sweep(&r);
    lpo_vec_free(&r.frames);
    lpo_map_destroy(r.places);
    free(r.first);
}

/* --- the backward pass ---------------------------------------------------------------------- */

/* Threads on which autograd works. */
static bool *backward_threads(const struct lpo_trace *t)
{
    bool *is = lpo_xcalloc(t->threads.len + 1, sizeof *is);

    for (size_t i = 0; i < t->ops.len; i++)
        is[t->ops.at[i].thread] |= t->ops.at[i].forward_thread != 0;
    return is;
}

/* The forward operator of each number that is wanted. Operators that make no node have the number
 * that comes next: of all with one number the last is the one that made it. What autograd's own
 * threads compute again has numbers of theirs, and counts where no other thread has that number. */
static struct lpo_map_u64 *find_forward(const struct lpo_trace *t,
                                        const struct lpo_memory_moment *moments, size_t count)
{
    struct lpo_map_u64 *ops = lpo_map_u64_create(0);
    bool *backward = backward_threads(t);

    for (size_t i = 0; i < count; i++)
        if (!moments[i].place && moments[i].sequence != LPO_NONE)
            lpo_map_u64_put(ops, moments[i].sequence, NULL);
    for (size_t i = 0; lpo_map_u64_count(ops) && i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i], *was;
        uint32_t *known = o->sequence == LPO_NONE ? NULL : lpo_map_u64_find(ops, o->sequence);

        if (!known || is_backward(lpo_trace_text(t, o->name)))
            continue;
        was = *known == UINT32_MAX ? NULL : &t->ops.at[*known];
        if (!was || (backward[was->thread] && !backward[o->thread]) ||
            (backward[was->thread] == backward[o->thread] && o->start_ns > was->start_ns))
            *known = (uint32_t)i;
    }
    free(backward);
    return ops;
}

/* Places of moments that had none, from a second look at where their operators ran forward. */
static void look_forward(const struct lpo_trace *t, struct lpo_arena *a,
                         struct lpo_memory_moment *moments, size_t count)
{
    LPO_AUTO(lpo_map_u64) ops = find_forward(t, moments, count);
    struct lpo_memory_moment *there = lpo_xcalloc(count + 1, sizeof *there);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        const uint32_t *op = moments[i].place || moments[i].sequence == LPO_NONE
                                 ? NULL
                                 : lpo_map_u64_find(ops, moments[i].sequence);

        if (op && *op != UINT32_MAX && t->ops.at[*op].start_ns <= moments[i].ns)
            there[n++] = (struct lpo_memory_moment){ .ns = t->ops.at[*op].start_ns,
                                                     .bytes = (int64_t)i, /* whose it is */
                                                     .thread = t->ops.at[*op].thread,
                                                     .op = LPO_NONE,
                                                     .shapes = LPO_NONE,
                                                     .sequence = LPO_NONE };
    }
    if (n)
        look_around(t, a, there, n);
    for (size_t i = 0; i < n; i++) {
        moments[there[i].bytes].place = there[i].place;
        moments[there[i].bytes].backward = there[i].place != NULL;
    }
    free(there);
}

void lpo_memory_around(const struct lpo_trace *t, struct lpo_arena *a,
                       struct lpo_memory_moment *moments, size_t count)
{
    if (!count)
        return;
    look_around(t, a, moments, count);
    look_forward(t, a, moments, count);
}
