/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/replays.h"

#include "trace/host.h"
#include "trace/trace.h"

/* Servers capture a graph for each of some 70 batch sizes. */
enum {
    MOST_GRAPHS = 512,
    MOST_CAPTURES = 65536,   /* vLLM captures pieces of its model: some 2,000 of them */
    MOST_COMPARED = 1 << 22, /* kernels, of one graph: a loop of one kernel is found everywhere */
};

/* A kernel: what it is, and which launch or operation it came from. */
struct kernel {
    uint32_t what; /* number of (name, shape) */
    uint32_t from; /* launch, of those outside of graphs; row of gpu_ops, of those of a graph */
};

typedef LPO_VEC(struct kernel) kernel_vec;

/* Graph launches with the same kernels. */
struct graph {
    size_t first, count; /* of `replayed`: the kernels of its first launch */
    size_t match;        /* where it was found in `outside`; SIZE_MAX: nowhere */
    size_t capture;      /* else: the first of captured_launches that it consists of; SIZE_MAX */
    bool ambiguous;
};

/* The operator around a launch. */
struct place {
    uint32_t label; /* number of (operator, arguments); LPO_NONE: in none */
    uint32_t op;    /* row of ops */
};

struct work {
    const struct lpo_trace *t;
    struct lpo_map_pair whats, labels;
    kernel_vec
        outside; /* launched one by one, by thread and time; `what` LPO_NONE between threads */
    kernel_vec replayed;               /* of graphs, by launch and start */
    struct place *launched, *captured; /* per row of launches and of captured_launches */
    LPO_VEC(struct graph) graphs;
    LPO_VEC(size_t) captures; /* the first row of each, and the end of the last */
};

static uint32_t what_of(struct work *w, const struct lpo_gpu_op *op)
{
    bool fresh;

    return lpo_map_pair_put(&w->whats, op->name, op->shape, &fresh);
}

static bool op_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;
    const struct lpo_gpu_op *x = &t->gpu_ops.at[a], *y = &t->gpu_ops.at[b];

    return x->launch != y->launch ? x->launch < y->launch : x->start_ns < y->start_ns;
}

/* A kernel of a graph that was timed by itself. */
static bool is_replayed(const struct lpo_gpu_op *op)
{
    return op->launch != LPO_NONE && op->kind == LPO_KERNEL && op->flags & LPO_GPU_OP_GRAPH &&
           !(op->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE));
}

static bool has_replayed(const struct lpo_trace *t)
{
    return lpo_any(i, t->gpu_ops.len, is_replayed(&t->gpu_ops.at[i]));
}

/* Kernels of graphs by launch; of launches outside, one operation each: `op_of`. */
static void find_kernels(struct work *w, uint32_t *op_of, struct lpo_operator_replays *out)
{
    const struct lpo_trace *t = w->t;
    LPO_FREED LPO_VEC(uint32_t) rows = { 0 };

    for (uint32_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        if (op->launch == LPO_NONE || op->kind != LPO_KERNEL)
            continue;
        if (!(op->flags & LPO_GPU_OP_GRAPH)) {
            op_of[op->launch] = i;
        } else if (is_replayed(op)) {
            lpo_vec_push(&rows, i);
            out->kernels++;
            out->ns += lpo_trace_gpu_op_ns(op);
        }
    }
    lpo_order_sort(rows.at, rows.len, op_before, t);
    for (size_t i = 0; i < rows.len; i++)
        lpo_vec_push(&w->replayed,
                     (struct kernel){ what_of(w, &t->gpu_ops.at[rows.at[i]]), rows.at[i] });
}

static struct place place_in(struct work *w, const struct lpo_slice *op)
{
    bool fresh;

    return (struct place){
        lpo_map_pair_put(&w->labels, op->name, w->t->ops.at[op->row].args, &fresh), op->row
    };
}

static void find_outside(struct work *w, const uint32_t *op_of)
{
    const struct lpo_trace *t = w->t;
    struct lpo_slice op;

    for (uint32_t i = 0; i < t->captured_launches.len; i++) {
        const struct lpo_captured_launch *l = &t->captured_launches.at[i];

        if (lpo_host_holding(t, l->thread, l->start_ns, l->end_ns, LPO_HOST_OP, &op))
            w->captured[i] = place_in(w, &op);
    }
    for (uint32_t i = 0; i < t->threads.len; i++) {
        struct lpo_host_rows launches = lpo_host_rows(t, i, LPO_HOST_LAUNCH);

        for (size_t k = 0; k < launches.len; k++) {
            uint32_t l = launches.at[k];

            if (lpo_host_around(t, l, LPO_HOST_OP, &op))
                w->launched[l] = place_in(w, &op);
            if (op_of[l] != LPO_NONE)
                lpo_vec_push(&w->outside,
                             (struct kernel){ what_of(w, &t->gpu_ops.at[op_of[l]]), l });
        }
        lpo_vec_push(&w->outside, (struct kernel){ LPO_NONE, LPO_NONE });
    }
}

