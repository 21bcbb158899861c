/* SPDX-License-Identifier: Apache-2.0 */
/* GPU operations of a process and every edge of its graph. */

#include "analysis/critical/private.h"
#include "analysis/wall/timeline.h"

/* A kernel may begin this long before the one that it follows ends (programmatic launches). */
static const int64_t overlap_ns = 5000;
/* A launch that takes so long, with that many operations waiting, waits for a place in the queue:
 * CUDA's has 1,024. */
static const int64_t full_ns = 100000;
/* More than the usual lag by so much wants another cause. */
static const int64_t margin_ns = 2000;

enum {
    LOOKS = 64, /* neighbours that are looked at: a bound on what one operation may cost */
    FULL = 500,
    SAMPLES = 4096, /* of lags, for a median */
};

enum lpo_critical_part lpo_critical_part_of(const struct critical_graph *g, uint32_t row)
{
    const struct lpo_gpu_op *w = &g->t->gpu_ops.at[row];

    if (w->kind != LPO_KERNEL)
        return LPO_PATH_COPY;
    return lpo_region_tree_class(g->tree, w->name) == LPO_CLASS_COLLECTIVE ? LPO_PATH_COMMUNICATION
                                                                           : LPO_PATH_COMPUTE;
}

/* The operation on its stream that it follows: the last that had ended, or nearly. */
static uint32_t follows(const struct critical_graph *g, uint32_t last, int64_t start_ns)
{
    for (int i = 0; last != LPO_NONE && i < LOOKS; i++, last = g->ops.at[last].before) {
        const struct lpo_gpu_op *w = lpo_critical_gpu_op(g, last);
        int64_t over = w->end_ns - start_ns;

        if (over <= 0 || (over < overlap_ns && over < lpo_trace_gpu_op_ns(w)))
            return last;
    }
    return LPO_NONE;
}

/* The call that launched it; LPO_NONE: not known, of another process, or later by its clock. */
static uint32_t call_of(const struct critical_graph *g, const struct critical_input *in,
                        const struct lpo_gpu_op *w)
{
    uint32_t call = w->launch == LPO_NONE ? LPO_NONE : in->rows->call_of[w->launch];

    if (call >= g->calls.len || lpo_critical_launch(g, call) != w->launch ||
        g->t->launches.at[w->launch].start_ns > w->start_ns)
        return LPO_NONE;
    return call;
}

static void add_ops(struct critical_graph *g, const struct critical_input *in)
{
    LPO_FREED struct lpo_map_pair streams = { 0 };
    LPO_FREED LPO_VEC(uint32_t) last = { 0 };

    lpo_vec_reserve(&g->ops, in->nops);
    for (size_t i = 0; i < in->nops; i++) {
        const struct lpo_gpu_op *w = &g->t->gpu_ops.at[in->op_rows[i]];
        bool fresh;
        uint32_t stream = lpo_map_pair_put(&streams, w->device, w->stream, &fresh);
        uint32_t call = call_of(g, in, w);

        if (fresh)
            lpo_vec_push(&last, LPO_NONE);
        g->without_launch += call == LPO_NONE;
        lpo_vec_push(&g->ops,
                     (struct critical_op){ .before = follows(g, last.at[stream], w->start_ns),
                                           .other = LPO_NONE,
                                           .call = call });
        last.at[stream] = (uint32_t)i;
    }
}

enum critical_edge lpo_critical_edge(const struct critical_graph *g, uint32_t i, int64_t *from_ns)
{
    const struct critical_op *op = &g->ops.at[i];
    enum critical_edge best = CRITICAL_NO_EDGE;
    int64_t start_ns = lpo_critical_gpu_op(g, i)->start_ns;

