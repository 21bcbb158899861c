/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of the two sides belong together, their amounts and changes, and the wall time as
 * parts that add up. */

#include "analysis/diff/private.h"

const struct lpo_diff_digest *lpo_diff_run_at(const struct lpo_diff *d, size_t i)
{
    size_t first = d->side[LPO_DIFF_A].len;

    return i < first ? d->side[LPO_DIFF_A].at[i] : d->side[LPO_DIFF_B].at[i - first];
}

enum lpo_diff_side lpo_diff_run_side(const struct lpo_diff *d, size_t i)
{
    return i < d->side[LPO_DIFF_A].len ? LPO_DIFF_A : LPO_DIFF_B;
}

double lpo_diff_run_length(const struct lpo_diff *d, size_t i)
{
    return d->unit ? d->lengths[i] : 1;
}

bool lpo_diff_has_repeats(const struct lpo_diff *d)
{
    return d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len >= 4;
}

/* --- which rows belong together
 * ----------------------------------------------------------------------------------- */

struct matcher {
    struct lpo_diff *d;
    enum lpo_diff_table table;
    struct lpo_map *rows;    /* key to row plus one */
    struct lpo_map *aliases; /* key of B to row plus one: another name of one kernel */
};

static size_t runs_of(const struct lpo_diff *d)
{
    return d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len;
}

static uint64_t row_of(struct matcher *m, const char *key)
{
    const uint64_t *alias = lpo_map_find(m->aliases, key, strlen(key));
    bool fresh;
    uint64_t *row;

    if (alias)
        return *alias - 1;
    row = lpo_map_put(m->rows, key, strlen(key), &fresh);
    if (fresh) {
        struct lpo_diff_row r = { .group = UINT32_MAX };

        r.in = lpo_arena_array(m->d->arena, runs_of(m->d), sizeof *r.in);
        lpo_vec_push(&m->d->rows[m->table], r);
        *row = m->d->rows[m->table].len;
    }
    return *row - 1;
}

static void add_run(struct matcher *m, size_t run)
{
    const struct lpo_diff_digest *g = lpo_diff_run_at(m->d, run);
    enum lpo_diff_side side = lpo_diff_run_side(m->d, run);

    for (size_t i = 0; i < g->items[m->table].len; i++) {
        const struct lpo_diff_item *item = &g->items[m->table].at[i];
        size_t row = row_of(m, item->key); /* may move the rows */
        struct lpo_diff_row *r = &m->d->rows[m->table].at[row];

        if (!r->in[run]) /* two folded paths may come out as one key: the first one counts */
            r->in[run] = item;
        if (!r->item[side])
            r->item[side] = item;
    }
}

/* Another text by which a kernel may be known; "" where there is none. */
typedef const char *name_fn(struct lpo_arena *a, const struct lpo_diff_item *item);

static const char *by_linker(struct lpo_arena *a, const struct lpo_diff_item *item)
{
    (void)a;
    return item->linker;
}

static const char *by_short_name(struct lpo_arena *a, const struct lpo_diff_item *item)
{
    return lpo_arena_printf(a, "%d %s", (int)item->class, item->detail);
}

/* A kernel and its next version: the only ones of their class that the other side does not have,
 * and their names begin alike. */
enum { KIN = 8 }; /* letters */

static const char *by_class(struct lpo_arena *a, const struct lpo_diff_item *item)
{
    return lpo_arena_printf(a, "%d %.*s", (int)item->class, KIN, item->detail);
}

enum { SEVERAL = UINT32_MAX };

/* Kernels of B that A knows by another name: tools print names in their own ways. Only where the
 * other name belongs to one kernel of A that B does not have and to one of B that A does not. */