static bool same_labels(const struct work *w, size_t a, size_t b, size_t count)
{
    return !lpo_any(i, count,
                    w->launched[w->outside.at[a + i].from].label !=
                        w->launched[w->outside.at[b + i].from].label);
}

/* Every place of the kernels of a graph outside, by Knuth, Morris and Pratt. */
static void find_match(const struct work *w, struct graph *g)
{
    const struct kernel *want = w->replayed.at + g->first;
    size_t *back = lpo_xcalloc(g->count + 1, sizeof *back), k = 0, compared = 0;

    for (size_t i = 1; i < g->count; i++) {
        while (k && want[i].what != want[k].what)
            k = back[k];
        k += want[i].what == want[k].what;
        back[i + 1] = k;
    }
    k = 0;
    for (size_t i = 0; i < w->outside.len && !g->ambiguous; i++) {
        while (k && w->outside.at[i].what != want[k].what)
            k = back[k];
        k += w->outside.at[i].what == want[k].what;
        if (k < g->count)
            continue;
        if (g->match == SIZE_MAX)
            g->match = i + 1 - g->count;
        else
            g->ambiguous = (compared += g->count) > MOST_COMPARED ||
                           !same_labels(w, g->match, i + 1 - g->count, g->count);
        k = back[k];
    }
    free(back);
}

/* Is the n-th launch of each operator with the same shapes always the same kernel? Then the kernels
 * ran in the order in which they were captured. */
static bool order_fits(const struct work *w, const struct graph *g, size_t first)
{
    LPO_FREED struct lpo_map_pair seen = { 0 };
    LPO_FREED LPO_VEC(uint32_t) whats = { 0 };
    uint32_t op = LPO_NONE, n = 0;
    bool fits = true;

    for (size_t i = 0; i < g->count && fits; i++) {
        const struct place *p = &w->captured[first + i];
        uint32_t what = w->replayed.at[g->first + i].what, row;
        bool fresh;

        n = p->op == op ? n + 1 : 0;
        op = p->op;
        if (op == LPO_NONE) /* outside of operators */
            continue;
        row = lpo_map_pair_put(&seen, p->label, n, &fresh);
        if (fresh)
            lpo_vec_push(&whats, what);
        fits = whats.at[row] == what;
    }
    return fits;
}

/* By the names of kernels, where the source has them, and by their order. */
static bool capture_fits(const struct work *w, const struct graph *g, size_t first)
{
    for (size_t i = 0; i < g->count; i++) {
        uint32_t kernel = w->t->captured_launches.at[first + i].kernel;

        if (kernel != LPO_NONE &&
            kernel != w->t->gpu_ops.at[w->replayed.at[g->first + i].from].name)
            return false;
    }
    return order_fits(w, g, first);
}

static bool same_capture(const struct work *w, size_t a, size_t b, size_t count)
{
    return !lpo_any(i, count, w->captured[a + i].label != w->captured[b + i].label);
}

static void find_captures(struct work *w)
{
    const struct lpo_captured_launch *all = w->t->captured_launches.at;
    size_t count = w->t->captured_launches.len;

    for (size_t i = 0; i < count && w->captures.len < MOST_CAPTURES; i++)
        if (!i || all[i].graph != all[i - 1].graph)
            lpo_vec_push(&w->captures, i);
    lpo_vec_push(&w->captures, count);
}

/* A capture with as many launches as the graph has kernels. */
static void find_capture(const struct work *w, struct graph *g)
{
    size_t compared = 0;

    for (size_t i = 0; i + 1 < w->captures.len && !g->ambiguous; i++) {
        size_t first = w->captures.at[i];

        if (w->captures.at[i + 1] - first != g->count)
            continue;
        if ((compared += g->count) > MOST_COMPARED)
            g->ambiguous = true;
        else if (!capture_fits(w, g, first))
            continue;
        else if (g->capture == SIZE_MAX)
            g->capture = first;
        else
            g->ambiguous = !same_capture(w, g->capture, first, g->count);
    }
}

