/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/graph.h"

#include <stdbool.h>

#include "collect/encode.h"
#include "collect/find_cupti.h"
#include "collect/gpu.h"
#include "collect/guard.h"
#include "collect/mem.h"
#include "lpo/trace_format.h"

enum {
    PIECE = 8 << 10,      /* bytes of one definition */
    ENTRY = 128,          /* the longest entry of a node */
    NODES_MOST = 1 << 18, /* of one graph */
    DEPTH_MOST = 8,       /* of child graphs */
};

#define NEEDED(field, name)                                                                        \
    {                                                                                              \
        name, offsetof(struct cu_graphs, field), true                                              \
    }

static const struct lpoc_entry entries[] = {
    NEEDED(nodes, "cuGraphGetNodes"),
    NEEDED(type, "cuGraphNodeGetType"),
    NEEDED(kernel, "cuGraphKernelNodeGetParams_v2"),
    NEEDED(copy, "cuGraphMemcpyNodeGetParams"),
    NEEDED(set, "cuGraphMemsetNodeGetParams"),
    NEEDED(child, "cuGraphChildGraphNodeGetGraph"),
    NEEDED(function_name, "cuFuncGetName"),
};

bool lpoc_graph_can_list(struct lpoc_gpu *g)
{
    return g->api.graph_exec_id && g->api.graph_node_id &&
           !lpoc_entries_find(lpoc_driver(), LPOC_ENTRIES(entries), &g->driver);
}

/* A graph while it is being listed. */
struct list {
    struct lpoc *owner;
    const struct cu_graphs *driver;
    uint32_t graph;
    uint32_t nodes;
    uint64_t last_node; /* of this piece */
    uint8_t *end;
    uint8_t piece[PIECE];
};

static void begin_piece(struct list *l)
{
    l->end = lpoc_put_v(l->piece, l->graph);
    *l->end++ = LPOT_GRAPH_MORE;
    l->last_node = 0;
}

static bool write_piece(struct list *l, unsigned state)
{
    struct lpoc *c = l->owner;
    uint8_t head[LPOC_VARINT_MAX];
    bool kept;

    l->piece[lpoc_put_v(head, l->graph) - head] = (uint8_t)state;
    lpoc_lock(&c->lock);
    /* Half of the log is for names: a program that instantiates a graph at every step must not fill
     * it. */
    kept = c->defs.used < c->defs.cap / 2 &&
           lpoc_defs_put(&c->defs, LPOT_DEF_GRAPH, l->piece, (size_t)(l->end - l->piece));
    lpoc_unlock(&c->lock);
    begin_piece(l);
    return kept;
}

/* Type and id of a node; its own fields follow. */
static bool begin_node(struct list *l, void *node, unsigned type)
{
    uint64_t id = 0;

    if (l->end + ENTRY > l->piece + PIECE && !write_piece(l, LPOT_GRAPH_MORE))
        return false;
    l->owner->gpu->api.graph_node_id(node, &id); /* 0: the range of its capture is not known */
    *l->end++ = (uint8_t)type;
    l->end = lpoc_put_z(l->end, (int64_t)(id - l->last_node));
    l->last_node = id;
    return true;
}

static bool add_kernel(struct list *l, void *node, unsigned depth)
{
    struct cu_kernel_node k = { .function = NULL };
    const char *name = NULL;

    (void)depth;
    if (l->driver->kernel(node, &k) != 0 || !k.function ||
        l->driver->function_name(&name, k.function) != 0 || !name ||
        !begin_node(l, node, LPOT_NODE_KERNEL))
        return false;
    l->end = lpoc_put_v(l->end, lpoc_kernel_name(l->owner, name));
    for (int i = 0; i < 3; i++)
        l->end = lpoc_put_v(l->end, k.grid[i]);
    for (int i = 0; i < 3; i++)
        l->end = lpoc_put_v(l->end, k.block[i]);
    l->end = lpoc_put_v(l->end, k.dynamic_shared);
    return true;
}

static bool add_bytes(struct list *l, void *node, unsigned type, uint64_t bytes)
{
    if (!begin_node(l, node, type))
        return false;
    l->end = lpoc_put_v(l->end, bytes);
    return true;
}

static bool add_copy(struct list *l, void *node, unsigned depth)
{
    struct cu_copy_node m = { .width = 0 };

    (void)depth;
    return !l->owner->knobs.copies ||
           (l->driver->copy(node, &m) == 0 &&
            add_bytes(l, node, LPOT_NODE_COPY, (uint64_t)m.width * m.height * m.depth));
}

static bool add_set(struct list *l, void *node, unsigned depth)
{
    struct cu_set_node m = { .width = 0 };

    (void)depth;
    return !l->owner->knobs.copies ||
           (l->driver->set(node, &m) == 0 &&
            add_bytes(l, node, LPOT_NODE_SET, (uint64_t)m.width * m.height * m.element));
}

static bool add_graph(struct list *l, void *graph, unsigned depth);

static bool add_child(struct list *l, void *node, unsigned depth)
{
    void *child = NULL;

    return depth < DEPTH_MOST && l->driver->child(node, &child) == 0 &&
           add_graph(l, child, depth + 1);
}

/* How often the body of a conditional node runs is decided on the GPU. */
static bool refuse(struct list *l, void *node, unsigned depth)
{
    (void)l, (void)node, (void)depth;
    return false;
}

static const struct {
    int type;
    bool (*add)(struct list *l, void *node, unsigned depth);
} types[] = {
    { CU_NODE_KERNEL, add_kernel }, { CU_NODE_COPY, add_copy },      { CU_NODE_SET, add_set },
    { CU_NODE_GRAPH, add_child },   { CU_NODE_CONDITIONAL, refuse },
};

/* Events, host calls and allocations are not in the list: CUPTI does not time them either. */
static bool add_node(struct list *l, void *node, unsigned depth)
{
    int type = 0;

    if (l->driver->type(node, &type) != 0)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].add(l, node, depth);
    return true;
}

static bool add_graph(struct list *l, void *graph, unsigned depth)
{
    size_t count = 0, room;
    bool whole = true;
    void **nodes;

    if (l->driver->nodes(graph, NULL, &count) != 0 || count > NODES_MOST - l->nodes)
        return false;
    if (!count)
        return true;
    room = count * sizeof *nodes;
    nodes = lpoc_map(room);
    if (!nodes)
        return false;
    whole = l->driver->nodes(graph, nodes, &count) == 0;
    l->nodes += (uint32_t)count;
    for (size_t i = 0; whole && i < count; i++)
        whole = add_node(l, nodes[i], depth);
    lpoc_unmap(nodes, room);
    return whole;
}

void lpoc_graph_list(struct lpoc *c, const struct cupti_call *call)
{
    const struct cu_instantiate_params *p = call->params;
    struct list *l = lpoc_map(sizeof *l); /* not on the program's stack: it may be small */
    bool listed = false;

    if (l && p && p->exec && *p->exec) {
        l->owner = c;
        l->driver = &c->gpu->driver;
        listed = c->gpu->api.graph_exec_id(*p->exec, &l->graph) == CUPTI_OK;
        begin_piece(l);
        listed = listed && add_graph(l, p->graph, 0) && write_piece(l, LPOT_GRAPH_LAST);
    }
    if (!listed)
        lpoc_count(c, LPOT_COUNT_GRAPHS_UNLISTED, 1);
    if (l)
        lpoc_unmap(l, sizeof *l);
}
