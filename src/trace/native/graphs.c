/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs that were recorded by whole launches, laid out into the kernels they ran.
 *
 * The file lists the nodes of each graph once and then times its launches. Which kernels ran, how
 * often and where they were captured is therefore exact; how long each took is not recorded, and
 * gets a share of the launch's time. A node gets its share of every launch of its graph: in
 * proportion to the mean time of the same launch shape outside graphs (a program warms up before it
 * captures), else of the same kernel, else of all kernels; copies and memsets by their bytes. The
 * shares of a launch add up to its measured time, to the nanosecond. */

#include "lpo/trace_format.h"
#include "trace/native/private.h"
#include "util/budget.h"

/* Mean times of GPU operations outside graphs, by a key of some bytes. */
struct mean {
    double ns; /* a hostile file may have more than an integer holds */
    double count;
};

struct means {
    struct lpo_map *rows;
    LPO_VEC(struct mean) at;
};

static void mean_add(struct means *m, const void *key, size_t len, const struct mean *add)
{
    bool fresh;
    uint64_t *row = lpo_map_put(m->rows, key, len, &fresh);

    if (fresh) {
        *row = m->at.len;
        lpo_vec_push(&m->at, (struct mean){ 0, 0 });
    }
    m->at.at[*row].ns += add->ns;
    m->at.at[*row].count += add->count;
}

/* Negative when there is none. */
static double mean_get(const struct means *m, const void *key, size_t len)
{
    const uint64_t *row = lpo_map_find(m->rows, key, len);
    const struct mean *at = row ? &m->at.at[*row] : NULL;

    return at && at->ns > 0 ? at->ns / at->count : -1;
}

/* What makes a launch shape, as far as a graph node has it. */
struct shape_key {
    uint32_t name, grid[3], block[3], dynamic_smem;
};

static struct shape_key key_of(const struct lpo_trace *t, uint32_t linker, uint32_t shape)
{
    struct shape_key k = { .name = linker };

    if (shape < t->shapes.len) {
        const struct lpo_shape *s = &t->shapes.at[shape];
        for (int i = 0; i < 3; i++) {
            k.grid[i] = s->grid[i];
            k.block[i] = s->block[i];
        }
        k.dynamic_smem = s->dynamic_smem;
    }
    return k;
}

struct eager {
    struct means shapes, names;
    struct mean all;      /* kernels */
    struct lpo_map *full; /* shape_key to a shape that knows its registers */
    double least_ns;      /* mean of the shortest shape; negative: none */
    double rate;          /* of device memory, bytes in a nanosecond; 0: unknown */
};

/* GPU operations of one kernel in one shape, or of one kind where they have no shape. */
struct group {
    struct mean mean;
    uint32_t linker, shape;
    uint8_t kind;
};

typedef LPO_VEC(struct group) groups;

/* Millions of GPU operations, a few hundred groups. */
static void gather(const struct native *n, groups *out)
{
    LPO_AUTO(lpo_map_u64) rows = lpo_map_u64_create(0);

    for (size_t i = n->first_gpu_op; i < n->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &n->trace->gpu_ops.at[i];
        uint64_t key =
            w->kind == LPO_KERNEL ? (uint64_t)w->linker << 32 | w->shape : UINT64_MAX - w->kind;
        uint32_t *row;
        bool fresh;

        if (w->flags & (LPO_GPU_OP_GRAPH | LPO_GPU_OP_NO_LENGTH))
            continue;
        row = lpo_map_u64_put(rows, key, &fresh);
        if (fresh) {
            *row = (uint32_t)out->len;
            lpo_vec_push(out, (struct group){ { 0, 0 }, w->linker, w->shape, w->kind });
        }
        out->at[*row].mean.ns += (double)lpo_trace_gpu_op_ns(w);
        out->at[*row].mean.count++;
    }
}

/* Bytes in a nanosecond that the memory of the fastest device moves at best; 0: unknown. */
static double bandwidth(const struct lpo_trace *t)
{
    double best = 0;

    for (size_t i = 0; i < t->devices.len; i++) {
        const struct lpo_device *d = &t->devices.at[i];
        double now = 2e-6 * d->mem_clock_khz * d->bus_bits / 8;
        best = now > best ? now : best;
    }
    return best;
}