static bool same_kernels(const struct work *w, const struct graph *g, size_t first, size_t count)
{
    if (g->count != count)
        return false;
    return !lpo_any(i, count, w->replayed.at[g->first + i].what != w->replayed.at[first + i].what);
}

/* The graph with these kernels, looked for when it is new; NULL: there are too many. */
static const struct graph *graph_of(struct work *w, size_t first, size_t count)
{
    struct graph fresh = { first, count, SIZE_MAX, SIZE_MAX, false };

    for (size_t i = 0; i < w->graphs.len; i++)
        if (same_kernels(w, &w->graphs.at[i], first, count))
            return &w->graphs.at[i];
    if (w->graphs.len == MOST_GRAPHS)
        return NULL;
    find_match(w, &fresh);
    if (fresh.match == SIZE_MAX)
        find_capture(w, &fresh);
    lpo_vec_push(&w->graphs, fresh);
    return &w->graphs.at[w->graphs.len - 1];
}

static void join(struct work *w, size_t first, size_t count, struct lpo_replayed_launches *to,
                 struct lpo_operator_replays *out)
{
    const struct graph *g = graph_of(w, first, count);
    bool captured = g && g->match == SIZE_MAX;
    uint32_t number;

    out->launches++;
    out->ambiguous_launches += g && g->ambiguous;
    if (!g || g->ambiguous || (captured && g->capture == SIZE_MAX))
        return;
    out->joined_launches++;
    out->captured_launches += captured;
    out->joined_kernels += count;
    number = (uint32_t)(g - w->graphs.at) + 1;
    lpo_vec_push(&to->graphs, ((struct lpo_replayed_graph){
                                  w->t->gpu_ops.at[w->replayed.at[first].from].launch, number }));
    for (size_t i = 0; i < count; i++) {
        struct lpo_replayed *r = captured ? &to->captured[g->capture + i]
                                          : &to->launched[w->outside.at[g->match + i].from];
        int64_t ns = lpo_trace_gpu_op_ns(&w->t->gpu_ops.at[w->replayed.at[first + i].from]);

        r->graph = !r->times || r->graph == number ? number : LPO_NONE;
        r->times += r->times < UINT32_MAX;
        r->ns += ns;
        out->joined_ns += ns;
    }
}

static struct place *unknown_places(size_t count)
{
    struct place *places = lpo_xrealloc(NULL, count + 1, sizeof *places);

    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){ LPO_NONE, LPO_NONE };
    return places;
}

struct lpo_replayed_launches lpo_operators_replays_find(const struct lpo_trace *t,
                                                        struct lpo_operator_replays *out)
{
    struct work w = { .t = t };
    struct lpo_replayed_launches to = { 0 };
    uint32_t *op_of;

    *out = (struct lpo_operator_replays){ 0 };
    if (!has_replayed(t)) /* most traces, and all of this takes 28 bytes a launch */
        return to;
    to.launched = lpo_xcalloc(t->launches.len + 1, sizeof *to.launched);
    to.captured = lpo_xcalloc(t->captured_launches.len + 1, sizeof *to.captured);
    op_of = lpo_xrealloc(NULL, t->launches.len + 1, sizeof *op_of);
    w.launched = unknown_places(t->launches.len);
    w.captured = unknown_places(t->captured_launches.len);
    for (size_t i = 0; i < t->launches.len; i++)
        op_of[i] = LPO_NONE;
    find_kernels(&w, op_of, out);
    if (w.replayed.len && t->ops.len)
        find_outside(&w, op_of);
    find_captures(&w);
    for (size_t i = 0, end; i < w.replayed.len; i = end) {
        uint32_t launch = t->gpu_ops.at[w.replayed.at[i].from].launch;

        for (end = i; end < w.replayed.len; end++)
            if (t->gpu_ops.at[w.replayed.at[end].from].launch != launch)
                break;
        join(&w, i, end - i, &to, out);
    }
    free(op_of);
    free(w.launched);
    free(w.captured);
    lpo_map_pair_free(&w.whats);
    lpo_map_pair_free(&w.labels);
    lpo_vec_free(&w.outside);
    lpo_vec_free(&w.replayed);
    lpo_vec_free(&w.graphs);
    lpo_vec_free(&w.captures);
    if (out->joined_launches == out->captured_launches) {
        free(to.launched);
        to.launched = NULL;
    }
    if (!out->captured_launches) {
        free(to.captured);
        to.captured = NULL;
    }
    return to;
}

void lpo_operators_replays_free(struct lpo_replayed_launches *r)
{
    free(r->launched);
    free(r->captured);
    lpo_vec_free(&r->graphs);
}
