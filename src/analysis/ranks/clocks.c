/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of the ranks, by the ends of what they did together. */
#include <stdlib.h>

#include "analysis/ranks/private.h"
#include "util/map.h"
#include "util/xmalloc.h"

enum {
    SEARCHED = 512,       /* events of a series that are looked at where their order says nothing */
    WINDOW_NS = 20000,    /* differences that agree about an offset lie in such a window */
    AGREE_NS = 100000,    /* ends of one collective lie closer than that */
    TOLERANCE_ERRORS = 5, /* or closer than so many errors of the clocks */
    LEAST_TOLERANCE = 50000 /* ns */
};

typedef LPO_VEC(int64_t) numbers;

/* What two ranks say about each other's clocks. */
struct edge {
    uint32_t from, to;   /* rows */
    numbers differences; /* end on `to` minus end on `from` */
    int64_t offset_ns, error_ns;
};

typedef LPO_VEC(struct edge) edges;

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* The median distance from `middle`. */
static int64_t spread(const numbers *v, int64_t middle)
{
    int64_t *away = lpo_xrealloc(NULL, v->len + 1, sizeof *away), found;

    for (size_t i = 0; i < v->len; i++)
        away[i] = magnitude(v->at[i] - middle);
    found = lpo_ranks_median(away, v->len);
    free(away);
    return found;
}

static void differences_in_order(const ranks_events *a, const ranks_events *b, numbers *out)
{
    out->len = 0;
    for (size_t i = 0; i < a->len; i++)
        lpo_vec_push(out, b->at[i].end_ns - a->at[i].end_ns);
}

/* The number of values from `from` on that lie in a window. */
static size_t in_window(const numbers *v, size_t from, size_t to)
{
    while (to < v->len && v->at[to] - v->at[from] <= WINDOW_NS)
        to++;
    return to - from;
}

/* The offset that most pairs of ends agree about. Steps of a program are alike, so that an offset
 * by a step has nearly as many: of those with nearly the most, the one they agree about best. */
static int64_t vote(const ranks_events *a, const ranks_events *b)
{
    size_t n = a->len < SEARCHED ? a->len : SEARCHED, m = b->len < SEARCHED ? b->len : SEARCHED;
    numbers all = { 0 };
    size_t most = 0;
    int64_t best = 0, width = INT64_MAX;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++)
            lpo_vec_push(&all, b->at[k].end_ns - a->at[i].end_ns);
    lpo_ranks_median(all.at, all.len); /* sorts */
    for (size_t from = 0, count = 0; from < all.len; from++) {
        count = in_window(&all, from, from + (count ? count - 1 : 0));
        most = count > most ? count : most;
    }
    for (size_t from = 0, count = 0; from < all.len; from++) {
        int64_t middle, half;

        count = in_window(&all, from, from + (count ? count - 1 : 0));
        middle = all.at[from + count / 2];
        half = all.at[from + count * 3 / 4] - all.at[from + count / 4];
        if (count * 10 < most * 9 || half > width ||
            (half == width && magnitude(middle) >= magnitude(best)))
            continue;
        width = half;
        best = middle;
    }
    lpo_vec_free(&all);
    return best;
}

/* Pairs each event of `b` with the nearest of `a`, at most `tolerance_ns` away once `offset_ns` is
 * taken off. `pair` gets the row of `a`, LPO_NONE for none. */
static void nearest(const ranks_events *a, const ranks_events *b, int64_t offset_ns,
                    int64_t tolerance_ns, uint32_t *pair)
{
    size_t at = 0;

    for (size_t k = 0; k < b->len; k++) {
        int64_t end = b->at[k].end_ns - offset_ns;

        while (at + 1 < a->len &&
               magnitude(a->at[at + 1].end_ns - end) < magnitude(a->at[at].end_ns - end))
            at++;
        pair[k] = LPO_NONE;
        if (at < a->len && magnitude(a->at[at].end_ns - end) <= tolerance_ns)
            pair[k] = (uint32_t)at++;
    }
}

static void differences_by_vote(const ranks_events *a, const ranks_events *b, numbers *out)
{
    uint32_t *pair = lpo_xrealloc(NULL, b->len, sizeof *pair);

    out->len = 0;
    nearest(a, b, vote(a, b), AGREE_NS, pair);
    for (size_t k = 0; k < b->len; k++)
        if (pair[k] != LPO_NONE)
            lpo_vec_push(out, b->at[k].end_ns - a->at[pair[k]].end_ns);
    free(pair);
}

static void take_series(struct edge *e, const ranks_events *a, const ranks_events *b)
{
    numbers found = { 0 }, copy = { 0 };
    bool in_order = a->len == b->len;

    if (in_order) {
        differences_in_order(a, b, &found);
        for (size_t i = 0; i < found.len; i++)
            lpo_vec_push(&copy, found.at[i]);
        in_order = spread(&found, lpo_ranks_median(copy.at, copy.len)) <= AGREE_NS;
    }
    if (!in_order)
        differences_by_vote(a, b, &found);
    for (size_t i = 0; i < found.len; i++)
        lpo_vec_push(&e->differences, found.at[i]);
    lpo_vec_free(&found);
    lpo_vec_free(&copy);
}