    *from_ns = INT64_MIN;
    if (op->before != LPO_NONE) {
        best = CRITICAL_BEFORE;
        *from_ns = lpo_critical_gpu_op(g, op->before)->end_ns;
    }
    if (op->other != LPO_NONE && lpo_critical_gpu_op(g, op->other)->end_ns > *from_ns) {
        best = CRITICAL_OTHER;
        *from_ns = lpo_critical_gpu_op(g, op->other)->end_ns;
    }
    if (op->call != LPO_NONE) {
        int64_t ns = lpo_critical_launch_ns(g, op->call, start_ns);

        if (ns > *from_ns) {
            best = CRITICAL_LAUNCH;
            *from_ns = ns;
        }
    }
    return best;
}

/* The first operation that starts after `ns`. */
static size_t first_after(const struct critical_graph *g, int64_t ns)
{
    size_t low = 0, high = g->ops.len;

    lpo_search(low, high, mid, lpo_critical_gpu_op(g, (uint32_t)mid)->start_ns <= ns);
    return low;
}

/* The operation that ended last inside a call and had started before its return; LPO_NONE. */
static uint32_t ended_in(const struct critical_graph *g, struct critical_span c)
{
    size_t at = first_after(g, c.end_ns);
    uint32_t best = LPO_NONE;

    for (size_t i = at; i > 0 && at - i < LOOKS; i--) {
        const struct lpo_gpu_op *w = lpo_critical_gpu_op(g, (uint32_t)i - 1);

        if (w->start_ns < c.end_ns && w->end_ns > c.start_ns && w->end_ns <= c.end_ns &&
            (best == LPO_NONE || w->end_ns > lpo_critical_gpu_op(g, best)->end_ns))
            best = (uint32_t)i - 1;
    }
    return best;
}

/* Does the launching call wait for its copy? It ends inside a long call, or takes most of the call:
 * one from pageable memory is sent piece by piece, and the last is under way at the return. */
static bool waits_for_copy(const struct lpo_gpu_op *w, struct critical_span c)
{
    int64_t call_ns = c.end_ns - c.start_ns;

    if (w->kind != LPO_COPY || w->start_ns < c.start_ns || w->start_ns >= c.end_ns)
        return false;
    if (lpo_trace_gpu_op_ns(w) >= call_ns / 2)
        return w->end_ns <= c.end_ns + LPO_CRITICAL_UNEXPLAINED_NS * 2;
    return w->end_ns <= c.end_ns && call_ns >= LPO_CRITICAL_UNEXPLAINED_NS;
}

/* The rest of an operator: it waited where what it launched ended in the later half of it. Else it
 * is a moment, and the host's. */
static void check_rests(struct critical_graph *g)
{
    for (uint32_t i = 0; i < g->calls.len; i++) {
        struct critical_span c = lpo_critical_times(g, i);
        uint32_t row = g->calls.at[i].row, op = g->calls.at[i].waits;

        if (row & CRITICAL_ONLY_WAITS || !(row & CRITICAL_MARK) ||
            (op != LPO_NONE && g->ops.at[op].call == g->calls.at[i].before &&
             2 * lpo_critical_gpu_op(g, op)->end_ns >= c.start_ns + c.end_ns))
            continue;
        g->marks.at[row & ~CRITICAL_MARK].start_ns = c.end_ns;
        g->calls.at[i].waits = LPO_NONE;
    }
}

static void find_waits(struct critical_graph *g)
{
    for (uint32_t i = 0; i < g->ops.len; i++) {
        uint32_t call = g->ops.at[i].call;
        struct critical_span c;

        if (call == LPO_NONE)
            continue;
        c = lpo_critical_times(g, call);
        if (waits_for_copy(lpo_critical_gpu_op(g, i), c))
            g->calls.at[call].waits = i;
        else if (c.end_ns - c.start_ns >= full_ns && i >= FULL + first_after(g, c.start_ns) &&
                 g->calls.at[call].waits == LPO_NONE)
            g->calls.at[call].waits = ended_in(g, c);
    }
    for (uint32_t i = 0; i < g->calls.len; i++)
        if (lpo_critical_launch(g, i) == LPO_NONE)
            g->calls.at[i].waits = ended_in(g, lpo_critical_times(g, i));
    check_rests(g);
}

