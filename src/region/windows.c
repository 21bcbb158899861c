/* SPDX-License-Identifier: Apache-2.0 */
#include "region/windows.h"

#include "region/tree.h"
#include "trace/host.h"

/* Windows are laid over samples of power or counters, which are too coarse for deeper levels. */
enum { DEEPEST = 8 };

struct sweep {
    const struct lpo_region_tree *tree;
    struct lpo_region_windows *out;
    unsigned depth;
};

/* LPO_NONE for a region that the tree does not have: ranges that overlap have another path there
 */
static uint32_t node_of(const struct sweep *s, uint32_t parent, const struct lpo_slice *r)
{
    return lpo_region_node_find(s->tree, parent, r->name, s->tree->trace->ranges.at[r->row].domain,
                                LPO_PUSH_POP);
}

static void sweep_thread(struct sweep *s, uint32_t thread)
{
    struct lpo_host_walk walk = lpo_host_walk(s->tree->trace, thread, LPO_HOST_RANGE);
    struct lpo_region_window open[DEEPEST + 1];
    struct lpo_slice r;
    size_t depth = 0;

    while (lpo_host_next(&walk, &r)) {
        struct lpo_region_window w = { .start_ns = r.start_ns, .end_ns = r.end_ns };

        while (depth && open[depth - 1].end_ns < w.end_ns)
            depth--;
        if (depth > s->depth)
            continue;
        w.node = node_of(s, depth ? open[depth - 1].node : LPO_NONE, &r);
        if (w.node == LPO_NONE)
            continue;
        open[depth++] = w;
        lpo_vec_push(&s->out->rows, w);
    }
}

LPO_COMPARE(by_node_and_time, struct lpo_region_window, LPO_UP(node) ?: LPO_UP(start_ns));

/* Threads and processes may be in one region at once; the time counts once. */
static void merge(struct lpo_region_windows *w)
{
    size_t kept = 0;

    lpo_vec_sort(&w->rows, by_node_and_time);
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
    struct sweep s = { .tree = tree, .depth = depth < DEEPEST ? depth : DEEPEST };

    s.out = lpo_xcalloc(1, sizeof *s.out);
    for (uint32_t i = 0; i < tree->trace->threads.len; i++)
        sweep_thread(&s, i);
    merge(s.out);
    return s.out;
}

void lpo_region_windows_destroy(struct lpo_region_windows *w)
{
    if (!w)
        return;
    lpo_vec_free(&w->rows);
    free(w);
}
