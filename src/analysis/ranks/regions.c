/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/regions.h"

#include "analysis/ranks/private.h"
#include "region/scope.h"

enum { MOST_ROWS = 1000, ODD_SHARE = 20 /* a twentieth */, ODD_DISTANCES = 4 };

/* times[row * ranks + rank]: the first rows of the table, which are not small. */
struct table {
    const struct lpo_region_scope *all;
    size_t rows, ranks;
    int32_t *rank; /* in order */
    int64_t *times;
    struct lpo_map_u64 *row_of; /* node to row */
};

LPO_COMPARE(by_number, int32_t, LPO_UP_OF(*a, *b));

static void list_ranks(struct table *t)
{
    const struct lpo_trace *trace = t->all->cells->tree->trace;

    t->rank = lpo_xrealloc(NULL, trace->devices.len + 1, sizeof *t->rank);
    for (size_t i = 0; i < trace->devices.len; i++)
        if (trace->devices.at[i].rank >= 0)
            t->rank[t->ranks++] = trace->devices.at[i].rank;
    qsort(t->rank, t->ranks, sizeof *t->rank, by_number);
    for (size_t i = 0, all = t->ranks, n = 0; i < all; i++, t->ranks = n)
        if (!n || t->rank[n - 1] != t->rank[i])
            t->rank[n++] = t->rank[i];
}

static void fill(struct table *t)
{
    for (size_t k = 0; k < t->ranks; k++) {
        struct lpo_region_scope *s = lpo_region_scope_create(
            t->all->cells, (struct lpo_scope_id){ LPO_SCOPE_RANK, t->rank[k] }, NULL);

        for (size_t i = 0; i < s->rows.len; i++) {
            const uint32_t *row = lpo_map_u64_find(t->row_of, s->rows.at[i].node);

            if (row)
                t->times[*row * t->ranks + k] = s->rows.at[i].all.ns;
        }
        lpo_region_scope_destroy(s);
    }
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Keeps the ranks that differ most, the first of them first. */
static void add_odd(struct lpo_rank_region *r, int32_t rank, int64_t ns)
{
    size_t at = r->odd < LPO_RANK_ODD ? r->odd : LPO_RANK_ODD;

    r->odd++;
    while (at > 0 && magnitude(ns - r->median_ns) > magnitude(r->odd_ns[at - 1] - r->median_ns)) {
        at--;
        if (at + 1 < LPO_RANK_ODD) {
            r->odd_rank[at + 1] = r->odd_rank[at];
            r->odd_ns[at + 1] = r->odd_ns[at];
        }
    }
    if (at < LPO_RANK_ODD) {
        r->odd_rank[at] = rank;
        r->odd_ns[at] = ns;
    }
}

static struct lpo_rank_region judge(const struct table *t, size_t row, int64_t *scratch)
{
    const int64_t *times = t->times + row * t->ranks;
    struct lpo_rank_region r = { .row = (uint32_t)row,
                                 .min_ns = times[0],
                                 .max_ns = times[0],
                                 .min_rank = t->rank[0],
                                 .max_rank = t->rank[0] };
    int64_t distance;

    for (size_t k = 0; k < t->ranks; k++) {
        scratch[k] = times[k];
        if (times[k] < r.min_ns) {
            r.min_ns = times[k];
            r.min_rank = t->rank[k];
        }
        if (times[k] > r.max_ns) {
            r.max_ns = times[k];
            r.max_rank = t->rank[k];
        }
    }
    r.median_ns = lpo_ranks_median(scratch, t->ranks);
    for (size_t k = 0; k < t->ranks; k++)
        scratch[k] = magnitude(times[k] - r.median_ns);
    distance = lpo_ranks_median(scratch, t->ranks);
    for (size_t k = 0; k < t->ranks; k++) {
        int64_t away = magnitude(times[k] - r.median_ns);

        if (away > r.median_ns / ODD_SHARE && away > ODD_DISTANCES * distance)
            add_odd(&r, t->rank[k], times[k]);
    }
    return r;
}

static int widest_first(const void *x, const void *y)
{
    const struct lpo_rank_region *a = x, *b = y;
    int64_t m = a->max_ns - a->min_ns, n = b->max_ns - b->min_ns;

    if (m != n)
        return m > n ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

struct lpo_ranks_regions *lpo_ranks_regions_create(const struct lpo_region_scope *all)
{
    struct table t = { .all = all, .rows = all->rows.len < MOST_ROWS ? all->rows.len : MOST_ROWS };
    struct lpo_ranks_regions *out = NULL;

    list_ranks(&t);
    if (t.ranks > 1 && t.rows) {
        LPO_FREED int64_t *scratch = lpo_xcalloc(t.ranks, sizeof *scratch);

        out = lpo_xcalloc(1, sizeof *out);
        t.times = lpo_xcalloc(t.rows * t.ranks, sizeof *t.times);
        t.row_of = lpo_map_u64_create(t.rows);
        for (size_t i = 0; i < t.rows; i++)
            *lpo_map_u64_put(t.row_of, all->rows.at[i].node, NULL) = (uint32_t)i;
        fill(&t);
        for (size_t i = 0; i < t.rows; i++)
            if (all->rows.at[i].all.ns)
                lpo_vec_push(&out->rows, judge(&t, i, scratch));
        lpo_vec_sort(&out->rows, widest_first);
        lpo_map_u64_destroy(t.row_of);
        free(t.times);
    }
    free(t.rank);
    return out;
}

void lpo_ranks_regions_destroy(struct lpo_ranks_regions *r)
{
    if (!r)
        return;
    lpo_vec_free(&r->rows);
    free(r);
}