/* The median lag of one kind of edge, of at most SAMPLES operations spread over the run. */
static int64_t usual(const struct critical_graph *g, enum critical_edge kind)
{
    LPO_FREED LPO_VEC(int64_t) lags = { 0 };
    size_t step = g->ops.len / SAMPLES + 1;
    int64_t out = 0, from_ns;

    for (size_t i = 0; i < g->ops.len; i += step)
        if (lpo_critical_edge(g, (uint32_t)i, &from_ns) == kind)
            lpo_vec_push(&lags, lpo_critical_gpu_op(g, (uint32_t)i)->start_ns - from_ns);
    if (lags.len) {
        lpo_order_sort_ns(lags.at, lags.len);
        out = lags.at[lags.len / 2];
    }
    out = out < LPO_CRITICAL_UNEXPLAINED_NS ? out : LPO_CRITICAL_UNEXPLAINED_NS;
    return out > 0 ? out : 0;
}

static bool launched_before(const struct critical_graph *g, const struct critical_op *a,
                            const struct critical_op *b)
{
    return a->call == LPO_NONE || b->call == LPO_NONE ||
           lpo_critical_times(g, a->call).start_ns <= lpo_critical_times(g, b->call).start_ns;
}

/* Operations in the order in which they end, found when first asked for. */
struct ends {
    const struct critical_graph *g;
    uint32_t *ops;
};

static bool ends_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct critical_graph *g = ctx;

    return lpo_critical_gpu_op(g, a)->end_ns < lpo_critical_gpu_op(g, b)->end_ns;
}

/* How many end by then. */
static size_t ended_by(struct ends *e, int64_t ns)
{
    size_t low = 0, high = e->g->ops.len;

    if (!e->ops) {
        e->ops = lpo_xrealloc(NULL, e->g->ops.len + 1, sizeof *e->ops);
        for (uint32_t i = 0; i < e->g->ops.len; i++)
            e->ops[i] = i;
        lpo_order_sort(e->ops, e->g->ops.len, ends_before, e->g);
    }
    lpo_search(low, high, mid, lpo_critical_gpu_op(e->g, e->ops[mid])->end_ns <= ns);
    return low;
}

static bool may_wait_for(const struct critical_graph *g, uint32_t op, uint32_t other)
{
    const struct lpo_gpu_op *w = lpo_critical_gpu_op(g, op), *x = lpo_critical_gpu_op(g, other);

    return x->device == w->device && x->stream != w->stream && x->start_ns < w->start_ns &&
           other < op && launched_before(g, &g->ops.at[other], &g->ops.at[op]);
}

/* The operation of another stream that ended last before this one began, after `from_ns`, and was
 * launched first: an event, of which there is no record. LPO_NONE. */
static uint32_t ended_just_before(struct ends *e, uint32_t op, int64_t from_ns)
{
    int64_t start_ns = lpo_critical_gpu_op(e->g, op)->start_ns;
    size_t at = ended_by(e, start_ns);

    for (size_t i = at; i > 0 && at - i < LOOKS; i--) {
        int64_t end_ns = lpo_critical_gpu_op(e->g, e->ops[i - 1])->end_ns;

        if (end_ns <= from_ns || start_ns - end_ns >= LPO_DEPENDENCY_NS)
            return LPO_NONE;
        if (may_wait_for(e->g, op, e->ops[i - 1]))
            return e->ops[i - 1];
    }
    return LPO_NONE;
}

/* A kernel of at least a block for each SM that ran all the while and was about to end: until its
 * last blocks left there was no room. LPO_NONE. */