static void learn(const struct native *n, struct eager *e)
{
    LPO_FREED groups all = { 0 };

    e->least_ns = -1;
    e->rate = bandwidth(n->trace);
    gather(n, &all);
    for (size_t i = 0; i < all.len; i++) {
        const struct group *g = &all.at[i];
        struct shape_key key = key_of(n->trace, g->linker, g->shape);
        double ns = g->mean.ns / g->mean.count;

        if (g->kind != LPO_KERNEL)
            continue;
        e->all.ns += g->mean.ns;
        e->all.count += g->mean.count;
        if (ns > 0 && (e->least_ns < 0 || ns < e->least_ns))
            e->least_ns = ns;
        mean_add(&e->shapes, &key, sizeof key, &g->mean);
        mean_add(&e->names, &g->linker, sizeof g->linker, &g->mean);
        *lpo_map_put(e->full, (const char *)&key, sizeof key, NULL) = g->shape;
    }
}

/* Copies and memsets inside graphs move device memory; those outside, to and from the host, say
 * nothing about them. As long as the shortest kernel, and what the bytes take; negative: unknown.
 */
static double move_ns(const struct native_graph_node *node, const struct eager *e)
{
    if (e->least_ns < 0 || e->rate <= 0)
        return -1;
    return e->least_ns + (double)node->bytes * (node->kind == LPO_COPY ? 2 : 1) / e->rate;
}

static double weight_of(struct native *n, struct native_graph_node *node, const struct eager *e,
                        bool *own)
{
    struct shape_key key = key_of(n->trace, node->linker, node->shape);
    const uint64_t *full = lpo_map_find(e->full, (const char *)&key, sizeof key);
    double ns = -1;

    if (node->kind == LPO_KERNEL) {
        if (full)
            node->shape = (uint32_t)*full;
        ns = mean_get(&e->shapes, &key, sizeof key);
        if (ns < 0)
            ns = mean_get(&e->names, &node->linker, sizeof node->linker);
    }
    *own = ns >= 0;
    if (node->kind != LPO_KERNEL)
        ns = move_ns(node, e);
    if (ns < 0 && e->all.ns > 0)
        ns = e->all.ns / e->all.count;
    return ns < 0 ? 1 : ns;
}

/* Each node's end as a part of the launch, 0 … 1. */
static void weigh(struct native *n, struct native_graph *g, const struct eager *e)
{
    double sum = 0, before = 0;

    for (size_t i = 0; i < g->nodes.len; i++) {
        bool own;
        g->nodes.at[i].until = weight_of(n, &g->nodes.at[i], e, &own);
        g->unseen += g->nodes.at[i].kind == LPO_KERNEL && !own;
        sum += g->nodes.at[i].until;
    }
    for (size_t i = 0; i < g->nodes.len; i++) {
        before += g->nodes.at[i].until;
        g->nodes.at[i].until = before / sum;
    }
    if (g->nodes.len)
        g->nodes.at[g->nodes.len - 1].until = 1;
}

static void eager_free(struct eager *e)
{
    struct means *all[] = { &e->shapes, &e->names };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        lpo_map_destroy(all[i]->rows);
        lpo_vec_free(&all[i]->at);
    }
    lpo_map_destroy(e->full);
}

static void weigh_graphs(struct native *n)
{
    struct eager e = { .shapes = { .rows = lpo_map_create() },
                       .names = { .rows = lpo_map_create() },
                       .full = lpo_map_create() };

    learn(n, &e);
    for (size_t i = 0; i < n->graphs.len; i++)
        weigh(n, &n->graphs.at[i], &e);
    eager_free(&e);
}

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
            node.kind = copy ? LPO_COPY : LPO_MEMSET;
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

    w.flags = (uint8_t)((w.flags & ~LPO_GPU_OP_WHOLE) | LPO_GPU_OP_SHARE);
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
    /* as many as are kept of a trace of single kernels, at 8 bytes each */
    if (laid + g->nodes.len > lpo_budget()->gpu_record_bytes / 8) {
        n->unlaid++;
        return NULL;
    }
    return g;
}

void lpo_native_lay_out_graphs(struct native *n)
{
    size_t count = n->trace->gpu_ops.len - n->first_gpu_op, laid = 0, next = 0;
    LPO_FREED struct lpo_gpu_op *read = NULL;

    /* the only record of a damaged file may break off behind the number of its graph */
    if (n->wholes.len == 0 || count == 0)
        return;
    weigh_graphs(n);
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
}
