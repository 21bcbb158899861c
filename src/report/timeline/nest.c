/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of one lane nest: what crosses another goes to a lane beside it. */

#include "report/doc/doc.h"
#include "report/timeline/private.h"

enum { MOST_BESIDE = 32 }; /* lanes that one lane may become */

static bool before(const void *figure, uint32_t x, uint32_t y)
{
    const struct lpo_figure *f = figure;
    const struct lpo_span *a = &f->spans.at[x], *b = &f->spans.at[y];

    if (a->lane != b->lane)
        return a->lane < b->lane;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
}

/* A lane, and the ends of its spans that are still open, innermost last. */
struct track {
    uint32_t lane;
    LPO_VEC(int64_t) open;
};

static bool fits(struct track *t, const struct lpo_span *s)
{
    while (t->open.len && t->open.at[t->open.len - 1] <= s->start_ns)
        t->open.len--;
    return !t->open.len || s->end_ns <= t->open.at[t->open.len - 1];
}

/* rows[0, count) are the spans of one lane in order; `moved` learns where an arrow now ends. */
static void nest_lane(struct lpo_figure *f, const uint32_t *rows, size_t count,
                      struct lpo_map *moved)
{
    struct track tracks[MOST_BESIDE] = { { .lane = f->spans.at[rows[0]].lane } };
    size_t ntracks = 1, k;

    for (size_t i = 0; i < count; i++) {
        struct lpo_span *s = &f->spans.at[rows[i]];
        int64_t key[2] = { s->lane, s->start_ns };

        for (k = 0; k < ntracks && !fits(&tracks[k], s); k++)
            ;
        if (k == MOST_BESIDE) /* as it was: better than no span at all */
            continue;
        if (k == ntracks) {
            const struct lpo_lane *first = &f->lanes.at[tracks[0].lane];

            tracks[ntracks++] =
                (struct track){ .lane = lpo_doc_figure_lane(
                                    f, first->group,
                                    lpo_arena_printf(f->arena, "%s (%zu)", first->name, k + 1)) };
        }
        lpo_vec_push(&tracks[k].open, s->end_ns);
        if (k > 0)
            *lpo_map_put(moved, (const char *)key, sizeof key, NULL) = tracks[k].lane;
        s->lane = tracks[k].lane;
    }
    for (k = 0; k < ntracks; k++)
        lpo_vec_free(&tracks[k].open);
}

static void move_arrow(const struct lpo_map *moved, uint32_t *lane, int64_t ns)
{
    int64_t key[2] = { *lane, ns };
    const uint64_t *to = lpo_map_find(moved, (const char *)key, sizeof key);

    if (to)
        *lane = (uint32_t)*to;
}

void lpo_timeline_nest(struct lpo_figure *f)
{
    LPO_FREED uint32_t *rows = lpo_xrealloc(NULL, f->spans.len + 1, sizeof *rows);
    struct lpo_map *moved = lpo_map_create();
    size_t n = f->spans.len;

    for (size_t i = 0; i < n; i++)
        rows[i] = (uint32_t)i;
    lpo_order_sort(rows, n, before, f);
    for (size_t i = 0; i < n;) {
        size_t from = i;
        uint32_t lane = f->spans.at[rows[i]].lane;

        while (i < n && f->spans.at[rows[i]].lane == lane)
            i++;
        nest_lane(f, rows + from, i - from, moved);
    }
    for (size_t i = 0; i < f->arrows.len; i++) {
        move_arrow(moved, &f->arrows.at[i].from, f->arrows.at[i].from_ns);
        move_arrow(moved, &f->arrows.at[i].to, f->arrows.at[i].to_ns);
    }
    lpo_map_destroy(moved);
}