/* Collectives of one kind, all of them together or none: what ends at one moment says most. */
static void find_edges(const ranks_families *families, bool together, edges *out)
{
    struct lpo_map_pair rows = { 0 };

    for (size_t i = 0; i < families->len; i++) {
        const struct ranks_family *f = &families->at[i];

        for (size_t k = 1; f->together == together && k < f->series.len; k++) {
            uint32_t from = f->series.at[0].rank, to = f->series.at[k].rank;
            bool fresh;
            uint32_t row = lpo_map_pair_put(&rows, from, to, &fresh);

            if (fresh)
                lpo_vec_push(out, (struct edge){ .from = from, .to = to });
            take_series(&out->at[row], &f->series.at[0].events, &f->series.at[k].events);
        }
    }
    lpo_map_pair_free(&rows);
    for (size_t i = 0; i < out->len; i++) {
        struct edge *e = &out->at[i];

        e->offset_ns = lpo_ranks_median(e->differences.at, e->differences.len);
        e->error_ns = spread(&e->differences, e->offset_ns);
    }
}

/* Through the most certain edges first. */
static const struct edge *most_certain(const struct lpo_ranks *r, const edges *all)
{
    const struct edge *best = NULL;

    for (size_t i = 0; i < all->len; i++) {
        const struct edge *e = &all->at[i];

        if (e->differences.len && r->rows.at[e->from].aligned != r->rows.at[e->to].aligned &&
            (!best || e->error_ns < best->error_ns))
            best = e;
    }
    return best;
}

static void spread_offsets(struct lpo_ranks *r, const edges *all)
{
    const struct edge *e;

    r->rows.at[0].aligned = true;
    while ((e = most_certain(r, all))) {
        bool forward = r->rows.at[e->from].aligned;
        const struct lpo_rank_row *known = &r->rows.at[forward ? e->from : e->to];
        struct lpo_rank_row *next = &r->rows.at[forward ? e->to : e->from];

        next->aligned = true;
        next->offset_ns = known->offset_ns + (forward ? e->offset_ns : -e->offset_ns);
        next->error_ns = known->error_ns + e->error_ns;
    }
}

static void free_edges(edges *all)
{
    for (size_t i = 0; i < all->len; i++)
        lpo_vec_free(&all->at[i].differences);
    lpo_vec_free(all);
}

/* In their order where that agrees with the clocks, else the nearest ends. */
static void match_series(const struct lpo_ranks *r, const struct ranks_family *f,
                         struct ranks_series *s)
{
    const struct lpo_rank_row *first = &r->rows.at[f->series.at[0].rank];
    const struct lpo_rank_row *other = &r->rows.at[s->rank];
    const ranks_events *a = &f->series.at[0].events;
    int64_t offset = other->offset_ns - first->offset_ns;
    int64_t tolerance = TOLERANCE_ERRORS * (other->error_ns + first->error_ns);
    uint32_t *pair = lpo_xrealloc(NULL, s->events.len + 1, sizeof *pair);
    bool in_order = a->len == s->events.len;

    tolerance = tolerance > LEAST_TOLERANCE ? tolerance : LEAST_TOLERANCE;
    if (!f->together && tolerance < AGREE_NS)
        tolerance = AGREE_NS;
    if (in_order) {
        numbers d = { 0 };

        differences_in_order(a, &s->events, &d);
        in_order = spread(&d, offset) <= tolerance;
        lpo_vec_free(&d);
    }
    nearest(a, &s->events, offset, tolerance, pair);
    for (size_t i = 0; i < s->events.len; i++)
        if (in_order)
            s->events.at[i].instance = f->first_instance + (uint32_t)i;
        else if (pair[i] != LPO_NONE)
            s->events.at[i].instance = f->first_instance + pair[i];
    free(pair);
}

uint32_t lpo_ranks_align(struct lpo_ranks *r, ranks_families *families)
{
    edges all = { 0 };
    uint32_t instances = 0;

    find_edges(families, true, &all);
    if (!all.len)
        find_edges(families, false, &all);
    spread_offsets(r, &all);
    free_edges(&all);
    for (size_t i = 0; i < families->len; i++) {
        struct ranks_family *f = &families->at[i];

        f->first_instance = instances;
        f->instances = (uint32_t)f->series.at[0].events.len;
        instances += f->instances;
        if (!r->rows.at[f->series.at[0].rank].aligned)
            continue;
        for (size_t k = 0; k < f->instances; k++)
            f->series.at[0].events.at[k].instance = f->first_instance + (uint32_t)k;
        for (size_t k = 1; k < f->series.len; k++)
            if (r->rows.at[f->series.at[k].rank].aligned)
                match_series(r, f, &f->series.at[k]);
    }
    return instances;
}
