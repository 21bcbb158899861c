/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/timeline.h"

#include "analysis/wall/private.h"
#include "trace/host.h"

LPO_NAMES(lpo_wall_gap_name, enum lpo_gap_cause, "host", "dependency", "other");

int64_t lpo_wall_gaps_ns(const struct lpo_gaps *g)
{
    int64_t ns = 0;

    for (int i = 0; i < LPO_GAP_CAUSES; i++)
        ns += g->by[i].ns;
    return ns;
}

enum { ALL, KERNELS, COMPUTE, COMMUNICATION, COVERS };
enum { LATE_NS = 200000 }; /* longer gaps of the host are looked at: a slow launch takes less */

/* A gap, and where it lies: `op` ends it. */
struct stream_gap {
    const struct lpo_gpu_op *op;
    uint32_t before; /* place of the operation before it */
    enum lpo_gap_cause cause;
    int64_t ns;
};

struct builder {
    struct lpo_wall_timeline *out;
    const struct lpo_region_tree *tree;
    const struct lpo_trace *trace;
    const bool *aside;         /* per place, or NULL */
    bool shared_communication; /* on this device */
    struct lpo_map_pair stream_map;
    struct lpo_wall_cover covers[COVERS];
    LPO_VEC(struct stream_gap) late; /* long gaps of the host */
};

static bool is_aside(const struct builder *b, uint32_t place)
{
    return b->aside && b->aside[place];
}

static void cover_gpu_op(struct builder *b, const struct lpo_gpu_op *w)
{
    bool communicates;

    lpo_wall_cover_add(&b->covers[ALL], w);
    if (w->kind != LPO_KERNEL)
        return;
    communicates = lpo_wall_communicates(b->tree, w->name);
    lpo_wall_cover_add(&b->covers[KERNELS], w);
    lpo_wall_cover_add(&b->covers[communicates ? COMMUNICATION : COMPUTE], w);
    b->shared_communication |= communicates && (w->flags & LPO_GPU_OP_SHARE);
}

static enum lpo_gap_cause cause_of(const struct builder *b, const struct lpo_gpu_op *next,
                                   int64_t gap_start_ns)
{
    if (next->launch != LPO_NONE && b->trace->launches.at[next->launch].start_ns > gap_start_ns)
        return LPO_GAP_HOST;
    return next->start_ns - gap_start_ns < LPO_DEPENDENCY_NS ? LPO_GAP_DEPENDENCY : LPO_GAP_OTHER;
}

static void gap_add(struct lpo_gaps *g, enum lpo_gap_cause cause, int64_t ns)
{
    g->by[cause].count++;
    g->by[cause].ns += ns;
}

typedef void gap_fn(struct builder *b, uint32_t node, const struct stream_gap *g);

static bool in_first_visit(const struct builder *b, uint32_t node, const struct lpo_gpu_op *op)
{
    return op->launch != LPO_NONE &&
           lpo_region_in_first_visit(b->tree, node, &b->trace->launches.at[op->launch]);
}

static void add_to_region(struct builder *b, uint32_t node, const struct stream_gap *g)
{
    struct lpo_wall_first_gaps *first = &b->out->first_nodes[node];

    gap_add(&b->out->nodes[node], g->cause, g->ns);
    if (in_first_visit(b, node, g->op))
        *(g->cause == LPO_GAP_HOST ? &first->host_ns : &first->other_ns) += g->ns;
}

static void add_first_launch(struct builder *b, uint32_t node, const struct stream_gap *g)
{
    if (!in_first_visit(b, node, g->op))
        b->out->first_nodes[node].launch_ns += g->ns;
}

/* The regions that hold the operations on both sides: the common part of the two paths, and the
 * start/end regions that are in both sets (which are sorted). */
static void each_region(struct builder *b, const struct stream_gap *g, gap_fn *add)
{
    const struct lpo_region_tree *t = b->tree;
    const struct lpo_place *pa = &t->places.at[g->before],
                           *pb = &t->places.at[lpo_region_place(t, g->op)];
    const struct lpo_region_set *sa = &t->sets.at[pa->set], *sb = &t->sets.at[pb->set];
    uint32_t x = pa->leaf, y = pb->leaf;

    while (x != y) { /* parents have smaller numbers than their children */
        if (y == LPO_NONE || (x != LPO_NONE && x > y))
            x = t->nodes.at[x].parent;
        else
            y = t->nodes.at[y].parent;
    }
    for (; x != LPO_NONE; x = t->nodes.at[x].parent)
        add(b, x, g);
    for (uint32_t i = 0, k = 0; i < sa->count && k < sb->count;) {
        uint32_t na = t->set_nodes.at[sa->first + i], nb = t->set_nodes.at[sb->first + k];

        if (na == nb)
            add(b, na, g);
        i += na <= nb;
        k += nb <= na;
    }
}

