/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/replays.h"

#include <stdlib.h>

#include "region/thread_rows.h"
#include "trace/trace.h"
#include "util/map.h"
#include "util/vec.h"

/* Servers capture a graph for each of some 70 batch sizes. */
enum {
    MOST_GRAPHS = 512,
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
    bool ambiguous;
};

struct work {
    const struct lpo_trace *t;
    struct lpo_map_pair whats, labels;
    kernel_vec
        outside; /* launched one by one, by thread and time; `what` LPO_NONE between threads */
    kernel_vec replayed; /* of graphs, by launch and start */
    uint32_t *label;     /* per launch: number of (operator, arguments); LPO_NONE: in none */
    LPO_VEC(struct graph) graphs;
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

/* Kernels of graphs by launch; of launches outside, one operation each: `op_of`. */
static void find_kernels(struct work *w, uint32_t *op_of, struct lpo_operator_replays *out)
{
    const struct lpo_trace *t = w->t;
    LPO_VEC(uint32_t) rows = { 0 };

    for (uint32_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        if (op->launch == LPO_NONE || op->kind != LPO_KERNEL)
            continue;
        if (!(op->flags & LPO_GPU_OP_GRAPH)) {
            op_of[op->launch] = i;
        } else if (!(op->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE))) {
            lpo_vec_push(&rows, i);
            out->kernels++;
            out->ns += lpo_trace_gpu_op_ns(op);
        }
    }
    lpo_region_order_sort(rows.at, rows.len, op_before, t);
    for (size_t i = 0; i < rows.len; i++)
        lpo_vec_push(&w->replayed,
                     (struct kernel){ what_of(w, &t->gpu_ops.at[rows.at[i]]), rows.at[i] });
    lpo_vec_free(&rows);
}

static bool host_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;
    const struct lpo_op *x = &t->ops.at[a], *y = &t->ops.at[b];

    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : x->end_ns > y->end_ns;
}

/* The innermost operator around each launch of a thread, as operators.c finds it. */
static void label_thread(struct work *w, const uint32_t *o, const uint32_t *o_end,
                         const uint32_t *l, const uint32_t *l_end)
{
    const struct lpo_trace *t = w->t;
    LPO_VEC(uint32_t) stack = { 0 };

    for (; l < l_end; l++) {
        const struct lpo_launch *launch = &t->launches.at[*l];
        size_t i;
        bool fresh;

        for (; o < o_end && t->ops.at[*o].start_ns <= launch->start_ns; o++) {
            while (stack.len && t->ops.at[stack.at[stack.len - 1]].end_ns < t->ops.at[*o].end_ns)
                stack.len--;
            lpo_vec_push(&stack, *o);
        }
        i = stack.len;
        while (i && t->ops.at[stack.at[i - 1]].end_ns < launch->end_ns)
            i--;
        if (i)
            w->label[*l] = lpo_map_pair_put(&w->labels, t->ops.at[stack.at[i - 1]].name,
                                            t->ops.at[stack.at[i - 1]].args, &fresh);
    }
    lpo_vec_free(&stack);
}

static void find_outside(struct work *w, const uint32_t *op_of)
{
    const struct lpo_trace *t = w->t;
    struct lpo_group ops = lpo_region_group_ops(t), launches = lpo_region_group_launches(t);

    for (uint32_t i = 0; i < t->threads.len; i++) {
        uint32_t *o = ops.rows + ops.starts[i], *o_end = ops.rows + ops.starts[i + 1];
        uint32_t *l = launches.rows + launches.starts[i];
        uint32_t *l_end = launches.rows + launches.starts[i + 1];

        lpo_region_order_sort(o, (size_t)(o_end - o), host_before, t);
        lpo_region_order_sort(l, (size_t)(l_end - l), lpo_region_launch_before, t);
        label_thread(w, o, o_end, l, l_end);
        for (; l < l_end; l++)
            if (op_of[*l] != LPO_NONE)
                lpo_vec_push(&w->outside,
                             (struct kernel){ what_of(w, &t->gpu_ops.at[op_of[*l]]), *l });
        lpo_vec_push(&w->outside, (struct kernel){ LPO_NONE, LPO_NONE });
    }
    lpo_region_group_free(&ops);
    lpo_region_group_free(&launches);
}

static bool same_labels(const struct work *w, size_t a, size_t b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (w->label[w->outside.at[a + i].from] != w->label[w->outside.at[b + i].from])
            return false;
    return true;
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

static bool same_kernels(const struct work *w, const struct graph *g, size_t first, size_t count)
{
    if (g->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (w->replayed.at[g->first + i].what != w->replayed.at[first + i].what)
            return false;
    return true;
}

/* The graph with these kernels, looked for when it is new; NULL: there are too many. */
static const struct graph *graph_of(struct work *w, size_t first, size_t count)
{
    struct graph fresh = { first, count, SIZE_MAX, false };

    for (size_t i = 0; i < w->graphs.len; i++)
        if (same_kernels(w, &w->graphs.at[i], first, count))
            return &w->graphs.at[i];
    if (w->graphs.len == MOST_GRAPHS)
        return NULL;
    find_match(w, &fresh);
    lpo_vec_push(&w->graphs, fresh);
    return &w->graphs.at[w->graphs.len - 1];
}

static void join(struct work *w, size_t first, size_t count, struct lpo_replayed *replayed,
                 struct lpo_operator_replays *out)
{
    const struct graph *g = graph_of(w, first, count);

    out->launches++;
    out->ambiguous_launches += g && g->ambiguous;
    if (!g || g->match == SIZE_MAX || g->ambiguous)
        return;
    out->joined_launches++;
    out->joined_kernels += count;
    for (size_t i = 0; i < count; i++) {
        struct lpo_replayed *r = &replayed[w->outside.at[g->match + i].from];
        int64_t ns = lpo_trace_gpu_op_ns(&w->t->gpu_ops.at[w->replayed.at[first + i].from]);

        r->times++;
        r->ns += ns;
        out->joined_ns += ns;
    }
}

struct lpo_replayed *lpo_operators_replays_find(const struct lpo_trace *t,
                                                struct lpo_operator_replays *out)
{
    struct work w = { .t = t };
    struct lpo_replayed *replayed = lpo_xcalloc(t->launches.len + 1, sizeof *replayed);
    uint32_t *op_of = lpo_xrealloc(NULL, t->launches.len + 1, sizeof *op_of);

    *out = (struct lpo_operator_replays){ 0 };
    w.label = lpo_xrealloc(NULL, t->launches.len + 1, sizeof *w.label);
    for (size_t i = 0; i < t->launches.len; i++)
        op_of[i] = w.label[i] = LPO_NONE;
    find_kernels(&w, op_of, out);
    if (w.replayed.len && t->ops.len)
        find_outside(&w, op_of);
    for (size_t i = 0, end; i < w.replayed.len; i = end) {
        uint32_t launch = t->gpu_ops.at[w.replayed.at[i].from].launch;

        for (end = i; end < w.replayed.len; end++)
            if (t->gpu_ops.at[w.replayed.at[end].from].launch != launch)
                break;
        join(&w, i, end - i, replayed, out);
    }
    free(op_of);
    free(w.label);
    lpo_map_pair_free(&w.whats);
    lpo_map_pair_free(&w.labels);
    lpo_vec_free(&w.outside);
    lpo_vec_free(&w.replayed);
    lpo_vec_free(&w.graphs);
    if (out->joined_kernels)
        return replayed;
    free(replayed);
    return NULL;
}
