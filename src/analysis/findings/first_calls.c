/* SPDX-License-Identifier: Apache-2.0 */
/* The first visit of a range, or the first call of an operator with some input shapes, often loads
 * modules, tunes kernels or compiles. That cost comes once and must not be reported as the cost of
 * every step. */
#include <stdlib.h>

#include "analysis/findings/private.h"
#include "region/fold.h"
#include "util/map.h"
#include "util/xmalloc.h"

enum {
    MOST_FIRST_CALLS = 1000,
    LEAST_PART = 100 /* of the span: what a first call must cost more */
};

static int by_key_and_start(const void *x, const void *y)
{
    const struct lpo_findings_visit *a = x, *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_length(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return a < b ? -1 : a > b;
}

static int64_t excess(const struct lpo_first_call *f)
{
    return f->end_ns - f->start_ns - f->later_ns;
}

static int longest_first(const void *x, const void *y)
{
    const struct lpo_first_call *a = x, *b = y;

    if (excess(a) != excess(b))
        return excess(a) > excess(b) ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Without a GPU: of the time from the first range to the last. */
static int64_t span_of_ranges(const struct lpo_trace *t)
{
    int64_t from = INT64_MAX, to = INT64_MIN, ns;

    for (size_t i = 0; i < t->ranges.len; i++) {
        from = t->ranges.at[i].start_ns < from ? t->ranges.at[i].start_ns : from;
        to = t->ranges.at[i].end_ns > to ? t->ranges.at[i].end_ns : to;
    }
    return t->ranges.len && !__builtin_sub_overflow(to, from, &ns) ? ns : INT64_MAX;
}

static int64_t least_excess(const struct lpo_findings_work *w)
{
    return (w->out->any_device ? w->out->span_ns : span_of_ranges(w->trace)) / LEAST_PART;
}

/* `v` are the visits of one key in order of time. */
static void look(int64_t least_ns, const struct lpo_findings_visit *v, size_t count,
                 lpo_first_calls *out)
{
    struct lpo_first_call f = { .start_ns = v->start_ns, .end_ns = v->end_ns, .name = v->name };
    int64_t *lengths;

    if (count < 1 + LPO_FINDINGS_LEAST_LATER)
        return;
    lengths = lpo_xrealloc(NULL, count, sizeof *lengths);
    for (size_t i = 1; i < count; i++)
        lengths[i - 1] = v[i].end_ns - v[i].start_ns;
    qsort(lengths, count - 1, sizeof *lengths, by_length);
    f.later_ns = lengths[(count - 1) / 2];
    f.later = count - 1;
    free(lengths);
    if ((f.end_ns - f.start_ns) /
                (v->unlike ? LPO_FINDINGS_UNLIKE_TIMES : LPO_FINDINGS_FIRST_TIMES) >=
            f.later_ns &&
        excess(&f) > 0 && excess(&f) >= least_ns)
        lpo_vec_push(out, f);
}

static void look_at_all(int64_t least_ns, lpo_findings_visits *all, lpo_first_calls *out)
{
    if (all->len)
        qsort(all->at, all->len, sizeof *all->at, by_key_and_start);
    for (size_t i = 0; i < all->len;) {
        size_t from = i;

        while (i < all->len && all->at[i].key == all->at[from].key)
            i++;
        look(least_ns, &all->at[from], i - from, out);
    }
}

static int by_thread_and_start(const void *x, const void *y)
{
    const struct lpo_range *a = *(const struct lpo_range *const *)x,
                           *b = *(const struct lpo_range *const *)y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* A range in the ranges that are open around it: along which path, and in which family. */
static struct lpo_findings_visit visit_of(const struct lpo_trace *t, const struct lpo_range *r,
                                          const struct lpo_findings_visit *around,
                                          struct lpo_map_pair *paths,
                                          struct lpo_findings_families *families)
{
    const uint64_t inside = UINT64_C(1) << 33, apart = UINT64_C(1) << 32;
    struct lpo_findings_visit v = { .start_ns = r->start_ns, .end_ns = r->end_ns, .name = r->name };
    size_t len = lpo_trace_text_len(t, r->name);
    bool nests = r->kind == LPO_PUSH_POP, fresh;

    v.process = t->threads.at[r->thread].process;
    v.key = lpo_map_pair_put(paths, r->name, nests ? (around ? around->key + 2ull : 1) : 0, &fresh);
    v.family = LPO_NONE;
    if (lpo_region_shown_len(lpo_trace_text(t, r->name), len) == len) /* or it is an operator */
        v.family = lpo_findings_family(families, r->name,
                                       !nests   ? apart + v.process
                                       : around ? inside + around->family
                                                : v.process);
    return v;
}

/* Ranges are compared along the path they are in: a layer does more work in prefill than in decode,
 * and its first visit there is no first call. Start/end ranges do not nest: they have their name.
 */
static void find_ranges(const struct lpo_trace *t, int64_t least_ns, lpo_first_calls *out)
{
    const struct lpo_range **order = lpo_xrealloc(NULL, t->ranges.len + 1, sizeof *order);
    LPO_AUTO(lpo_findings_families) families = lpo_findings_families_create(t);
    struct lpo_map_pair paths = { 0 };
    lpo_findings_visits all = { 0 }, open = { 0 };
    uint32_t thread = LPO_NONE;

    for (size_t i = 0; i < t->ranges.len; i++)
        order[i] = &t->ranges.at[i];
    qsort(order, t->ranges.len, sizeof *order, by_thread_and_start);
    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = order[i];
        struct lpo_findings_visit v;

        if (r->thread != thread)
            open.len = 0;
        thread = r->thread;
        while (open.len && open.at[open.len - 1].end_ns <= r->start_ns)
            open.len--;
        v = visit_of(t, r, open.len ? &open.at[open.len - 1] : NULL, &paths, families);
        if (r->kind == LPO_PUSH_POP)
            lpo_vec_push(&open, v);
        if (!(r->flags & LPO_RANGE_OPEN))
            lpo_vec_push(&all, v);
    }
    look_at_all(least_ns, &all, out);
    lpo_findings_numbered(t, least_ns, &all, out);
    lpo_vec_free(&all);
    lpo_vec_free(&open);
    lpo_map_pair_free(&paths);
    free(order);
}

/* Traces have millions of operators: only those of which some call is long enough are sorted.
 * Without shapes nobody knows whether two calls do the same work. */
static void find_operators(const struct lpo_trace *t, int64_t least_ns, lpo_first_calls *out)
{
    struct lpo_map_pair keys = { 0 };
    lpo_findings_visits all = { 0 };
    bool fresh;

    for (size_t i = 0; i < t->ops.len; i++)
        if (t->ops.at[i].end_ns - t->ops.at[i].start_ns >= least_ns)
            lpo_map_pair_put(&keys, t->ops.at[i].name, t->ops.at[i].args, &fresh);
    for (size_t i = 0; i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];
        uint32_t key = lpo_map_pair_find(&keys, o->name, o->args);

        if (key != UINT32_MAX)
            lpo_vec_push(&all, ((struct lpo_findings_visit){ .start_ns = o->start_ns,
                                                             .end_ns = o->end_ns,
                                                             .key = key,
                                                             .name = o->name,
                                                             .unlike = o->args == LPO_NONE }));
    }
    look_at_all(least_ns, &all, out);
    lpo_vec_free(&all);
    lpo_map_pair_free(&keys);
}

void lpo_findings_first_calls(const struct lpo_findings_work *w, lpo_first_calls *out)
{
    int64_t least_ns = least_excess(w);

    find_ranges(w->trace, least_ns, out);
    find_operators(w->trace, least_ns, out);
    if (out->len)
        qsort(out->at, out->len, sizeof *out->at, longest_first);
    if (out->len > MOST_FIRST_CALLS) /* each gap is looked for in each of them */
        out->len = MOST_FIRST_CALLS;
}