static void stream_gpu_op(struct builder *b, struct lpo_device_time *d, const struct lpo_gpu_op *w)
{
    uint32_t place = lpo_region_place(b->tree, w);
    bool fresh;
    uint32_t row = lpo_map_pair_put(&b->stream_map, w->device, w->stream, &fresh);
    size_t window = lpo_wall_window(b->trace, w);
    struct lpo_stream_time *s;

    if (fresh)
        lpo_vec_push(&b->out->streams, (struct lpo_stream_time){ .start_ns = w->start_ns,
                                                                 .end_ns = w->start_ns,
                                                                 .stream = w->stream,
                                                                 .device = w->device,
                                                                 .last_place = place,
                                                                 .last_window = window });
    s = &b->out->streams.at[row];
    if (w->start_ns > s->end_ns &&
        (is_aside(b, place) || is_aside(b, s->last_place) || window != s->last_window)) {
        s->end_ns = w->start_ns;
    } else if (w->start_ns > s->end_ns) {
        struct stream_gap g = { w, s->last_place, cause_of(b, w, s->end_ns),
                                w->start_ns - s->end_ns };

        gap_add(&s->gaps, g.cause, g.ns);
        gap_add(&d->gaps, g.cause, g.ns);
        each_region(b, &g, add_to_region);
        if (g.cause == LPO_GAP_HOST && g.ns > LATE_NS)
            lpo_vec_push(&b->late, g);
        s->end_ns = w->start_ns;
    }
    s->gpu_ops += !is_aside(b, place);
    if (w->end_ns >= s->end_ns) {
        s->busy_ns += is_aside(b, place) ? 0 : w->end_ns - s->end_ns;
        s->end_ns = w->end_ns;
        s->last_place = place;
        s->last_window = window;
    }
}

LPO_COMPARE(by_device_and_stream, struct lpo_stream_time, LPO_UP(device) ?: LPO_UP(stream));

/* rows[0, count) are the operations of one device in order. */
static void build_device(struct builder *b, const uint32_t *rows, size_t count)
{
    struct lpo_device_time d = { .device = b->trace->gpu_ops.at[rows[0]].device };
    struct lpo_wall_edge edge = { b->trace->gpu_ops.at[rows[0]].start_ns, false };

    for (int i = 0; i < COVERS; i++)
        b->covers[i] = (struct lpo_wall_cover){ INT64_MIN, 0 };
    b->shared_communication = false;
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *w = &b->trace->gpu_ops.at[rows[i]];
        bool aside = is_aside(b, lpo_region_place(b->tree, w));

        d.idle_ns += lpo_wall_edge_move(&edge, w, aside, lpo_wall_window(b->trace, w));
        stream_gpu_op(b, &d, w);
        if (aside)
            continue;
        if (!d.gpu_ops++)
            d.start_ns = w->start_ns;
        cover_gpu_op(b, w);
    }
    if (!d.gpu_ops)
        return;
    d.end_ns = b->covers[ALL].end_ns;
    d.busy_ns = b->covers[ALL].sum_ns;
    d.span_ns = d.busy_ns + d.idle_ns;
    d.compute_ns = b->covers[COMPUTE].sum_ns;
    d.communication_ns = b->covers[COMMUNICATION].sum_ns;
    d.overlap_unknown = b->shared_communication;
    d.exposed_ns = d.overlap_unknown ? 0 : b->covers[KERNELS].sum_ns - d.compute_ns;
    lpo_vec_push(&b->out->devices, d);
}

/* --- gaps around the first launch of a kernel: its code may have to be loaded, chosen or compiled,
 * and a library to be set up, which comes once. A gap belongs to that where the host spent half of
 * it in an operator of the framework that launches such a kernel, or in the launch call itself;
 * where it did something else before, the kernel is new by chance. --- */

/* A launch: which thread, and when it began. */
struct moment {
    uint32_t thread;
    int64_t ns;
};

typedef LPO_VEC(struct moment) moments;

LPO_COMPARE(by_thread_and_time, struct moment, LPO_UP(thread) ?: LPO_UP(ns));

/* The first launch of each kernel in each process. A kernel whose first run has no launch record
 * ran before the recording began, for all that is known. */
static void find_first_launches(const struct lpo_trace *t, moments *out)
{
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED LPO_VEC(uint32_t) earliest = { 0 }; /* of gpu_ops */
    bool fresh;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        uint64_t process = op->launch == LPO_NONE
                               ? UINT64_MAX
                               : t->threads.at[t->launches.at[op->launch].thread].process;
        uint32_t row;

        if (op->kind != LPO_KERNEL)
            continue;
        row = lpo_map_pair_put(&rows, op->name, process, &fresh);
        if (fresh)
            lpo_vec_push(&earliest, (uint32_t)i);
        else if (op->start_ns < t->gpu_ops.at[earliest.at[row]].start_ns)
            earliest.at[row] = (uint32_t)i;
    }
    for (size_t i = 0; i < earliest.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[earliest.at[i]];
        uint32_t unknown = lpo_map_pair_find(&rows, op->name, UINT64_MAX);
        const struct lpo_launch *l = op->launch == LPO_NONE ? NULL : &t->launches.at[op->launch];

        if (l &&
            (unknown == UINT32_MAX || op->start_ns <= t->gpu_ops.at[earliest.at[unknown]].start_ns))
            lpo_vec_push(out, ((struct moment){ l->thread, l->start_ns }));
    }
    lpo_vec_sort(out, by_thread_and_time);
}

