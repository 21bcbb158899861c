/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of GPU records: kernels, copies, memsets, and graphs timed as a whole. */

#include "lpo/trace_format.h"
#include "trace/native/private.h"

static const char *const copy_names[] = { "?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                          "AtoD", "DtoA", "DtoD", "HtoH", "PtoP" };
static const char *const memory_names[] = {
    "Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"
};

#define NAME_AT(table, i) ((i) < sizeof(table) / sizeof *(table) ? (table)[i] : (table)[0])

/* The names that PyTorch's profiler uses, so that two traces of one program can be compared. */
static uint32_t copy_name(struct native *n, unsigned kind, unsigned source, unsigned target)
{
    LPO_STR s = { 0 };

    lpo_str_addf(&s, "Memcpy %s (%s -> %s)", NAME_AT(copy_names, kind),
                 NAME_AT(memory_names, source), NAME_AT(memory_names, target));
    return lpo_trace_namen(n->trace, s.at, s.len);
}

static uint32_t set_name(struct native *n, unsigned memory)
{
    LPO_STR s = { 0 };

    lpo_str_addf(&s, "Memset (%s)", NAME_AT(memory_names, memory));
    return lpo_trace_namen(n->trace, s.at, s.len);
}

static uint32_t graph_name(struct native *n, uint64_t graph)
{
    LPO_STR s = { 0 };

    lpo_str_addf(&s, "CUDA graph %llu", (unsigned long long)graph);
    return lpo_trace_namen(n->trace, s.at, s.len);
}

static void on_place(struct native *n, unsigned flags, struct lpo_cursor *c)
{
    uint64_t device = lpo_native_get_v(c), context = lpo_native_get_v(c), stream;

    (void)flags;
    stream = lpo_native_get_v(c);
    if (!c->bad)
        lpo_vec_push(&n->places,
                     (struct native_place){
                         (uint32_t)stream, (uint32_t)context,
                         lpo_trace_device(n->trace, (int32_t)(device & INT32_MAX), n->rank) });
}

static void on_shape(struct native *n, unsigned flags, struct lpo_cursor *c)
{
    struct lpo_shape shape;
    uint64_t string = lpo_native_get_v(c), place;

    (void)flags;
    for (int i = 0; i < 3; i++)
        shape.grid[i] = (uint32_t)lpo_native_get_v(c);
    for (int i = 0; i < 3; i++)
        shape.block[i] = (uint32_t)lpo_native_get_v(c);
    shape.registers = (uint32_t)lpo_native_get_v(c);
    shape.static_smem = (uint32_t)lpo_native_get_v(c);
    shape.dynamic_smem = (uint32_t)lpo_native_get_v(c);
    lpo_native_get_v(c); /* local memory per thread */
    place = lpo_native_get_v(c);
    if (!c->bad)
        lpo_vec_push(&n->shapes, (struct native_shape){
                                     lpo_native_kernel_name(n, string), lpo_native_name(n, string),
                                     lpo_trace_shape(n->trace, &shape), (uint32_t)place });
}

/* A GPU operation at this place, with nothing else known. */
static struct lpo_gpu_op gpu_op_at(const struct native *n, uint64_t place, struct lpo_cursor *c)
{
    struct lpo_gpu_op w = { LPO_GPU_OP_UNKNOWN, .process = n->process };

    if (place < n->places.len) {
        w.stream = n->places.at[place].stream;
        w.device = n->places.at[place].device;
    } else {
        c->bad = true;
    }
    return w;
}

/* From the node of the executable graph back to the one that was captured. */
uint32_t lpo_native_capture(struct native *n, uint64_t node)
{
    enum { CLONES_MOST = 16 }; /* a graph is cloned once or twice; a longer chain is a loop */

    for (int i = 0; i < CLONES_MOST; i++) {
        const uint32_t *row = lpo_map_u64_find(n->by_node, node);
        struct native_node *at = row ? &n->nodes.at[*row] : NULL;

        if (!at)
            return LPO_NONE;
        if (at->clone) {
            node = at->original;
            continue;
        }
        if (at->capture == LPO_NONE) {
            at->capture = (uint32_t)n->trace->captures.len;
            lpo_vec_push(&n->trace->captures, (struct lpo_capture){ at->ns, at->thread, at->path });
        }
        return at->capture;
    }
    return LPO_NONE;
}

void lpo_native_join_captures(struct native *n)
{
    for (size_t i = 0; i < n->of_nodes.len; i++)
        n->trace->gpu_ops.at[n->of_nodes.at[i].op].capture =
            lpo_native_capture(n, n->of_nodes.at[i].node);
}

/* CUPTI may give a kernel of a graph the times of an earlier launch. Clocks of host and GPU agree
 * to some microseconds, so what began a millisecond before it was launched has no time that counts.
 */
void lpo_native_distrust_nodes(struct native *n)
{
    enum { CLOCKS_DIFFER_NS = 1000000 };
    struct lpo_trace *t = n->trace;

    for (size_t i = 0; i < n->of_nodes.len; i++) {
        struct lpo_gpu_op *op = &t->gpu_ops.at[n->of_nodes.at[i].op];
        int64_t early;

        if (op->launch == LPO_NONE || (op->flags & LPO_GPU_OP_NO_LENGTH) ||
            (!__builtin_sub_overflow(t->launches.at[op->launch].start_ns, op->start_ns, &early) &&
             early <= CLOCKS_DIFFER_NS))
            continue;
        op->start_ns = op->end_ns = t->launches.at[op->launch].start_ns;
        op->flags |= LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH;
        n->stale_nodes++;
    }
}

/* Span, correlation id and graph node; then the GPU operation is complete. */
static void add_gpu_op(struct native *n, struct lpo_gpu_op w, unsigned flags, struct lpo_cursor *c)
{
    if (flags & LPOT_GPU_UNTIMED) {
        w.flags |= LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH;
        w.start_ns = w.end_ns = lpo_native_ns(n->gpu_start) - n->shift_ns;
    } else {
        n->gpu_start += (uint64_t)lpo_native_get_z(c);
        w.start_ns = lpo_native_ns(n->gpu_start);
        w.end_ns = w.start_ns + lpo_native_ns(lpo_native_get_v(c)) - n->shift_ns;
        w.start_ns -= n->shift_ns;
    }
    n->gpu_corr += (uint32_t)lpo_native_get_z(c);
    if (flags & LPOT_GPU_GRAPH) {
        w.flags |= LPO_GPU_OP_GRAPH;
        lpo_native_get_v(c);
        n->gpu_node += (uint64_t)lpo_native_get_z(c);
    }
    if (c->bad)
        return;
    if (w.end_ns > n->end_ns)
        n->end_ns = w.end_ns;
    if (n->gpu_sums) {
        lpo_native_gpu_sums_op(n, &w, n->gpu_corr, flags & LPOT_GPU_GRAPH ? &n->gpu_node : NULL);
        return;
    }
    if (flags & LPOT_GPU_GRAPH)
        lpo_vec_push(&n->of_nodes,
                     (struct native_of_node){ n->gpu_node, (uint32_t)n->trace->gpu_ops.len });
    if (!(n->trace->skip & LPO_SKIP_LAUNCHES))
        lpo_trace_links_op(n->links, (uint32_t)n->trace->gpu_ops.len, n->gpu_corr);
    lpo_vec_push(&n->trace->gpu_ops, w);
}

static void on_kernel(struct native *n, unsigned flags, struct lpo_cursor *c)
{
    uint64_t id = lpo_native_get_v(c);
    struct lpo_gpu_op w;

    if (id >= n->shapes.len) {
        c->bad = true;
        return;
    }
    w = gpu_op_at(n, n->shapes.at[id].place, c);
    w.kind = LPO_KERNEL;
    w.name = n->shapes.at[id].name;
    w.linker = n->shapes.at[id].linker;
    w.shape = n->shapes.at[id].shape;
    add_gpu_op(n, w, flags, c);
}

static void take_copy(struct native *n, unsigned flags, struct lpo_cursor *c, bool peer)
{
    struct lpo_gpu_op w = gpu_op_at(n, lpo_native_get_v(c), c);
    unsigned kind = lpo_native_get_byte(c), source = lpo_native_get_byte(c),
             target = lpo_native_get_byte(c);

    w.kind = LPO_COPY;
    w.bytes = lpo_native_get_v(c);
    w.name = copy_name(n, kind, source, target);
    if (peer) {
        lpo_native_get_v(c);
        lpo_native_get_v(c);
    }
    add_gpu_op(n, w, flags, c);
}

static void on_copy(struct native *n, unsigned flags, struct lpo_cursor *c)
{
    take_copy(n, flags, c, false);
}

static void on_peer(struct native *n, unsigned flags, struct lpo_cursor *c)
{
    take_copy(n, flags, c, true);
}

static void on_set(struct native *n, unsigned flags, struct lpo_cursor *c)
{
    struct lpo_gpu_op w = gpu_op_at(n, lpo_native_get_v(c), c);

    w.kind = LPO_MEMSET;
    w.name = set_name(n, lpo_native_get_byte(c));
    lpo_native_get_v(c); /* the value */
    w.bytes = lpo_native_get_v(c);
    add_gpu_op(n, w, flags, c);
}

static void on_whole(struct native *n, unsigned flags, struct lpo_cursor *c)
{
    struct lpo_gpu_op w = gpu_op_at(n, lpo_native_get_v(c), c);
    uint64_t graph = lpo_native_get_v(c);
    const uint32_t *row = lpo_map_u64_find(n->by_graph, graph);

    w.kind = LPO_KERNEL;
    w.flags = LPO_GPU_OP_GRAPH | LPO_GPU_OP_WHOLE;
    w.name = graph_name(n, graph);
    if (row && n->gpu_sums)
        n->unlaid++;
    else if (row)
        lpo_vec_push(&n->wholes, (struct native_whole){
                                     (uint32_t)(n->trace->gpu_ops.len - n->first_gpu_op), *row });
    add_gpu_op(n, w, flags & ~(unsigned)LPOT_GPU_GRAPH, c);
}

static void (*const takers[16])(struct native *n, unsigned flags, struct lpo_cursor *c) = {
    [LPOT_GPU_PLACE] = on_place, [LPOT_GPU_SHAPE] = on_shape, [LPOT_GPU_KERNEL] = on_kernel,
    [LPOT_GPU_COPY] = on_copy,   [LPOT_GPU_PEER] = on_peer,   [LPOT_GPU_SET] = on_set,
    [LPOT_GPU_WHOLE] = on_whole,
};

void lpo_native_take_gpu(struct native *n, const struct lpo_native_block *block)
{
    struct lpo_cursor c = { block->payload, block->payload + block->len, false };

    if (block->kind == LPOT_GPU_FRESH) { /* it stands for itself */
        n->gpu_broken = false;
        n->gpu_sequence = block->sequence;
        n->gpu_start = n->gpu_node = 0;
        n->gpu_corr = 0;
        n->places.len = n->shapes.len = 0;
    }
    if (n->gpu_broken)
        return;
    if (block->sequence != n->gpu_sequence++)
        c.bad = true;
    while (!c.bad && c.at < c.end) {
        unsigned tag = lpo_native_get_byte(&c);
        void (*take)(struct native *, unsigned, struct lpo_cursor *) = takers[tag & LPOT_GPU_KIND];

        if (take)
            take(n, tag & ~(unsigned)LPOT_GPU_KIND, &c);
        else
            c.bad = true;
    }
    if (c.bad) {
        n->gpu_broken = true;
        n->damaged++;
    }
}

/* CUDA calls that can block: the collector writes them in blocks of their own. */

/* Queries in a loop are one call here: nobody asks for each of them. */
static uint32_t call_name(struct native *n, uint64_t string, uint64_t count)
{
    uint32_t name = lpo_native_name(n, string);
    char text[128];

    if (count < 2)
        return name;
    snprintf(text, sizeof text, "%.100s (in a loop)", lpo_trace_text(n->trace, name));
    return lpo_trace_name(n->trace, text);
}

void lpo_native_take_calls(struct native *n, const struct lpo_native_block *block)
{
    struct native_thread *t = lpo_native_thread_at(n, block->stream);
    struct lpo_cursor c = { block->payload, block->payload + block->len, false };
    uint64_t ticks = 0;

    if (n->trace->skip & LPO_SKIP_CALLS)
        return;
    /* Each block stands for itself: one that is missing takes only its own calls with it. */
    n->damaged += block->sequence != t->calls_sequence;
    t->calls_sequence = block->sequence + 1;
    if (t->row == LPO_NONE)
        t->row = lpo_trace_thread(n->trace, n->process, block->stream);
    while (!c.bad && c.at < c.end) {
        uint64_t later = lpo_native_get_v(&c), took = lpo_native_get_v(&c);
        uint64_t string = lpo_native_get_v(&c), count = lpo_native_get_v(&c), end;

        if (c.bad)
            break;
        ticks = later > UINT64_MAX - ticks ? UINT64_MAX : ticks + later;
        end = took > UINT64_MAX - ticks ? UINT64_MAX : ticks + took;
        lpo_vec_push(&n->trace->calls, (struct lpo_api_call){
                                           lpo_native_tick_clock_ns(&n->clock, ticks) - n->shift_ns,
                                           lpo_native_tick_clock_ns(&n->clock, end) - n->shift_ns,
                                           call_name(n, string, count), t->row });
    }
    n->damaged += c.bad;
}
