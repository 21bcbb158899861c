/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that gave way to others. In each region, some kernels are launched less often than before
 * and some more often; from the innermost regions outwards, the first region that has both is where
 * the exchange took place. What is left without a partner goes on to the region around it, where it
 * meets launches of the same kernel from other regions inside: a kernel that only moved from one of
 * them to another is launched as often as before, and is no part of an exchange. */

#include "analysis/diff/private.h"

/* One kernel at one place, of one step. */
struct cell {
    uint32_t kernel, place; /* row of the diff; row of places */
    double count[LPO_DIFF_SIDES];
    double ns[LPO_DIFF_SIDES], wall_ns[LPO_DIFF_SIDES];
};

/* A region, or in it an operator with its input shapes. */
struct place {
    uint32_t parent, region;
    unsigned depth;
    const char *op; /* "": a region */
};

struct grouper {
    struct lpo_diff *d;
    LPO_VEC(struct cell) cells;
    struct lpo_map_pair at;       /* kernel and place: the cell that is there now */
    LPO_VEC(struct place) places; /* regions first */
    struct lpo_map *ops;          /* region and operator: place plus one */
};

uint32_t *lpo_diff_rows_of(const struct lpo_diff *d, enum lpo_diff_table table,
                           enum lpo_diff_side side)
{
    const struct lpo_diff_digest *g = d->shown[side];
    uint32_t *out = lpo_xcalloc(g->items[table].len + 1, sizeof *out);
    size_t run = side == LPO_DIFF_A ? 0 : d->side[LPO_DIFF_A].len;

    while (lpo_diff_run_at(d, run) != g)
        run++;
    memset(out, 0xff, (g->items[table].len + 1) * sizeof *out);
    for (size_t i = 0; i < d->rows[table].len; i++)
        if (d->rows[table].at[i].in[run])
            out[d->rows[table].at[i].in[run] - g->items[table].at] = (uint32_t)i;
    return out;
}

static uint32_t place_of(struct grouper *g, const struct lpo_diff_digest *d, uint32_t region,
                         uint32_t op_row)
{
    const struct lpo_diff_item *op;
    const char *key;
    uint64_t *at;

    if (op_row == UINT32_MAX)
        return region;
    op = &d->items[LPO_DIFF_OPERATORS].at[op_row];
    key = lpo_arena_printf(g->d->arena, "%u %s %s", region, op->name, op->detail);
    at = lpo_map_put(g->ops, key, strlen(key), NULL);
    if (!*at) {
        lpo_vec_push(&g->places, (struct place){ .parent = region,
                                                 .region = region,
                                                 .depth = g->places.at[region].depth + 1,
                                                 .op = op->name });
        *at = g->places.len;
    }
    return (uint32_t)*at - 1;
}

static void add_regions(struct grouper *g, enum lpo_diff_side side)
{
    const struct lpo_diff_digest *d = g->d->shown[side];
    LPO_FREED uint32_t *regions = lpo_diff_rows_of(g->d, LPO_DIFF_REGIONS, side);

    for (size_t i = 0; i < d->items[LPO_DIFF_REGIONS].len; i++) {
        const struct lpo_diff_item *item = &d->items[LPO_DIFF_REGIONS].at[i];

        if (regions[i] == UINT32_MAX)
            continue;
        g->places.at[regions[i]].depth = 2 * item->depth; /* operators stand between */
        if (item->parent != UINT32_MAX)
            g->places.at[regions[i]].parent = regions[item->parent];
    }
}

static void add_side(struct grouper *g, enum lpo_diff_side side)
{
    const struct lpo_diff *d = g->d;
    const struct lpo_diff_digest *digest = d->shown[side];
    LPO_FREED uint32_t *kernels = lpo_diff_rows_of(d, LPO_DIFF_KERNELS, side);
    LPO_FREED uint32_t *regions = lpo_diff_rows_of(d, LPO_DIFF_REGIONS, side);

    for (size_t i = 0; i < digest->cells.len; i++) {
        const struct lpo_diff_cell *c = &digest->cells.at[i];
        uint32_t kernel, place, row;
        bool fresh;

        if (c->kernel & LPO_DIFF_IS_COPY || c->region == UINT32_MAX ||
            kernels[c->kernel] == UINT32_MAX || regions[c->region] == UINT32_MAX)
            continue;
        kernel = kernels[c->kernel];
        place = place_of(g, digest, regions[c->region], c->op_row);
        row = lpo_map_pair_put(&g->at, kernel, place, &fresh);
        if (fresh)
            lpo_vec_push(&g->cells, (struct cell){ .kernel = kernel, .place = place });
        g->cells.at[row].count[side] += (double)c->launches / d->length[side];
        g->cells.at[row].ns[side] += (double)c->ns / d->length[side];
        g->cells.at[row].wall_ns[side] += (double)c->wall_ns / d->units[side];
    }
}