static void find_aliases(struct matcher *m, name_fn *name_of)
{
    struct lpo_diff *d = m->d;
    const struct lpo_diff_digest *b = d->side[LPO_DIFF_B].at[0];
    LPO_AUTO(lpo_map) mine = lpo_map_create();   /* keys of B */
    LPO_AUTO(lpo_map) names = lpo_map_create();  /* other name to row of A plus one, or SEVERAL */
    LPO_AUTO(lpo_map) theirs = lpo_map_create(); /* other name to how many of B */

    for (size_t i = 0; i < b->items[m->table].len; i++) {
        const struct lpo_diff_item *x = &b->items[m->table].at[i];
        const char *name = name_of(d->arena, x);

        lpo_map_put(mine, x->key, strlen(x->key), NULL);
        if (!lpo_map_find(m->rows, x->key, strlen(x->key)) &&
            !lpo_map_find(m->aliases, x->key, strlen(x->key)))
            ++*lpo_map_put(theirs, name, strlen(name), NULL);
    }
    for (size_t i = 0; i < d->rows[m->table].len; i++) {
        const struct lpo_diff_item *x = d->rows[m->table].at[i].item[LPO_DIFF_A];
        const char *name = name_of(d->arena, x);
        uint64_t *at;

        if (lpo_map_find(mine, x->key, strlen(x->key)))
            continue;
        at = lpo_map_put(names, name, strlen(name), NULL);
        *at = *at ? SEVERAL : i + 1;
    }
    for (size_t i = 0; i < b->items[m->table].len; i++) {
        const struct lpo_diff_item *x = &b->items[m->table].at[i];
        const char *name = name_of(d->arena, x);
        const uint64_t *row = lpo_map_find(names, name, strlen(name));
        const uint64_t *count = lpo_map_find(theirs, name, strlen(name));

        if (*name && row && *row != SEVERAL && count && *count == 1 &&
            !lpo_map_find(m->rows, x->key, strlen(x->key)) &&
            !lpo_map_find(m->aliases, x->key, strlen(x->key)))
            *lpo_map_put(m->aliases, x->key, strlen(x->key), NULL) = *row;
    }
}

void lpo_diff_match(struct lpo_diff *d)
{
    for (int t = 0; t < LPO_DIFF_TABLES; t++) {
        struct matcher m = { d, (enum lpo_diff_table)t, lpo_map_create(), lpo_map_create() };

        for (size_t i = 0; i < runs_of(d); i++) {
            if (t == LPO_DIFF_KERNELS && i == d->side[LPO_DIFF_A].len) {
                find_aliases(&m, by_linker);
                find_aliases(&m, by_short_name);
                find_aliases(&m, by_class);
            }
            add_run(&m, i);
        }
        lpo_map_destroy(m.rows);
        lpo_map_destroy(m.aliases);
    }
}

/* --- amounts----------------------------------------------------------------------------------- */

LPO_COMPARE(by_size, int64_t, LPO_UP_OF(*a, *b));

/* The lower one of the two in the middle: a value that some run really had. */
static int64_t middle(int64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return values[(n - 1) / 2];
}

static double middle_real(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) /* a few runs */
        for (size_t k = i; k > 0 && values[k - 1] > values[k]; k--) {
            double swap = values[k];

            values[k] = values[k - 1];
            values[k - 1] = swap;
        }
    return values[(n - 1) / 2];
}

static int64_t time_of(const struct lpo_diff *d, const struct lpo_diff_item *x)
{
    return d->by_host ? (x->host_ns > 0 ? x->host_ns : 0) : x->ns;
}

/* Of one call, over all strata and runs of a side: the median of the largest stratum. */
static double median_call(const struct lpo_diff_item *item)
{
    const struct lpo_diff_stratum *best = NULL;

    for (size_t i = 0; i < item->strata.len; i++)
        if (!best || item->strata.at[i].ns > best->ns)
            best = &item->strata.at[i];
    return best && best->calls.kept.len ? lpo_diff_sample_median(&best->calls) : NAN;
}

