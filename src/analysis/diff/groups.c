/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that gave way to others. In each region, some kernels are launched less often than before
 * and some more often; from the innermost regions outwards, the first region that has both is where
 * the exchange took place. What is left without a partner goes on to the region around it, where it
 * meets launches of the same kernel from other regions inside: a kernel that only moved from one of
 * them to another is launched as often as before, and is no part of an exchange. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/compare.h"
#include "util/map.h"

/* One kernel in one region, of one step. */
struct cell {
    uint32_t kernel, region; /* rows of the diff */
    double count[LPO_DIFF_SIDES];
    double ns[LPO_DIFF_SIDES];
};

struct grouper {
    struct lpo_diff *d;
    LPO_VEC(struct cell) cells;
    struct lpo_map_pair at; /* kernel and region: the cell that is there now */
    uint32_t *parents;      /* per row of regions: the row around it, or UINT32_MAX */
    unsigned *depths;
};

/* Rows of the diff for the items of the run that stands for a side. */
static uint32_t *rows_of(const struct lpo_diff *d, enum lpo_diff_table table, size_t run)
{
    const struct lpo_diff_digest *g = lpo_diff_run_at(d, run);
    uint32_t *out = lpo_xcalloc(g->items[table].len + 1, sizeof *out);

    memset(out, 0xff, (g->items[table].len + 1) * sizeof *out);
    for (size_t i = 0; i < d->rows[table].len; i++)
        if (d->rows[table].at[i].in[run])
            out[d->rows[table].at[i].in[run] - g->items[table].at] = (uint32_t)i;
    return out;
}

static size_t shown_index(const struct lpo_diff *d, enum lpo_diff_side side)
{
    size_t i = side == LPO_DIFF_A ? 0 : d->side[LPO_DIFF_A].len;

    while (lpo_diff_run_at(d, i) != d->shown[side])
        i++;
    return i;
}

static void add_side(struct grouper *g, enum lpo_diff_side side)
{
    const struct lpo_diff *d = g->d;
    const struct lpo_diff_digest *digest = d->shown[side];
    size_t run = shown_index(d, side);
    uint32_t *kernels = rows_of(d, LPO_DIFF_KERNELS, run);
    uint32_t *regions = rows_of(d, LPO_DIFF_REGIONS, run);

    for (size_t i = 0; i < digest->places.len; i++) {
        const struct lpo_diff_place *p = &digest->places.at[i];
        uint32_t kernel = kernels[p->kernel], region = regions[p->region], row;
        bool fresh;

        if (kernel == UINT32_MAX || region == UINT32_MAX)
            continue;
        row = lpo_map_pair_put(&g->at, kernel, region, &fresh);
        if (fresh)
            lpo_vec_push(&g->cells, (struct cell){ .kernel = kernel, .region = region });
        g->cells.at[row].count[side] += (double)p->launches / lpo_diff_run_length(d, run);
        g->cells.at[row].ns[side] += (double)p->ns / lpo_diff_run_length(d, run);
    }
    for (size_t i = 0; i < digest->items[LPO_DIFF_REGIONS].len; i++) {
        const struct lpo_diff_item *item = &digest->items[LPO_DIFF_REGIONS].at[i];

        if (regions[i] == UINT32_MAX)
            continue;
        g->depths[regions[i]] = item->depth;
        if (item->parent != UINT32_MAX)
            g->parents[regions[i]] = regions[item->parent];
    }
    free(kernels);
    free(regions);
}

/* More often in B, less often, or as often: 1, -1, 0. */
static int direction(const struct cell *c)
{
    double change = c->count[LPO_DIFF_B] - c->count[LPO_DIFF_A];

    if (fabs(change) <= 0.005 * fmax(c->count[LPO_DIFF_A], c->count[LPO_DIFF_B]))
        return 0;
    return change > 0 ? 1 : -1;
}

static void add_rows(struct lpo_diff *d, struct lpo_diff_group *out, const struct cell *c)
{
    uint32_t group = (uint32_t)d->groups.len;
    struct lpo_diff_row *r = &d->rows[LPO_DIFF_KERNELS].at[c->kernel];
    double launches = fabs(c->count[LPO_DIFF_B] - c->count[LPO_DIFF_A]);
    double ns = c->ns[LPO_DIFF_B] - c->ns[LPO_DIFF_A];

    r->group = group;
    if (direction(c) > 0) {
        lpo_vec_push(&out->come, c->kernel);
        out->come_launches += (uint64_t)llround(launches);
        out->come_ns += (int64_t)llround(ns);
    } else {
        lpo_vec_push(&out->gone, c->kernel);
        out->gone_launches += (uint64_t)llround(launches);
        out->gone_ns += (int64_t)llround(-ns);
    }
}

struct sized {
    uint32_t kernel;
    double ns;
};

