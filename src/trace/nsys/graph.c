/* Which ranges were open when the nodes of a CUDA graph were captured.
 *
 * A graph's kernels run under the range that launched the graph, long after the code that issued
 * them; the rows of node creation tell the thread and the time of the capture. */
#include "trace/nsys/read.h"

#include <stdlib.h>

#include "util/err.h"
#include "util/idmap.h"

/* A node is made at capture and copied when the graph is instantiated; the copy runs. */
struct birth {
    uint64_t original; /* node it was copied from; 0: none */
    int64_t time_ns;
    uint32_t thread;
};

struct node {
    int64_t time_ns;
    uint32_t thread; /* LPO_NONE: not known */
    uint32_t stack;
};

struct graph {
    struct lpo_nsys_reading *r;
    struct lpo_idmap *births; /* node id to row of `all` */
    LPO_VEC(struct birth) all;
    struct node *nodes; /* as numbered in r->nodes */
    size_t count;
};

static int read_births(struct graph *g, const char *table, struct lpo_err *err)
{
    static const char *const names[] = { "start", "globalTid", "graphNodeId", "originalGraphNodeId",
                                         NULL };
    struct lpo_nsys_rows rows;
    int rc = lpo_nsys_begin(g->r->db, &rows, table, names, NULL, err);

    while (rc > 0 && lpo_nsys_step(g->r->db, &rows, g->r->t)) {
        bool fresh;
        uint32_t *slot;

        if (lpo_nsys_null(&rows, 2) || lpo_nsys_null(&rows, 1))
            continue;
        slot = lpo_idmap_put(g->births, (uint64_t)lpo_nsys_int(&rows, 2), &fresh);
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
        const uint32_t *row = lpo_idmap_find(g->births, node);

        if (!row)
            break;
        found = &g->all.at[*row];
        if (found->original == 0 || found->original == node)
            break;
        node = found->original;
    }
    return found;
}

static int by_thread_and_time(const void *a, const void *b, void *nodes)
{
    const struct node *x = (struct node *)nodes + *(const uint32_t *)a;
    const struct node *y = (struct node *)nodes + *(const uint32_t *)b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int by_thread_and_start(const void *a, const void *b, void *ranges)
{
    const struct lpo_range *x = (struct lpo_range *)ranges + *(const uint32_t *)a;
    const struct lpo_range *y = (struct lpo_range *)ranges + *(const uint32_t *)b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns); /* the outer one first */
}

typedef LPO_VEC(uint32_t) index_vec;

/* One walk: ranges open and close on the thread while the nodes' times pass by. */
static void sweep(struct graph *g, const index_vec *nodes, const index_vec *ranges)
{
    struct lpo_trace *t = g->r->t;
    LPO_VEC(const struct lpo_range *) open = { 0 };
    LPO_VEC(struct lpo_frame) frames = { 0 };
    size_t next = 0;

    for (size_t i = 0; i < nodes->len; i++) {
        struct node *n = &g->nodes[nodes->at[i]];
        size_t kept = 0;

        for (; next < ranges->len; next++) {
            const struct lpo_range *range = &t->ranges.at[ranges->at[next]];

            if (range->thread > n->thread ||
                (range->thread == n->thread && range->start_ns > n->time_ns))
                break;
            lpo_vec_push(&open, range);
        }
        frames.len = 0;
        for (size_t k = 0; k < open.len; k++) {
            const struct lpo_range *range = open.at[k];

            if (range->thread != n->thread || range->end_ns < n->time_ns)
                continue;
            open.at[kept++] = range;
            lpo_vec_push(&frames, (struct lpo_frame){ range->name, range->domain, range->kind, 0 });
        }
        open.len = kept;
        n->stack = lpo_trace_stack(t, frames.at, frames.len);
    }
    lpo_vec_free(&open);
    lpo_vec_free(&frames);
}

static void place(struct graph *g)
{
    struct lpo_trace *t = g->r->t;
    index_vec nodes = { 0 }, ranges = { 0 };

    for (uint32_t i = 0; i < g->count; i++) {
        if (g->nodes[i].thread != LPO_NONE)
            lpo_vec_push(&nodes, i);
    }
    for (size_t i = g->r->first_range; nodes.len && i < t->ranges.len; i++) {
        if (t->ranges.at[i].kind == LPO_PUSH_POP)
            lpo_vec_push(&ranges, (uint32_t)i);
    }
    if (nodes.len)
        qsort_r(nodes.at, nodes.len, sizeof *nodes.at, by_thread_and_time, g->nodes);
    if (ranges.len)
        qsort_r(ranges.at, ranges.len, sizeof *ranges.at, by_thread_and_start, t->ranges.at);
    sweep(g, &nodes, &ranges);
    lpo_vec_free(&nodes);
    lpo_vec_free(&ranges);
}

static void number_nodes(struct graph *g, const uint64_t *ids)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct birth *b = first_birth(g, ids[i]);

        g->nodes[i] = (struct node){ b ? b->time_ns : 0, b ? b->thread : LPO_NONE, LPO_NONE };
    }
}

int lpo_nsys_read_nodes(struct lpo_nsys_reading *r, struct lpo_err *err)
{
    struct graph g = { .r = r, .count = r->nodes.len };
    int rc;

    if (g.count == 0)
        return 0;
    g.births = lpo_idmap_create(0);
    g.nodes = lpo_xcalloc(g.count, sizeof *g.nodes);
    rc = read_births(&g, "CUDA_GRAPH_NODE_EVENTS", err);
    if (rc == 0 && g.all.len == 0)
        rc = read_births(&g, "CUDA_GRAPH_EVENTS", err); /* its name before 2023 */
    if (rc == 0) {
        number_nodes(&g, r->nodes.at);
        place(&g);
    }
    for (size_t i = r->first_gpu_op; i < r->t->gpu_ops.len; i++) {
        struct lpo_gpu_op *w = &r->t->gpu_ops.at[i];

        if (w->capture_stack != LPO_NONE)
            w->capture_stack = g.nodes[w->capture_stack].stack;
    }
    lpo_idmap_destroy(g.births);
    lpo_vec_free(&g.all);
    free(g.nodes);
    return rc;
}
