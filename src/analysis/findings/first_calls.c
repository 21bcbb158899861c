/* SPDX-License-Identifier: Apache-2.0 */
/* The first visit of a range, or the first call of an operator with some input shapes, often loads
 * modules, tunes kernels or compiles. That cost comes once and must not be sold as the cost of
 * every step. */
#include <stdlib.h>

#include "analysis/findings/private.h"
#include "util/map.h"
#include "util/xmalloc.h"

enum {
    LEAST_LATER = 3, /* visits, before anything is called later */
    TIMES = 2,       /* as long as the median of the later ones */
    LEAST_PART = 100 /* of the span: what a first call must cost more */
};

/* One visit of a range or operator. `key` numbers what is compared with each other. */
struct visit {
    int64_t start_ns, end_ns;
    uint32_t key, name;
};

typedef LPO_VEC(struct visit) visits;

static int by_key_and_start(const void *x, const void *y)
{
    const struct visit *a = x, *b = y;

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

static int64_t least_excess(const struct lpo_findings_work *w)
{
    return w->out->span_ns / LEAST_PART;
}

/* `v` are the visits of one key in order of time. */
static void look(const struct lpo_findings_work *w, const struct visit *v, size_t count,
                 lpo_first_calls *out)
{
    struct lpo_first_call f = { .start_ns = v->start_ns, .end_ns = v->end_ns, .name = v->name };
    int64_t *lengths;

    if (count < 1 + LEAST_LATER)
        return;
    lengths = lpo_xrealloc(NULL, count, sizeof *lengths);
    for (size_t i = 1; i < count; i++)
        lengths[i - 1] = v[i].end_ns - v[i].start_ns;
    qsort(lengths, count - 1, sizeof *lengths, by_length);
    f.later_ns = lengths[(count - 1) / 2];
    f.later = count - 1;
    free(lengths);
    if ((f.end_ns - f.start_ns) / TIMES >= f.later_ns && excess(&f) > 0 &&
        excess(&f) >= least_excess(w))
        lpo_vec_push(out, f);
}

static void look_at_all(const struct lpo_findings_work *w, visits *all, lpo_first_calls *out)
{
    if (all->len)
        qsort(all->at, all->len, sizeof *all->at, by_key_and_start);
    for (size_t i = 0; i < all->len;) {
        size_t from = i;

        while (i < all->len && all->at[i].key == all->at[from].key)
            i++;
        look(w, &all->at[from], i - from, out);
    }
}

static void find_ranges(const struct lpo_findings_work *w, lpo_first_calls *out)
{
    const struct lpo_trace *t = w->trace;
    visits all = { 0 };

    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        if (!(r->flags & LPO_RANGE_OPEN))
            lpo_vec_push(&all, ((struct visit){ r->start_ns, r->end_ns, r->name, r->name }));
    }
    look_at_all(w, &all, out);
    lpo_vec_free(&all);
}

/* Traces have millions of operators: only those of which some call is long enough are sorted. */
static void find_operators(const struct lpo_findings_work *w, lpo_first_calls *out)
{
    const struct lpo_trace *t = w->trace;
    struct lpo_map_pair keys = { 0 };
    visits all = { 0 };
    bool fresh;

    for (size_t i = 0; i < t->ops.len; i++)
        if (t->ops.at[i].end_ns - t->ops.at[i].start_ns >= least_excess(w))
            lpo_map_pair_put(&keys, t->ops.at[i].name, t->ops.at[i].shapes, &fresh);
    for (size_t i = 0; i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];
        uint32_t key = lpo_map_pair_find(&keys, o->name, o->shapes);

        if (key != UINT32_MAX)
            lpo_vec_push(&all, ((struct visit){ o->start_ns, o->end_ns, key, o->name }));
    }
    look_at_all(w, &all, out);
    lpo_vec_free(&all);
    lpo_map_pair_free(&keys);
}

void lpo_findings_first_calls(const struct lpo_findings_work *w, lpo_first_calls *out)
{
    find_ranges(w, out);
    find_operators(w, out);
    if (out->len)
        qsort(out->at, out->len, sizeof *out->at, longest_first);
}