static int by_time(const void *a, const void *b)
{
    const struct sized *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/* People are shown the first few of a group. */
static void largest_first(const struct lpo_diff *d, uint32_t *kernels, size_t n,
                          enum lpo_diff_side side)
{
    struct sized *sized = lpo_xcalloc(n + 1, sizeof *sized);

    for (size_t i = 0; i < n; i++)
        sized[i] = (struct sized){ kernels[i],
                                   d->rows[LPO_DIFF_KERNELS].at[kernels[i]].amount[side].step_ns };
    qsort(sized, n, sizeof *sized, by_time);
    for (size_t i = 0; i < n; i++)
        kernels[i] = sized[i].kernel;
    free(sized);
}

/* All cells that are at this region now: one group where some came and some went. */
static bool close_region(struct grouper *g, uint32_t region)
{
    struct lpo_diff *d = g->d;
    const struct lpo_diff_row *r = &d->rows[LPO_DIFF_REGIONS].at[region];
    struct lpo_diff_group out = { .region = r->item[r->item[LPO_DIFF_B] ? 1 : 0]->name };
    bool seen[2] = { false, false };

    for (size_t i = 0; i < g->cells.len; i++)
        if (g->cells.at[i].region == region && direction(&g->cells.at[i]))
            seen[direction(&g->cells.at[i]) > 0] = true;
    if (!seen[0] || !seen[1])
        return false;
    for (size_t i = 0; i < g->cells.len; i++)
        if (g->cells.at[i].region == region && direction(&g->cells.at[i])) {
            add_rows(d, &out, &g->cells.at[i]);
            g->cells.at[i].region = UINT32_MAX;
        }
    largest_first(d, out.gone.at, out.gone.len, LPO_DIFF_A);
    largest_first(d, out.come.at, out.come.len, LPO_DIFF_B);
    out.fused = out.come_launches < out.gone_launches;
    lpo_vec_push(&d->groups, out);
    return true;
}

/* The cells of a region go on to the region around it. */
static void pass_on(struct grouper *g, uint32_t region)
{
    uint32_t outer = g->parents[region];

    for (size_t i = 0; i < g->cells.len; i++) {
        struct cell *c = &g->cells.at[i], *there;
        bool fresh;
        uint32_t row;

        if (c->region != region)
            continue;
        c->region = outer;
        if (outer == UINT32_MAX)
            continue;
        row = lpo_map_pair_put(&g->at, c->kernel, outer, &fresh);
        if (fresh) { /* rows are numbered as they come, so the list of cells grows with the map */
            lpo_vec_push(&g->cells, g->cells.at[i]);
        } else {
            there = &g->cells.at[row];
            for (int side = 0; side < LPO_DIFF_SIDES; side++) {
                there->count[side] += c->count[side];
                there->ns[side] += c->ns[side];
            }
        }
        g->cells.at[i].region = UINT32_MAX;
    }
}

static void drop_unchanged(struct grouper *g)
{
    size_t kept = 0;
    bool fresh;

    lpo_map_pair_free(&g->at);
    g->at = (struct lpo_map_pair){ 0 };
    for (size_t i = 0; i < g->cells.len; i++)
        if (direction(&g->cells.at[i])) {
            lpo_map_pair_put(&g->at, g->cells.at[i].kernel, g->cells.at[i].region, &fresh);
            g->cells.at[kept++] = g->cells.at[i];
        }
    g->cells.len = kept;
}

static int64_t size_of(const struct lpo_diff_group *g)
{
    return llabs(g->come_ns - g->gone_ns);
}

/* Largest change first; rows keep pointing at their group. A few groups: a simple sort will do. */
static void sort_groups(struct lpo_diff *d)
{
    size_t n = d->groups.len;
    uint32_t *place = lpo_xcalloc(n + 1, sizeof *place);
    struct lpo_diff_group *sorted = lpo_xcalloc(n + 1, sizeof *sorted);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            place[i] += size_of(&d->groups.at[k]) > size_of(&d->groups.at[i]) ||
                        (k < i && size_of(&d->groups.at[k]) == size_of(&d->groups.at[i]));
    for (size_t i = 0; i < n; i++)
        sorted[place[i]] = d->groups.at[i];
    if (n)
        memcpy(d->groups.at, sorted, n * sizeof *sorted);
    for (size_t i = 0; i < d->rows[LPO_DIFF_KERNELS].len; i++) {
        uint32_t *group = &d->rows[LPO_DIFF_KERNELS].at[i].group;

        if (*group != UINT32_MAX)
            *group = place[*group];
    }
    free(place);
    free(sorted);
}

/* Regions times changed cells: in two programs with nothing in common only the outermost regions
 * are looked at, because a full search would take minutes. */
enum { MOST_WORK = 20000000 };

void lpo_diff_compare_groups(struct lpo_diff *d)
{
    size_t regions = d->rows[LPO_DIFF_REGIONS].len;
    struct grouper g = { .d = d };
    unsigned deepest = 0;

    g.parents = lpo_xcalloc(regions + 1, sizeof *g.parents);
    g.depths = lpo_xcalloc(regions + 1, sizeof *g.depths);
    memset(g.parents, 0xff, (regions + 1) * sizeof *g.parents);
    add_side(&g, LPO_DIFF_A);
    add_side(&g, LPO_DIFF_B);
    drop_unchanged(&g);
    for (size_t i = 0; i < regions; i++)
        deepest = g.depths[i] > deepest ? g.depths[i] : deepest;
    if (g.cells.len * (regions + 1) > MOST_WORK)
        deepest = 0;
    for (unsigned depth = deepest + 1; depth-- > 0;)
        for (uint32_t i = 0; i < regions && g.cells.len; i++)
            if (g.depths[i] == depth && !close_region(&g, i))
                pass_on(&g, i);
    sort_groups(d);
    lpo_map_pair_free(&g.at);
    lpo_vec_free(&g.cells);
    free(g.parents);
    free(g.depths);
}
