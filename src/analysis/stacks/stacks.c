/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/stacks/stacks.h"

#include "analysis/power/power.h"
#include "analysis/power/regions.h"
#include "region/tree.h"
#include "trace/host.h"

enum { SLICES = LPO_HOST_SLICES, LAYERS = 3 };

static const char *const weights[] = { "gpu", "exposed", "idle", "bytes", "host", "energy" };
static const char *const kinds[] = { "region", "module", "line",   "operator", "call",
                                     "kernel", "copy",   "memset", "backward" };

struct build {
    const struct lpo_region_tree *tree;
    const struct lpo_trace *t;
    struct lpo_stacks *s;
    struct lpo_map_pair names, children; /* (kind, name), then (parent, that) */
    uint32_t *node_of;                   /* children's rows to nodes: the same numbers */
    uint32_t *launch_node;               /* per launch: the node around it; LPO_NONE: none */
    uint64_t room;                       /* how much wider all nodes may get */
    const struct lpo_power *power;       /* NULL: not known */
};

const char *lpo_stacks_weight_name(enum lpo_stack_weight weight)
{
    return weights[weight];
}

const char *lpo_stacks_weight_unit(enum lpo_stack_weight weight)
{
    return weight == LPO_STACK_BYTES    ? "bytes"
           : weight == LPO_STACK_ENERGY ? "microjoules"
                                        : "nanoseconds";
}

enum lpo_stack_weight lpo_stacks_weight_of(const char *name)
{
    int i = 0;

    while (i < LPO_STACK_WEIGHTS && strcmp(name, weights[i]) != 0)
        i++;
    return (enum lpo_stack_weight)i;
}

const char *lpo_stacks_kind_name(enum lpo_stack_kind kind)
{
    return kinds[kind];
}

const char *lpo_stacks_text(const struct lpo_region_tree *tree, const struct lpo_stack_node *node,
                            size_t *len)
{
    const char *text = node->kind == LPO_STACK_BACKWARD ? "(backward)" : "(unknown)";

    if (node->name == LPO_NONE) {
        *len = strlen(text);
        return text;
    }
    *len = lpo_trace_text_len(tree->trace, node->name);
    return lpo_trace_text(tree->trace, node->name);
}

/* A frame in a file: its name, and a number where frames are shared. */
static uint32_t width_of(const struct build *b, uint32_t name)
{
    enum { LEAST = 16, MOST = 400 };
    size_t len = name == LPO_NONE ? 0 : lpo_trace_text_len(b->t, name);

    return len < LEAST ? LEAST : len > MOST ? MOST : (uint32_t)len;
}

/* Is there room for one more? What runs on a GPU is let in where its call just was. */
static bool fits(const struct build *b, const struct lpo_stack_node *n)
{
    bool leaf = n->kind >= LPO_STACK_KERNEL && n->kind <= LPO_STACK_MEMSET;

    return b->s->nodes.len < LPO_STACKS_MOST && n->depth < LPO_STACKS_DEEPEST + leaf &&
           n->width <= b->room;
}

/* The node of this name below `parent`, made when it is new; the parent where there are too many.
 */
static uint32_t enter_node(struct build *b, uint32_t parent, enum lpo_stack_kind kind,
                           uint32_t name)
{
    bool fresh;
    uint32_t what = lpo_map_pair_put(&b->names, (uint64_t)kind, name, &fresh), row;
    struct lpo_stack_node n = { .parent = parent, .name = name, .kind = (uint8_t)kind };

    row = lpo_map_pair_find(&b->children, parent, what);
    if (row != UINT32_MAX)
        return row;
    n.width = width_of(b, name);
    if (parent != LPO_NONE) {
        n.depth = b->s->nodes.at[parent].depth + 1;
        n.width += b->s->nodes.at[parent].width;
        if (!fits(b, &n)) {
            b->s->folded++;
            return parent;
        }
        b->room -= n.width;
    }
    row = lpo_map_pair_put(&b->children, parent, what, &fresh);
    lpo_vec_push(&b->s->nodes, n);
    return row;
}