static uint32_t left_no_room(struct ends *e, uint32_t op, int64_t from_ns)
{
    const struct critical_graph *g = e->g;
    const struct lpo_gpu_op *w = lpo_critical_gpu_op(g, op);
    size_t at = ended_by(e, w->start_ns);

    for (size_t i = at; i < g->ops.len && i - at < LOOKS; i++) {
        const struct lpo_gpu_op *x = lpo_critical_gpu_op(g, e->ops[i]);
        uint32_t sms = g->t->devices.at[x->device].sms;
        const uint32_t *grid = x->shape == LPO_NONE ? NULL : g->t->shapes.at[x->shape].grid;
        int64_t tail_ns = lpo_trace_gpu_op_ns(x) / 10;

        if (w->kind == LPO_KERNEL && x->kind == LPO_KERNEL && grid && sms &&
            (double)grid[0] * grid[1] * grid[2] >= sms && may_wait_for(g, op, e->ops[i]) &&
            x->start_ns <= from_ns + lpo_trace_gpu_op_ns(x) / 10 &&
            x->end_ns - w->start_ns <= tail_ns)
            return e->ops[i];
    }
    return LPO_NONE;
}

/* It could have started and did not: what else may it have waited for? */
static void infer_waits(struct critical_graph *g)
{
    struct ends ends = { .g = g };

    for (uint32_t i = 0; i < g->ops.len; i++) {
        struct critical_op *op = &g->ops.at[i];
        int64_t from_ns, start_ns = lpo_critical_gpu_op(g, i)->start_ns;
        enum critical_edge edge = lpo_critical_edge(g, i, &from_ns);
        int64_t most = 2 * (edge == CRITICAL_LAUNCH ? g->usual_launch_ns : g->usual_gap_ns);

        if (op->other != LPO_NONE ||
            (edge != CRITICAL_NO_EDGE && start_ns - from_ns <= most + margin_ns))
            continue;
        op->other = ended_just_before(&ends, i, from_ns);
        if (op->other == LPO_NONE && edge != CRITICAL_NO_EDGE &&
            start_ns - from_ns >= LPO_CRITICAL_UNEXPLAINED_NS)
            op->other = left_no_room(&ends, i, from_ns);
        g->inferred_waits += op->other != LPO_NONE;
    }
    free(ends.ops);
}

static void find_extent(struct critical_graph *g)
{
    g->start_ns = INT64_MAX;
    g->end_ns = INT64_MIN;
    for (uint32_t i = 0; i < g->calls.len; i++) {
        struct critical_span c = lpo_critical_times(g, i);

        g->start_ns = c.start_ns < g->start_ns ? c.start_ns : g->start_ns;
        g->end_ns = c.end_ns > g->end_ns ? c.end_ns : g->end_ns;
    }
    for (uint32_t i = 0; i < g->ops.len; i++) {
        const struct lpo_gpu_op *w = lpo_critical_gpu_op(g, i);

        g->start_ns = w->start_ns < g->start_ns ? w->start_ns : g->start_ns;
        g->end_ns = w->end_ns > g->end_ns ? w->end_ns : g->end_ns;
    }
}

void lpo_critical_graph_build(struct critical_graph *g, const struct critical_input *in)
{
    *g = (struct critical_graph){ .tree = in->tree, .t = in->tree->trace, .op_rows = in->op_rows };
    lpo_critical_host_build(g, in);
    for (uint32_t i = 0; i < g->calls.len; i++)
        if (lpo_critical_launch(g, i) != LPO_NONE)
            in->rows->call_of[lpo_critical_launch(g, i)] = i;
    add_ops(g, in);
    find_waits(g);
    lpo_critical_recorded_waits(g, in->process);
    g->usual_launch_ns = usual(g, CRITICAL_LAUNCH);
    g->usual_gap_ns = usual(g, CRITICAL_BEFORE);
    infer_waits(g);
    g->usual_gap_ns = usual(g, CRITICAL_BEFORE); /* without those that waited for others */
    g->usual_launch_ns = usual(g, CRITICAL_LAUNCH);
    find_extent(g);
}

void lpo_critical_graph_free(struct critical_graph *g)
{
    lpo_vec_free(&g->calls);
    lpo_vec_free(&g->ops);
    lpo_vec_free(&g->marks);
    *g = (struct critical_graph){ 0 };
}
