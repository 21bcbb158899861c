/* CUDA graphs that were recorded by whole launches, laid out into the kernels they ran.
 *
 * The file lists the nodes of each graph once and then times its launches. Which kernels ran, how
 * often and where they were captured is therefore exact; how long each took is not recorded, and
 * gets a share of the launch's time (native_share.c). The shares of a launch add up to its measured
 * time, to the nanosecond. */
#include <stdlib.h>
#include <string.h>

#include "lpo/trace_format.h"
#include "trace/native/state.h"

enum { GPU_OPS_MOST = 8 << 20 }; /* of one file: as many as a large trace of single kernels has */

static struct native_graph *graph_of(struct native *n, uint64_t id)
{
    bool fresh;
    uint32_t *row = lpo_map_u64_put(n->by_graph, id, &fresh);

    if (fresh) {
        *row = (uint32_t)n->graphs.len;
        lpo_vec_push(&n->graphs, (struct native_graph){ .complete = false });
    }
    return &n->graphs.at[*row];
}

static struct native_graph_node kernel_node(struct native *n, uint64_t id, struct lpo_cursor *c)
{
    uint64_t string = lpo_native_get_v(c);
    struct lpo_shape shape = { .registers = LPO_NONE, .static_smem = LPO_NONE };

    for (int i = 0; i < 3; i++)
        shape.grid[i] = (uint32_t)lpo_native_get_v(c);
    for (int i = 0; i < 3; i++)
        shape.block[i] = (uint32_t)lpo_native_get_v(c);
    shape.dynamic_smem = (uint32_t)lpo_native_get_v(c);
    return (struct native_graph_node){ .id = id,
                                       .kind = LPO_KERNEL,
                                       .name = lpo_native_kernel_name(n, string),
                                       .linker = lpo_native_name(n, string),
                                       .shape = lpo_trace_shape(n->trace, &shape) };
}

void lpo_native_define_graph(struct native *n, struct lpo_cursor *c)
{
    struct native_graph *g = graph_of(n, lpo_native_get_v(c));
    unsigned state = lpo_native_get_byte(c);
    uint64_t id = 0;

    while (!c->bad && c->at < c->end && !g->complete) { /* what comes after the last is ignored */
        unsigned type = lpo_native_get_byte(c);
        struct native_graph_node node = { .shape = LPO_NONE };

        id += (uint64_t)lpo_native_get_z(c);
        if (type == LPOT_NODE_KERNEL) {
            node = kernel_node(n, id, c);
        } else if (type == LPOT_NODE_COPY || type == LPOT_NODE_SET) {
            bool copy = type == LPOT_NODE_COPY;
            node.id = id;
            node.kind = copy ? LPO_COPY : LPO_SET;
            node.name =
                lpo_trace_name(n->trace, copy ? "Memcpy (CUDA graph)" : "Memset (CUDA graph)");
            node.bytes = lpo_native_get_v(c);
        } else {
            c->bad = true; /* a later version's: the list would not be complete */
        }
        if (!c->bad)
            lpo_vec_push(&g->nodes, node);
    }
    g->broken |= c->bad;
    g->complete |= state == LPOT_GRAPH_LAST;
}

/* Between the end of the node before it and the end of the launch, whatever rounding says. */
static int64_t end_of(const struct lpo_gpu_op *launch, const struct native_graph_node *node,
                      int64_t start)
{
    int64_t end =
        launch->start_ns + (int64_t)(node->until * (double)lpo_trace_gpu_op_ns(launch) + 0.5);

    return end < start ? start : end > launch->end_ns ? launch->end_ns : end;
}

static struct lpo_gpu_op part_of(struct native *n, const struct lpo_gpu_op *launch,
                                 const struct native_graph_node *node, int64_t start)
{
    struct lpo_gpu_op w = *launch;

    w.flags = (uint8_t)((w.flags & ~LPO_WORK_WHOLE) | LPO_WORK_SHARE);
    w.kind = node->kind;
    w.name = node->name;
    w.linker = node->linker;
    w.shape = node->shape;
    w.bytes = node->bytes;
    w.capture = node->id ? lpo_native_capture(n, node->id) : LPO_NONE;
    w.start_ns = start;
    w.end_ns = end_of(launch, node, start);
    return w;
}

static void lay_out(struct native *n, const struct native_graph *g, const struct lpo_gpu_op *launch)
{
    int64_t start = launch->start_ns;

    for (size_t i = 0; i < g->nodes.len; i++) {
        struct lpo_gpu_op w = part_of(n, launch, &g->nodes.at[i], start);

        if (i + 1 == g->nodes.len)
            w.end_ns = launch->end_ns;
        start = w.end_ns;
        lpo_vec_push(&n->trace->gpu_ops, w);
    }
    n->unseen_shares += g->unseen;
}

/* The graph of a whole launch, if its nodes are listed and there is room for them. */
static const struct native_graph *listed(struct native *n, const struct native_whole *whole,
                                         size_t laid)
{
    const struct native_graph *g = &n->graphs.at[whole->graph];

    if (!g->complete || g->broken || g->nodes.len == 0)
        return NULL;
    if (laid + g->nodes.len > GPU_OPS_MOST) {
        n->unlaid++;
        return NULL;
    }
    return g;
}

void lpo_native_lay_out_graphs(struct native *n)
{
    size_t count = n->trace->gpu_ops.len - n->first_gpu_op, laid = 0, next = 0;
    struct lpo_gpu_op *read;

    if (n->wholes.len == 0)
        return;
    lpo_native_weigh_graphs(n);
    read = lpo_xcalloc(count, sizeof *read);
    memcpy(read, n->trace->gpu_ops.at + n->first_gpu_op, count * sizeof *read);
    n->trace->gpu_ops.len = n->first_gpu_op;
    for (size_t i = 0; i < count; i++) {
        const struct native_graph *g = NULL;

        if (next < n->wholes.len && n->wholes.at[next].op == i)
            g = listed(n, &n->wholes.at[next++], laid);
        if (g) {
            lay_out(n, g, &read[i]);
            laid += g->nodes.len;
        } else {
            lpo_vec_push(&n->trace->gpu_ops, read[i]);
        }
    }
    free(read);
}