static void add_own(struct build *b, uint32_t node, enum lpo_stack_weight weight, int64_t amount)
{
    if (node != LPO_NONE)
        b->s->nodes.at[node].own[weight] += amount;
}

/* --- the host: a walk over each thread ------------------------------------------------------ */

struct open_slice {
    int64_t end_ns;
    uint32_t node;
    bool call; /* launches are not shown below the call that made them */
};

typedef LPO_VEC(struct open_slice) open_slices;

enum lpo_stack_kind lpo_stacks_kind_of(uint32_t host_kind)
{
    switch (host_kind) {
    case LPO_HOST_MODULE:
        return LPO_STACK_MODULE;
    case LPO_HOST_PYTHON:
        return LPO_STACK_LINE;
    case LPO_HOST_OP:
        return LPO_STACK_OPERATOR;
    case LPO_HOST_CALL:
        return LPO_STACK_CALL;
    default:
        return LPO_STACK_REGION;
    }
}

/* The innermost open slice that this one lies in. */
static uint32_t parent_of(const open_slices *open, int64_t end_ns, bool any)
{
    for (size_t i = open->len; i-- > 0;)
        if (open->at[i].end_ns >= end_ns && (any || !open->at[i].call))
            return open->at[i].node;
    return LPO_NONE;
}

static void close_slices(open_slices *open, int64_t now_ns)
{
    while (open->len && open->at[open->len - 1].end_ns <= now_ns)
        open->len--;
}

static void walk_thread(struct build *b, uint32_t thread, open_slices *open)
{
    struct lpo_host_walk w = lpo_host_walk(b->t, thread, SLICES | LPO_HOST_LAUNCH);
    struct lpo_slice s;

    open->len = 0;
    while (lpo_host_next(&w, &s)) {
        bool call = s.kind == LPO_HOST_CALL;
        uint32_t parent, node;

        close_slices(open, s.start_ns);
        if (s.kind == LPO_HOST_LAUNCH) {
            b->launch_node[s.row] = parent_of(open, s.end_ns, false);
            continue;
        }
        parent = parent_of(open, s.end_ns, false);
        node = enter_node(b, parent, lpo_stacks_kind_of(s.kind), s.name);
        if (node == parent) /* too many */
            continue;
        b->s->nodes.at[node].count++;
        add_own(b, node, LPO_STACK_HOST, s.end_ns - s.start_ns);
        add_own(b, parent_of(open, s.end_ns, true), LPO_STACK_HOST, s.start_ns - s.end_ns);
        if (open->len < LPO_HOST_DEPTH)
            lpo_vec_push(open, (struct open_slice){ s.end_ns, node, call });
    }
}

/* --- the GPU -------------------------------------------------------------------------------- */

static uint32_t enter_region(struct build *b, uint32_t leaf)
{
    const struct lpo_region *r = leaf == LPO_NONE ? NULL : &b->tree->nodes.at[leaf];

    return r ? enter_node(b, enter_region(b, r->parent), LPO_STACK_REGION, r->name) : LPO_NONE;
}

/* Copies the nodes from the top down to `from` below `to`. */
static uint32_t enter_again(struct build *b, uint32_t to, uint32_t from)
{
    struct lpo_stack_node n;

    if (from == LPO_NONE)
        return to;
    n = b->s->nodes.at[from];
    return enter_node(b, enter_again(b, to, n.parent), (enum lpo_stack_kind)n.kind, n.name);
}

