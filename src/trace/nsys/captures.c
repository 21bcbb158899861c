/* SPDX-License-Identifier: Apache-2.0 */
/* When the nodes of a CUDA graph were captured, and on which thread.
 *
 * A graph's kernels run under the range that launched the graph, long after the code that issued
 * them; the rows of node creation say where that code was. */
#include "trace/nsys/private.h"

#include <stdlib.h>

#include "util/err.h"
#include "util/map.h"

/* A node is made at capture and copied when the graph is instantiated; the copy runs. */
struct birth {
    uint64_t original; /* node it was copied from; 0: none */
    int64_t time_ns;
    uint32_t thread;
};

struct graph {
    struct lpo_nsys_reading *r;
    struct lpo_map_u64 *births; /* node id to row of `all` */
    LPO_VEC(struct birth) all;
};

static int read_births(struct graph *g, const char *table, struct lpo_err *err)
{
    static const char *const names[] = { "start", "globalTid", "graphNodeId", "originalGraphNodeId",
                                         NULL };
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(g->r->db, &rows, table, names, err);

    while (rc > 0 && lpo_nsys_step(&rows, g->r->t)) {
        bool fresh;
        uint32_t *slot;

        if (lpo_nsys_null(&rows, 2) || lpo_nsys_null(&rows, 1))
            continue;
        slot = lpo_map_u64_put(g->births, (uint64_t)lpo_nsys_int(&rows, 2), &fresh);
        if (!fresh)
            continue;
        *slot = (uint32_t)g->all.len;
        lpo_vec_push(&g->all, (struct birth){ (uint64_t)lpo_nsys_int(&rows, 3),
                                              lpo_nsys_time(g->r, &rows, 0),
                                              lpo_nsys_thread(g->r, lpo_nsys_int(&rows, 1)) });
    }
    lpo_nsys_end(&rows);
    return rc < 0 ? rc : 0;
}

/* Back to the node that was captured; copies of copies are few, and a loop is damage. */
static const struct birth *first_birth(const struct graph *g, uint64_t node)
{
    const struct birth *found = NULL;

    for (int hops = 0; hops < 16; hops++) {
        const uint32_t *row = lpo_map_u64_find(g->births, node);

        if (!row)
            break;
        found = &g->all.at[*row];
        if (found->original == 0 || found->original == node)
            break;
        node = found->original;
    }
    return found;
}

int lpo_nsys_read_nodes(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    struct graph g = { .r = r };
    int rc;

    if (r->nodes.len == 0)
        return 0;
    g.births = lpo_map_u64_create(0);
    rc = read_births(&g, "CUDA_GRAPH_NODE_EVENTS", err);
    if (rc == 0 && g.all.len == 0)
        rc = read_births(&g, "CUDA_GRAPH_EVENTS", err); /* its name before 2023 */
    for (size_t i = 0; rc == 0 && i < r->nodes.len; i++) {
        const struct birth *b = first_birth(&g, r->nodes.at[i]);

        if (b)
            r->t->captures.at[r->first_capture + i] = (struct lpo_capture){ b->time_ns, b->thread };
    }
    lpo_map_u64_destroy(g.births);
    lpo_vec_free(&g.all);
    return rc;
}