/* More often in B, less often, or as often: 1, -1, 0. */
static int direction(const struct lpo_diff *d, const struct cell *c)
{
    double change = c->count[LPO_DIFF_B] - c->count[LPO_DIFF_A];
    double most = fmax(c->count[LPO_DIFF_A], c->count[LPO_DIFF_B]), cut = 0;

    if (d->unit && d->work.loose) /* a launch at either end of a capture is cut off */
        cut = 0.05 * most + 3 / fmin(d->units[LPO_DIFF_A], d->units[LPO_DIFF_B]);
    if (fabs(change) <= 0.005 * most + cut)
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
    r->grouped_ns += c->wall_ns[LPO_DIFF_B] - c->wall_ns[LPO_DIFF_A];
    out->wall_ns[LPO_DIFF_A] += c->wall_ns[LPO_DIFF_A];
    out->wall_ns[LPO_DIFF_B] += c->wall_ns[LPO_DIFF_B];
    if (direction(d, c) > 0) {
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

LPO_COMPARE(by_time, struct sized, LPO_DOWN(ns) ?: LPO_UP(kernel));

/* People are shown the first few of a group. */
static void largest_first(const struct lpo_diff *d, uint32_t *kernels, size_t n,
                          enum lpo_diff_side side)
{
    LPO_FREED struct sized *sized = lpo_xcalloc(n + 1, sizeof *sized);

    for (size_t i = 0; i < n; i++)
        sized[i] = (struct sized){ kernels[i],
                                   d->rows[LPO_DIFF_KERNELS].at[kernels[i]].amount[side].step_ns };
    qsort(sized, n, sizeof *sized, by_time);
    for (size_t i = 0; i < n; i++)
        kernels[i] = sized[i].kernel;
}

/* All cells that are at this place now: one group where some came and some went. */
static bool close_place(struct grouper *g, uint32_t place)
{
    struct lpo_diff *d = g->d;
    const struct lpo_diff_row *r = &d->rows[LPO_DIFF_REGIONS].at[g->places.at[place].region];
    struct lpo_diff_group out = { .region = r->item[r->item[LPO_DIFF_B] ? 1 : 0]->name,
                                  .op = g->places.at[place].op };
    bool seen[2] = { false, false };

    for (size_t i = 0; i < g->cells.len; i++)
        if (g->cells.at[i].place == place && direction(g->d, &g->cells.at[i]))
            seen[direction(g->d, &g->cells.at[i]) > 0] = true;
    if (!seen[0] || !seen[1])
        return false;
    for (size_t i = 0; i < g->cells.len; i++)
        if (g->cells.at[i].place == place && direction(g->d, &g->cells.at[i])) {
            add_rows(d, &out, &g->cells.at[i]);
            g->cells.at[i].place = UINT32_MAX;
        }
    largest_first(d, out.gone.at, out.gone.len, LPO_DIFF_A);
    largest_first(d, out.come.at, out.come.len, LPO_DIFF_B);
    out.fused = out.come_launches < out.gone_launches;
    lpo_vec_push(&d->groups, out);
    return true;
}

/* The cells of a place go on to the region around it. */
static void pass_on(struct grouper *g, uint32_t place)
{
    uint32_t outer = g->places.at[place].parent;

    for (size_t i = 0; i < g->cells.len; i++) {
        struct cell *c = &g->cells.at[i], *there;
        bool fresh;
        uint32_t row;

        if (c->place != place)
            continue;
        c->place = outer;
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
                there->wall_ns[side] += c->wall_ns[side];
            }
        }
        g->cells.at[i].place = UINT32_MAX;
    }
}

static void drop_unchanged(struct grouper *g)
{
    size_t kept = 0;
    bool fresh;

    lpo_map_pair_free(&g->at);
    g->at = (struct lpo_map_pair){ 0 };
    for (size_t i = 0; i < g->cells.len; i++)
        if (direction(g->d, &g->cells.at[i])) {
            lpo_map_pair_put(&g->at, g->cells.at[i].kernel, g->cells.at[i].place, &fresh);
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
    LPO_FREED uint32_t *place = lpo_xcalloc(n + 1, sizeof *place);
    LPO_FREED struct lpo_diff_group *sorted = lpo_xcalloc(n + 1, sizeof *sorted);

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
}

/* Places times changed cells: in two programs with nothing in common only the outermost regions
 * are looked at, because a full search would take minutes. */
enum { MOST_WORK = 20000000 };

void lpo_diff_compare_groups(struct lpo_diff *d)
{
    size_t regions = d->rows[LPO_DIFF_REGIONS].len;
    struct grouper g = { .d = d, .ops = lpo_map_create() };
    unsigned deepest = 0;

    for (uint32_t i = 0; i < regions; i++)
        lpo_vec_push(&g.places, (struct place){ .parent = UINT32_MAX, .region = i, .op = "" });
    add_regions(&g, LPO_DIFF_A);
    add_regions(&g, LPO_DIFF_B);
    add_side(&g, LPO_DIFF_A);
    add_side(&g, LPO_DIFF_B);
    drop_unchanged(&g);
    for (size_t i = 0; i < g.places.len; i++)
        deepest = g.places.at[i].depth > deepest ? g.places.at[i].depth : deepest;
    if (g.cells.len * (g.places.len + 1) > MOST_WORK)
        deepest = 0;
    for (unsigned depth = deepest + 1; depth-- > 0;)
        for (uint32_t i = 0; i < g.places.len && g.cells.len; i++)
            if (g.places.at[i].depth == depth && !close_place(&g, i))
                pass_on(&g, i);
    sort_groups(d);
    lpo_map_destroy(g.ops);
    lpo_map_pair_free(&g.at);
    lpo_vec_free(&g.cells);
    lpo_vec_free(&g.places);
}