/* The node around the launch of an operation. */
static uint32_t around(struct build *b, const struct lpo_gpu_op *op)
{
    const struct lpo_region_tree *tree = b->tree;
    uint32_t own = op->launch == LPO_NONE ? LPO_NONE : b->launch_node[op->launch], forward;

    if (op->launch != LPO_NONE && tree->launch_links) {
        forward = tree->links.at[tree->launch_links[op->launch]].forward;
        if (forward != LPO_NONE)
            return enter_again(
                b, enter_node(b, enter_region(b, forward), LPO_STACK_BACKWARD, LPO_NONE), own);
    }
    if (own != LPO_NONE)
        return own;
    return enter_region(b, tree->places.at[lpo_region_place(tree, op)].leaf);
}

static const enum lpo_stack_kind leaf_kinds[] = {
    [LPO_KERNEL] = LPO_STACK_KERNEL, [LPO_COPY] = LPO_STACK_COPY, [LPO_MEMSET] = LPO_STACK_MEMSET
};

/* Computing, communicating, copying: what hides the others first. */
static unsigned layer_of(const struct lpo_region_tree *tree, const struct lpo_gpu_op *op)
{
    if (op->kind != LPO_KERNEL)
        return 2;
    return lpo_region_tree_class(tree, op->name) == LPO_CLASS_COLLECTIVE;
}

struct span {
    int64_t start_ns, end_ns;
};

typedef LPO_VEC(struct span) spans;

/* Of [start, end), what `cover`, in order, leaves open; *at is where to begin looking. */
static int64_t uncovered(const spans *cover, size_t *at, int64_t start_ns, int64_t end_ns)
{
    int64_t left = end_ns - start_ns;

    while (*at < cover->len && cover->at[*at].end_ns <= start_ns)
        ++*at;
    for (size_t i = *at; i < cover->len && cover->at[i].start_ns < end_ns; i++) {
        int64_t from = cover->at[i].start_ns > start_ns ? cover->at[i].start_ns : start_ns;
        int64_t to = cover->at[i].end_ns < end_ns ? cover->at[i].end_ns : end_ns;

        left -= to - from;
    }
    return left;
}

/* The operations of one device, in order of their starts. */
struct device {
    const uint32_t *rows; /* of gpu_ops */
    size_t count;
    const uint32_t *nodes;             /* per row of gpu_ops */
    const struct lpo_power_gpu *power; /* its samples; NULL: none */
};

/* What the GPU used in `ns` of the time between two moments of the trace; 0: not known. */
static int64_t energy_of(const struct build *b, const struct device *d, int64_t from_ns,
                         int64_t to_ns, int64_t ns)
{
    int64_t from, to;
    struct lpo_measure joules;

    if (!d->power || __builtin_add_overflow(from_ns, b->t->epoch_ns, &from) ||
        __builtin_add_overflow(to_ns, b->t->epoch_ns, &to))
        return 0;
    joules = lpo_power_joules(d->power, from, to);
    return lpo_measure_known(joules)
               ? llround(joules.value * 1e6 * (double)ns / (double)(to_ns - from_ns))
               : 0;
}

/* One layer: what of it is seen beside the layers before, which cover `before`. */
static void expose_layer(struct build *b, const struct device *d, unsigned layer,
                         const spans *before)
{
    int64_t seen_ns = INT64_MIN;
    size_t at = 0;

    for (size_t i = 0; i < d->count; i++) {
        const struct lpo_gpu_op *op = &b->t->gpu_ops.at[d->rows[i]];
        int64_t from = op->start_ns > seen_ns ? op->start_ns : seen_ns, ns;

        if (layer_of(b->tree, op) != layer || from >= op->end_ns)
            continue;
        ns = uncovered(before, &at, from, op->end_ns);
        add_own(b, d->nodes[d->rows[i]], LPO_STACK_EXPOSED, ns);
        add_own(b, d->nodes[d->rows[i]], LPO_STACK_ENERGY, energy_of(b, d, from, op->end_ns, ns));
        seen_ns = op->end_ns;
    }
}

