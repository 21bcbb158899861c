/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of the two sides belong together, and how long the runs are beside each other. */
#include <math.h>
#include <string.h>

#include "analysis/diff/compare.h"
#include "util/arena.h"
#include "util/map.h"

/* --- rows ----------------------------------------------------------------------------------- */

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
            }
            add_run(&m, i);
        }
        lpo_map_destroy(m.rows);
        lpo_map_destroy(m.aliases);
    }
}

/* --- lengths -------------------------------------------------------------------------------- */

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Steps by the ranges that mark them. False: some run has none. */
static bool lengths_by_steps(struct lpo_diff *d)
{
    uint64_t first = lpo_diff_run_at(d, 0)->steps;
    const char *key = NULL;
    bool same = true;

    for (size_t i = 0; i < runs_of(d); i++) {
        const struct lpo_diff_digest *g = lpo_diff_run_at(d, i);

        if (!g->steps)
            return false;
        if (!key)
            key = g->items[LPO_DIFF_REGIONS].at[g->step].key;
        if (strcmp(key, g->items[LPO_DIFF_REGIONS].at[g->step].key) != 0)
            return false;
        same &= g->steps == first;
    }
    if (!same)
        d->unit =
            lpo_diff_run_at(d, 0)->items[LPO_DIFF_REGIONS].at[lpo_diff_run_at(d, 0)->step].name;
    return true;
}

/* Most kernels were launched k times as often: one side ran k times as long. */
static void lengths_by_launches(struct lpo_diff *d)
{
    const lpo_diff_rows *rows = &d->rows[LPO_DIFF_KERNELS];
    LPO_AUTO(lpo_map) seen = lpo_map_create();
    size_t both = 0, best = 0;

    for (size_t i = 0; i < rows->len; i++) {
        const struct lpo_diff_item *a = rows->at[i].in[0];
        const struct lpo_diff_item *b = rows->at[i].in[d->side[LPO_DIFF_A].len];
        uint64_t by, ratio[2], *count;

        if (!a || !b || !a->count || !b->count)
            continue;
        by = divisor(a->count, b->count);
        ratio[0] = a->count / by;
        ratio[1] = b->count / by;
        both++;
        count = lpo_map_put(seen, (const char *)ratio, sizeof ratio, NULL);
        if (++*count > best) {
            best = *count;
            d->length[LPO_DIFF_A] = (double)ratio[0];
            d->length[LPO_DIFF_B] = (double)ratio[1];
        }
    }
    d->inferred =
        best >= 3 && best * 10 >= both * 6 && d->length[LPO_DIFF_A] != d->length[LPO_DIFF_B];
    if (d->inferred)
        d->unit = "round";
    else
        d->length[LPO_DIFF_A] = d->length[LPO_DIFF_B] = 1;
}

void lpo_diff_compare_lengths(struct lpo_diff *d)
{
    d->length[LPO_DIFF_A] = d->length[LPO_DIFF_B] = 1;
    if (!lengths_by_steps(d))
        lengths_by_launches(d);
}