static void amount_of(struct lpo_diff *d, struct lpo_diff_row *r, enum lpo_diff_side side)
{
    size_t first = side == LPO_DIFF_A ? 0 : d->side[LPO_DIFF_A].len, n = d->side[side].len;
    struct lpo_diff_amount *out = &r->amount[side];
    LPO_FREED int64_t *values = lpo_xcalloc(n * 5, sizeof *values);
    LPO_FREED double *steps = lpo_xcalloc(n * 2, sizeof *steps);
    size_t there = 0;

    out->known = true;
    for (size_t i = 0; i < n; i++) {
        const struct lpo_diff_item *x = r->in[first + i];

        if (!x)
            continue;
        there++;
        out->known &= x->known || d->by_host;
        values[i] = (int64_t)x->count;
        values[n + i] = (int64_t)x->launches;
        values[2 * n + i] = time_of(d, x);
        values[3 * n + i] = x->self_ns;
        values[4 * n + i] = x->host_ns;
        steps[i] = (double)time_of(d, x) / lpo_diff_run_length(d, first + i);
        steps[n + i] = (double)x->count / lpo_diff_run_length(d, first + i);
    }
    out->there = there * 2 > n;
    out->known &= there > 0;
    out->count = (uint64_t)middle(values, n);
    out->launches = (uint64_t)middle(values + n, n);
    out->ns = middle(values + 2 * n, n);
    out->self_ns = middle(values + 3 * n, n);
    out->host_ns = there ? middle(values + 4 * n, n) : -1;
    out->step_ns = middle_real(steps, n);
    out->step_count = middle_real(steps + n, n);
    out->median_ns = r->item[side] ? median_call(r->item[side]) : NAN;
}

void lpo_diff_compare_rows(struct lpo_diff *d)
{
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        for (size_t i = 0; i < d->rows[t].len; i++) {
            struct lpo_diff_row *r = &d->rows[t].at[i];
            struct lpo_diff_amount *a = &r->amount[LPO_DIFF_A], *b = &r->amount[LPO_DIFF_B];

            amount_of(d, r, LPO_DIFF_A);
            amount_of(d, r, LPO_DIFF_B);
            r->delta_ns = b->ns - a->ns;
            r->delta_step_ns = b->step_ns - a->step_ns;
            r->kind = a->there && !b->there                      ? LPO_DIFF_REMOVED
                      : !a->there && b->there                    ? LPO_DIFF_ADDED
                      : r->delta_ns == 0 && a->count == b->count ? LPO_DIFF_SAME
                                                                 : LPO_DIFF_CHANGED;
        }
}

/* --- wall ----------------------------------------------------------------------------------- */

/* Of one unit of a run: its steady window, else the span of its critical GPU, else GPU time. */
double lpo_diff_unit_ns(const struct lpo_diff *d, size_t run)
{
    const struct lpo_diff_digest *g = lpo_diff_run_at(d, run);
    int64_t ns = g->window_ns     ? g->window_ns
                 : g->devices.len ? g->devices.at[0].span_ns
                                  : g->gpu_ns;

    return (double)ns / d->lengths[run];
}

/* The run whose unit takes the median time. */
static size_t shown_run(const struct lpo_diff *d, enum lpo_diff_side side)
{
    size_t first = side == LPO_DIFF_A ? 0 : d->side[LPO_DIFF_A].len, n = d->side[side].len;
    double *values = lpo_xcalloc(n, sizeof *values), want;
    size_t out = 0;

    for (size_t i = 0; i < n; i++)
        values[i] = lpo_diff_unit_ns(d, first + i);
    want = middle_real(values, n);
    while (out + 1 < n && lpo_diff_unit_ns(d, first + out) != want)
        out++;
    free(values);
    return first + out;
}

void lpo_diff_compare_wall(struct lpo_diff *d)
{
    struct lpo_diff_wall *w = &d->wall;

    w->known = true;
    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        size_t run = shown_run(d, (enum lpo_diff_side)side);
        const struct lpo_diff_digest *g = lpo_diff_run_at(d, run);

        d->shown[side] = g;
        d->units[side] = d->lengths[run];
        if (d->unit)
            d->length[side] = d->lengths[run];
        w->device[side] = g->devices.len ? &g->devices.at[0] : NULL;
        w->ns[side] = w->device[side] ? w->device[side]->span_ns : 0;
        w->known &= w->device[side] != NULL;
        w->unit_ns[side] = lpo_diff_unit_ns(d, run);
    }
    for (size_t i = 0; w->known && i < LPO_DIFF_PARTS; i++)
        w->parts[i] = w->device[LPO_DIFF_B]->parts[i] - w->device[LPO_DIFF_A]->parts[i];
}