/* Was a kernel launched for the first time by this thread in [start, end]? */
static bool any_first(const moments *firsts, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
    struct moment key = { thread, start_ns };
    size_t low = 0, high = firsts->len;

    lpo_search(low, high, at, by_thread_and_time(&firsts->at[at], &key) < 0);
    return low < firsts->len && firsts->at[low].thread == thread && firsts->at[low].ns <= end_ns;
}

/* "aten::addmm" is work of the framework; "Optimizer.step#SGD.step" may hold any Python. */
static bool is_framework(const struct lpo_trace *t, uint32_t name)
{
    return strstr(lpo_trace_text(t, name), "::") != NULL;
}

static bool covers_half(const struct stream_gap *g, int64_t start_ns, int64_t end_ns)
{
    int64_t from = start_ns > g->op->start_ns - g->ns ? start_ns : g->op->start_ns - g->ns;
    int64_t to = end_ns < g->op->start_ns ? end_ns : g->op->start_ns;

    return to > from && to - from >= g->ns - (to - from);
}

static bool is_new(const struct lpo_trace *t, const struct stream_gap *g, const moments *firsts)
{
    const struct lpo_launch *l = &t->launches.at[g->op->launch];
    struct lpo_slice s, outer;
    bool found = lpo_host_around(t, g->op->launch, LPO_HOST_OP, &s);

    /* one of less than half of the shortest gap cannot cover half of any */
    for (; found && s.end_ns - s.start_ns < LATE_NS / 2; s = outer)
        found = lpo_host_parent(t, &s, LPO_HOST_OP, &outer);
    if (found && is_framework(t, s.name) && covers_half(g, s.start_ns, s.end_ns))
        return any_first(firsts, l->thread, s.start_ns, s.end_ns);
    return covers_half(g, l->start_ns, l->end_ns) &&
           any_first(firsts, l->thread, l->start_ns, l->start_ns);
}

/* The longest gap, and the next one, before one kernel on one GPU. */
struct longest {
    int64_t ns[2];
};

/* Where the host is as late again later before the same kernel, that is no first call. */
static void add_first_launches(struct builder *b)
{
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED LPO_VEC(struct longest) all = { 0 };
    LPO_FREED moments firsts = { 0 };
    bool fresh;

    for (size_t i = 0; i < b->late.len; i++) {
        const struct stream_gap *g = &b->late.at[i];
        uint32_t row = lpo_map_pair_put(&rows, g->op->name, g->op->device, &fresh);
        int64_t *two;

        if (fresh)
            lpo_vec_push(&all, (struct longest){ 0 });
        two = all.at[row].ns;
        two[1] = g->ns > two[0] ? two[0] : g->ns > two[1] ? g->ns : two[1];
        two[0] = g->ns > two[0] ? g->ns : two[0];
    }
    if (b->late.len)
        find_first_launches(b->trace, &firsts);
    for (size_t i = 0; i < b->late.len; i++) {
        const struct stream_gap *g = &b->late.at[i];
        const int64_t *two = all.at[lpo_map_pair_find(&rows, g->op->name, g->op->device)].ns;

        if ((g->op->kind != LPO_KERNEL || (g->ns == two[0] ? two[1] : two[0]) < g->ns / 2) &&
            is_new(b->trace, g, &firsts))
            each_region(b, g, add_first_launch);
    }
    lpo_vec_free(&b->late);
}

struct lpo_wall_timeline *lpo_wall_timeline_create(const struct lpo_region_tree *tree)
{
    return lpo_wall_timeline_create_without(tree, NULL);
}

struct lpo_wall_timeline *lpo_wall_timeline_create_without(const struct lpo_region_tree *tree,
                                                           const bool *aside)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_wall_timeline *out = lpo_xcalloc(1, sizeof *out);
    struct builder b = { .out = out, .tree = tree, .trace = t, .aside = aside };
    struct lpo_wall_order order = lpo_wall_order_find(t);

    out->nodes = lpo_xcalloc(tree->nodes.len + 1, sizeof *out->nodes);
    out->first_nodes = lpo_xcalloc(tree->nodes.len + 1, sizeof *out->first_nodes);
    out->untimed = order.untimed;
    for (size_t i = 0, end; i < order.count; i = end) {
        end = lpo_wall_order_device(&order, t, i);
        build_device(&b, order.rows + i, end - i);
    }
    add_first_launches(&b);
    lpo_vec_sort(&out->streams, by_device_and_stream);
    lpo_wall_order_free(&order);
    lpo_map_pair_free(&b.stream_map);
    return out;
}

void lpo_wall_timeline_destroy(struct lpo_wall_timeline *t)
{
    if (!t)
        return;
    lpo_vec_free(&t->devices);
    lpo_vec_free(&t->streams);
    free(t->nodes);
    free(t->first_nodes);
    free(t);
}
