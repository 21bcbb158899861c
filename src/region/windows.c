/* SPDX-License-Identifier: Apache-2.0 */
#include "region/windows.h"

#include <stdlib.h>

#include "region/thread_rows.h"
#include "region/tree.h"
#include "util/map.h"

/* Windows are laid over samples of power or counters, which are too coarse for deeper levels. */
enum { DEEPEST = 8 };

struct sweep {
    const struct lpo_region_tree *tree;
    const struct lpo_process_ends *ends;
    struct lpo_region_windows *out;
    struct lpo_map_pair map; /* (parent, name and domain) of a region to a row of `nodes` */
    LPO_VEC(uint32_t) nodes;
    unsigned depth;
};

static uint64_t key(uint32_t name, uint16_t domain)
{
    return (uint64_t)domain << 32 | name;
}

static void index_nodes(struct sweep *s)
{
    const struct lpo_region_tree *tree = s->tree;

    for (size_t i = 0; i < tree->nodes.len; i++) {
        const struct lpo_region *n = &tree->nodes.at[i];
        bool fresh;

        if (n->kind != LPO_PUSH_POP || n->depth > s->depth)
            continue;
        lpo_map_pair_put(&s->map, n->parent, key(n->name, n->domain), &fresh);
        if (fresh)
            lpo_vec_push(&s->nodes, (uint32_t)i);
    }
}

/* LPO_NONE for a region that the tree does not have: ranges that overlap have another path there
 */
static uint32_t node_of(struct sweep *s, uint32_t parent, const struct lpo_range *r)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&s->map, parent, key(r->name, r->domain), &fresh);

    if (fresh)
        lpo_vec_push(&s->nodes, LPO_NONE);
    return s->nodes.at[row];
}

static bool range_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct sweep *s = ctx;
    const struct lpo_trace *t = s->tree->trace;
    const struct lpo_range *ra = &t->ranges.at[a], *rb = &t->ranges.at[b];

    if (ra->start_ns != rb->start_ns)
        return ra->start_ns < rb->start_ns;
    return lpo_region_range_end(s->ends, t, ra) > lpo_region_range_end(s->ends, t, rb);
}

static void sweep_thread(struct sweep *s, uint32_t *rows, size_t count)
{
    const struct lpo_trace *t = s->tree->trace;
    struct lpo_region_window open[DEEPEST + 1];
    size_t depth = 0;

    lpo_region_order_sort(rows, count, range_before, s);
    for (size_t i = 0; i < count; i++) {
        const struct lpo_range *r = &t->ranges.at[rows[i]];
        struct lpo_region_window w = { .start_ns = r->start_ns,
                                       .end_ns = lpo_region_range_end(s->ends, t, r) };

        while (depth && open[depth - 1].end_ns <= w.start_ns)
            depth--;
        if (depth > s->depth)
            continue;
        w.node = node_of(s, depth ? open[depth - 1].node : LPO_NONE, r);
        if (w.node == LPO_NONE)
            continue;
        open[depth++] = w;
        lpo_vec_push(&s->out->rows, w);
    }
}

static int by_node_and_time(const void *a, const void *b)
{
    const struct lpo_region_window *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Threads and processes may be in one region at once; the time counts once. */
static void merge(struct lpo_region_windows *w)
{
    size_t kept = 0;

    if (w->rows.len)
        qsort(w->rows.at, w->rows.len, sizeof *w->rows.at, by_node_and_time);
    for (size_t i = 0; i < w->rows.len; i++) {
        struct lpo_region_window next = w->rows.at[i], *last = kept ? &w->rows.at[kept - 1] : NULL;

        if (!last || last->node != next.node || next.start_ns > last->end_ns)
            w->rows.at[kept++] = next;
        else if (next.end_ns > last->end_ns)
            last->end_ns = next.end_ns;
    }
    w->rows.len = kept;
}

struct lpo_region_windows *lpo_region_windows_create(const struct lpo_region_tree *tree,
                                                     unsigned depth)
{
    struct lpo_group ranges = lpo_region_group_ranges(tree->trace, LPO_PUSH_POP);
    struct lpo_process_ends ends = lpo_region_ends_find(tree->trace);
    struct sweep s = { .tree = tree, .ends = &ends, .depth = depth < DEEPEST ? depth : DEEPEST };

    s.out = lpo_xcalloc(1, sizeof *s.out);
    index_nodes(&s);
    for (size_t i = 0; i < tree->trace->threads.len; i++)
        sweep_thread(&s, ranges.rows + ranges.starts[i], ranges.starts[i + 1] - ranges.starts[i]);
    merge(s.out);
    lpo_vec_free(&s.nodes);
    lpo_map_pair_free(&s.map);
    lpo_region_group_free(&ranges);
    lpo_region_ends_free(&ends);
    return s.out;
}

void lpo_region_windows_destroy(struct lpo_region_windows *w)
{
    if (!w)
        return;
    lpo_vec_free(&w->rows);
    free(w);
}
