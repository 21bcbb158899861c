/* SPDX-License-Identifier: Apache-2.0 */
/* From the last moment of the graph back to the first, along the edge that was over last. */
#include "analysis/critical/private.h"

struct walk {
    const struct critical_graph *g;
    critical_stretch_fn *each;
    void *ctx;
    int64_t at_ns; /* everything after it has been given out */
};

/* The stretch from `from_ns` up to where the walk is. An edge may lead to a moment after that
 * (kernels that overlap a little): then there is none. */
static void give(struct walk *w, int64_t from_ns, enum lpo_critical_part part, uint32_t op,
                 uint32_t call, bool in_call)
{
    struct critical_stretch s = { from_ns, w->at_ns, part, op, call, in_call };

    if (from_ns >= w->at_ns)
        return;
    w->at_ns = from_ns;
    w->each(w->ctx, &s);
}

/* A place of the walk: an operation or a call; at the return of a call, or at its start. */
struct place {
    uint32_t op, call;
    bool returned;
};

static struct place from_op(struct walk *w, uint32_t i)
{
    const struct critical_graph *g = w->g;
    const struct critical_op *op = &g->ops.at[i];
    const struct lpo_gpu_op *k = lpo_critical_gpu_op(g, i);
    struct place to = { LPO_NONE, LPO_NONE, false };
    int64_t from_ns;
    enum critical_edge edge = lpo_critical_edge(g, i, &from_ns);
    enum lpo_critical_part lag = edge == CRITICAL_NO_EDGE
                                     ? LPO_PATH_GAP
                                     : lpo_critical_lag_part(k, edge, k->start_ns - from_ns);

    give(w, k->start_ns, lpo_critical_part_of(g, g->op_rows[i]), i, op->call, false);
    switch (edge) {
    case CRITICAL_BEFORE:
        to.op = op->before;
        give(w, from_ns, lag, i, op->call, false);
        break;
    case CRITICAL_OTHER:
        to.op = op->other;
        give(w, from_ns, lag, i, op->call, false);
        break;
    case CRITICAL_LAUNCH:
        to.call = op->call;
        to.returned = from_ns != lpo_critical_times(g, op->call).start_ns;
        if (lpo_critical_in_launch(lpo_critical_times(g, op->call), k->start_ns))
            give(w, from_ns, LPO_PATH_CALLS, LPO_NONE, op->call, true);
        else
            give(w, from_ns, lag, i, op->call, false);
        break;
    default:
        break;
    }
    return to;
}

static struct place from_call(struct walk *w, struct place at)
{
    const struct critical_graph *g = w->g;
    const struct critical_call *c = &g->calls.at[at.call];
    struct critical_span ns = lpo_critical_times(g, at.call), before;
    struct place to = { LPO_NONE, c->before, true };

    if (at.returned && c->waits != LPO_NONE) {
        to = (struct place){ c->waits, LPO_NONE, false };
        give(w, lpo_critical_gpu_op(g, c->waits)->end_ns, LPO_PATH_RETURN, LPO_NONE, at.call, true);
        return to;
    }
    if (at.returned)
        give(w, ns.start_ns, LPO_PATH_CALLS, LPO_NONE, at.call, true);
    if (c->before == LPO_NONE)
        return to;
    before = lpo_critical_times(g, c->before);
    to.returned = before.end_ns <= ns.start_ns; /* else they overlap */
    give(w, to.returned ? before.end_ns : before.start_ns, LPO_PATH_HOST, LPO_NONE, at.call, false);
    return to;
}

/* The point that ended last. */
static struct place last(const struct critical_graph *g)
{
    struct place at = { LPO_NONE, LPO_NONE, true };

    for (uint32_t i = 0; i < g->calls.len; i++)
        if (lpo_critical_times(g, i).end_ns == g->end_ns)
            at.call = i;
    for (uint32_t i = 0; at.call == LPO_NONE && i < g->ops.len; i++)
        if (lpo_critical_gpu_op(g, i)->end_ns == g->end_ns)
            at.op = i;
    return at;
}

void lpo_critical_walk(const struct critical_graph *g, critical_stretch_fn *each, void *ctx)
{
    struct walk w = { g, each, ctx, g->end_ns };
    struct place at = last(g);
    uint32_t first_call = LPO_NONE;

    /* each step leads to an earlier point: no more of them than points, twice for calls */
    for (size_t n = 0; n <= g->ops.len + 3 * g->calls.len; n++) {
        if (at.op != LPO_NONE) {
            first_call = LPO_NONE;
            at = from_op(&w, at.op);
        } else if (at.call != LPO_NONE) {
            first_call = at.call;
            at = from_call(&w, at);
        } else {
            break;
        }
    }
    /* the host, before the first call of a thread; what leads to an operation without a launch is
     * not known */
    give(&w, g->start_ns, first_call == LPO_NONE ? LPO_PATH_UNEXPLAINED : LPO_PATH_HOST, LPO_NONE,
         first_call, false);
}