/* The union of all layers up to this one; with the last, idle times at what ends them. */
static void cover_layers(struct build *b, const struct device *d, unsigned upto, spans *out)
{
    out->len = 0;
    for (size_t i = 0; i < d->count; i++) {
        const struct lpo_gpu_op *op = &b->t->gpu_ops.at[d->rows[i]];
        struct span *last = out->len ? &out->at[out->len - 1] : NULL;

        if (layer_of(b->tree, op) > upto)
            continue;
        if (!last || op->start_ns > last->end_ns) {
            if (last && upto == LAYERS - 1)
                add_own(b, d->nodes[d->rows[i]], LPO_STACK_IDLE, op->start_ns - last->end_ns);
            lpo_vec_push(out, (struct span){ op->start_ns, op->end_ns });
        } else if (op->end_ns > last->end_ns) {
            last->end_ns = op->end_ns;
        }
    }
}

static bool starts_before(const void *trace, uint32_t x, uint32_t y)
{
    const struct lpo_trace *t = trace;
    const struct lpo_gpu_op *a = &t->gpu_ops.at[x], *b = &t->gpu_ops.at[y];

    return a->device != b->device ? a->device < b->device : a->start_ns < b->start_ns;
}

static void split_device(struct build *b, const struct device *d)
{
    LPO_FREED spans cover = { 0 };

    for (unsigned layer = 0; layer < LAYERS; layer++) {
        expose_layer(b, d, layer, &cover);
        cover_layers(b, d, layer, &cover);
    }
}

static void add_operations(struct build *b)
{
    const struct lpo_trace *t = b->t;
    LPO_FREED uint32_t *rows = lpo_xmalloc((t->gpu_ops.len + 1) * sizeof *rows);
    LPO_FREED uint32_t *nodes = lpo_xmalloc((t->gpu_ops.len + 1) * sizeof *nodes);
    size_t count = 0;

    for (uint32_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        nodes[i] = enter_node(b, around(b, op), leaf_kinds[op->kind], op->name);
        if (nodes[i] != LPO_NONE)
            b->s->nodes.at[nodes[i]].count++;
        add_own(b, nodes[i], LPO_STACK_BYTES, (int64_t)op->bytes);
        if (!(op->flags & LPO_GPU_OP_NO_LENGTH))
            add_own(b, nodes[i], LPO_STACK_GPU, op->end_ns - op->start_ns);
        if (!(op->flags & (LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH)))
            rows[count++] = i;
    }
    lpo_order_sort(rows, count, starts_before, t);
    for (size_t i = 0, end; i < count; i = end) {
        uint16_t device = t->gpu_ops.at[rows[i]].device;

        for (end = i; end < count && t->gpu_ops.at[rows[end]].device == device; end++)
            ;
        split_device(
            b, &(struct device){ rows + i, end - i, nodes, lpo_power_gpu_of(b->power, t, device) });
    }
}

struct lpo_stacks *lpo_stacks_create(const struct lpo_region_tree *tree,
                                     const struct lpo_power *power)
{
    const struct lpo_trace *t = tree->trace;
    struct build b = { .tree = tree, .t = t, .s = lpo_xcalloc(1, sizeof *b.s), .power = power };
    uint64_t rows =
        t->ranges.len + t->python.len + t->ops.len + lpo_trace_call_count(t) + t->gpu_ops.len;
    LPO_FREED open_slices open = { 0 };

    b.room = (rows + 4096) * LPO_STACKS_WIDTH;
    b.launch_node = lpo_xmalloc((t->launches.len + 1) * sizeof *b.launch_node);
    for (size_t i = 0; i < t->launches.len; i++)
        b.launch_node[i] = LPO_NONE;
    for (uint32_t i = 0; i < t->threads.len; i++)
        walk_thread(&b, i, &open);
    add_operations(&b);
    free(b.launch_node);
    lpo_map_pair_free(&b.names);
    lpo_map_pair_free(&b.children);
    return b.s;
}

void lpo_stacks_destroy(struct lpo_stacks *s)
{
    if (s)
        lpo_vec_free(&s->nodes);
    free(s);
}
