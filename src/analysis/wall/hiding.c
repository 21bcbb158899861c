/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/hiding.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "region/tree.h"
#include "trace/trace.h"
#include "util/map.h"
#include "util/search.h"
#include "util/xmalloc.h"

/* Pieces that all collectives together may be compared with; a real trace stays far below. */
enum { MOST_STEPS = 1 << 26 };

/* A time that belongs to one computing kernel; pieces do not overlap and stand in order. */
struct piece {
    int64_t start_ns, end_ns;
    uint32_t op;
};

struct lpo_wall_hiding_builder {
    const struct lpo_region_tree *tree;
    LPO_VEC(struct piece) pieces;
    int64_t covered_to;
    struct lpo_map *rows;
    struct lpo_wall_hiding out;
    uint64_t steps;
};

struct lpo_wall_hiding_builder *lpo_wall_hiding_begin(const struct lpo_region_tree *tree)
{
    struct lpo_wall_hiding_builder *b = lpo_xcalloc(1, sizeof *b);

    b->tree = tree;
    b->rows = lpo_map_create();
    b->covered_to = INT64_MIN;
    return b;
}

void lpo_wall_hiding_device(struct lpo_wall_hiding_builder *b)
{
    b->pieces.len = 0;
    b->covered_to = INT64_MIN;
}

void lpo_wall_hiding_compute(struct lpo_wall_hiding_builder *b, uint32_t op)
{
    const struct lpo_gpu_op *w = &b->tree->trace->gpu_ops.at[op];
    int64_t start = w->start_ns > b->covered_to ? w->start_ns : b->covered_to;

    if (w->end_ns <= start)
        return; /* all of it belongs to others */
    lpo_vec_push(&b->pieces, (struct piece){ start, w->end_ns, op });
    b->covered_to = w->end_ns;
}

/* The first piece that ends behind `ns`. */
static size_t first_after(const struct lpo_wall_hiding_builder *b, int64_t ns)
{
    size_t low = 0, high = b->pieces.len;

    lpo_search(low, high, middle, b->pieces.at[middle].end_ns <= ns);
    return low;
}

static void add(struct lpo_wall_hiding_builder *b, const char *kind, uint32_t op, int64_t ns)
{
    const struct lpo_gpu_op *w = &b->tree->trace->gpu_ops.at[op];
    uint32_t region = b->tree->places.at[lpo_region_place(b->tree, w)].leaf;
    uint32_t forward = b->tree->links.at[lpo_region_links_of(b->tree, w)].forward;
    bool backward = region == LPO_NONE && forward != LPO_NONE;
    uintptr_t key[4] = { (uintptr_t)kind, w->name, backward ? forward : region, backward };
    bool fresh;
    uint64_t *row = lpo_map_put(b->rows, (const char *)key, sizeof key, &fresh);

    if (fresh) {
        *row = b->out.rows.len;
        lpo_vec_push(&b->out.rows,
                     (struct lpo_wall_hiding_row){ .kind = kind,
                                                   .kernel = w->name,
                                                   .region = backward ? forward : region,
                                                   .backward = backward });
    }
    b->out.rows.at[*row].ns += ns;
    b->out.rows.at[*row].overlaps++;
}

void lpo_wall_hiding_collective(struct lpo_wall_hiding_builder *b, uint32_t op, const char *kind)
{
    const struct lpo_gpu_op *c = &b->tree->trace->gpu_ops.at[op];

    if (c->flags & LPO_GPU_OP_SHARE) /* when it ran inside its graph is not known */
        return;
    if (b->steps > MOST_STEPS) {
        b->out.left_out++;
        return;
    }
    for (size_t i = first_after(b, c->start_ns);
         i < b->pieces.len && b->pieces.at[i].start_ns < c->end_ns; i++) {
        const struct piece *p = &b->pieces.at[i];
        int64_t from = p->start_ns > c->start_ns ? p->start_ns : c->start_ns;
        int64_t to = p->end_ns < c->end_ns ? p->end_ns : c->end_ns;

        b->steps++;
        if (to > from)
            add(b, kind, p->op, to - from);
    }
}

static int most_first(const void *x, const void *y)
{
    const struct lpo_wall_hiding_row *a = x, *b = y;
    int kind = strcmp(a->kind, b->kind);

    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (kind)
        return kind;
    if (a->kernel != b->kernel)
        return a->kernel < b->kernel ? -1 : 1;
    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    return (int)a->backward - (int)b->backward;
}

void lpo_wall_hiding_end(struct lpo_wall_hiding_builder *b, struct lpo_wall_hiding *out)
{
    *out = b->out;
    if (out->rows.len)
        qsort(out->rows.at, out->rows.len, sizeof *out->rows.at, most_first);
    lpo_vec_free(&b->pieces);
    lpo_map_destroy(b->rows);
    free(b);
}
