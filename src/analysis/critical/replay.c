/* SPDX-License-Identifier: Apache-2.0 */
/* The graph run again with parts of it shorter: one pass over all points in the order in which they
 * were measured, for several sets of experiments (lanes) at once.
 *
 * A point has one number for each lane: by how much earlier than measured it is over. So what no
 * experiment touches is copied, and a lag that stays adds nothing. The numbers are kept until the
 * last point that needs them: as many as there are launches under way, not as many as the trace
 * has. */
#include <stdlib.h>
#include <string.h>

#include "analysis/critical/private.h"
#include "analysis/critical/slots.h"

/* An edge into an operation: it starts no earlier than the point before it, plus a lag. */
struct edge {
    const int64_t *gain;
    int64_t slack_ns, lag_ns; /* of the time between them */
};

struct run {
    struct critical_graph *g;
    const struct critical_replay *r;
    size_t lanes;
    uint32_t active[CRITICAL_EXPERIMENTS]; /* per experiment: a bit for each lane it is in */
    struct critical_slots calls, ops;      /* calls have two numbers a lane: start, then end */
    int64_t end_ns[CRITICAL_LANES];        /* of all points so far */
    int64_t zero[2 * CRITICAL_LANES], in_launch[CRITICAL_LANES];
};

void lpo_critical_replay_edit(struct critical_replay *r, enum critical_edit_kind kind, uint32_t at,
                              unsigned experiment, int64_t ns)
{
    if (ns > 0 || kind == CRITICAL_EDIT_WAIT)
        lpo_vec_push(&r->edits,
                     (struct critical_edit){ ns, at, (uint8_t)experiment, (uint8_t)kind });
}

static size_t point_of(const struct critical_graph *g, const struct critical_edit *e)
{
    return e->kind >= CRITICAL_EDIT_OP ? g->calls.len + e->at : e->at;
}

/* Sorted by point: a count, then one pass. */
void lpo_critical_replay_prepare(struct critical_replay *r)
{
    size_t n = r->g->calls.len + r->g->ops.len;
    struct critical_edit *sorted = lpo_xrealloc(NULL, r->edits.len + 1, sizeof *sorted);

    free(r->first);
    r->first = lpo_xcalloc(n + 2, sizeof *r->first);
    for (size_t i = 0; i < r->edits.len; i++)
        r->first[point_of(r->g, &r->edits.at[i]) + 2]++;
    for (size_t i = 0; i < n; i++)
        r->first[i + 2] += r->first[i + 1];
    for (size_t i = 0; i < r->edits.len; i++)
        sorted[r->first[point_of(r->g, &r->edits.at[i]) + 1]++] = r->edits.at[i];
    free(r->edits.at);
    r->edits.at = sorted;
    r->edits.cap = r->edits.len + 1;
}

void lpo_critical_replay_free(struct critical_replay *r)
{
    lpo_vec_free(&r->edits);
    free(r->first);
    r->first = NULL;
}

static const int64_t *call_start(const struct run *r, uint32_t call)
{
    uint32_t state = r->g->calls.at[call].state;

    return state & CRITICAL_HAS_SLOT
               ? lpo_critical_slot_numbers(&r->calls, state & ~CRITICAL_HAS_SLOT)
               : r->zero; /* against the order, of two points at one time: as measured */
}

static const int64_t *call_end(const struct run *r, uint32_t call)
{
    return call_start(r, call) + r->lanes;
}

static const int64_t *op_end(const struct run *r, uint32_t op)
{
    uint32_t state = r->g->ops.at[op].state;

    return state & CRITICAL_HAS_SLOT
               ? lpo_critical_slot_numbers(&r->ops, state & ~CRITICAL_HAS_SLOT)
               : r->zero;
}

/* What edits of one kind take off a point in each lane, at most `most`. Of the host two experiments
 * take different parts, so they add up; of an operation each says what it could take. */
static void shorten(const struct run *r, size_t point, enum critical_edit_kind kind, int64_t most,
                    int64_t *gain)
{
    const struct critical_edit *e = r->r->edits.at + r->r->first[point],
                               *end = r->r->edits.at + r->r->first[point + 1];
    int64_t less[CRITICAL_LANES];

    if (e == end)
        return;
    memset(less, 0, r->lanes * sizeof *less);
    for (; e < end; e++) {
        if (e->kind != kind)
            continue;
        for (size_t i = 0; i < r->lanes; i++)
            if (!(r->active[e->experiment] >> i & 1))
                continue;
            else if (kind == CRITICAL_EDIT_OP)
                less[i] = e->ns > less[i] ? e->ns : less[i];
            else
                less[i] += e->ns;
    }
    for (size_t i = 0; i < r->lanes; i++)
        gain[i] += less[i] < most ? less[i] : most;
}

static void run_call(struct run *r, uint32_t i)
{
    struct critical_call *c = &r->g->calls.at[i];
    struct critical_span ns = lpo_critical_times(r->g, i);
    uint32_t slot = lpo_critical_slot_take(&r->calls, c->state, ns.end_ns);
    int64_t *start = lpo_critical_slot_numbers(&r->calls, slot), *end = start + r->lanes;

    memset(start, 0, r->lanes * sizeof *start);
    if (c->before != LPO_NONE) {
        struct critical_span b = lpo_critical_times(r->g, c->before);
        bool after = b.end_ns <= ns.start_ns; /* else they overlap */

        memcpy(start, after ? call_end(r, c->before) : call_start(r, c->before),
               r->lanes * sizeof *start);
        if (after) {
            shorten(r, i, CRITICAL_EDIT_HOST, ns.start_ns - b.end_ns, start);
            if (ns.end_ns >= ns.start_ns)
                lpo_critical_slot_follow(&r->calls, r->g->calls.at[c->before].state);
        }
        lpo_critical_slot_read(&r->calls, &r->g->calls.at[c->before].state);
    }
    memcpy(end, start, r->lanes * sizeof *end);
    shorten(r, i, CRITICAL_EDIT_CALL, ns.end_ns - ns.start_ns, end);
    lpo_critical_slot_ready(&r->calls, slot, &c->state);
}

/* The lag of an edge: as measured where it was the critical one, else the usual one or less. */
static struct edge edge_of(const int64_t *gain, int64_t ns, bool critical, int64_t usual_ns)
{
    if (!critical && ns > usual_ns)
        return (struct edge){ gain, ns - usual_ns, usual_ns };
    return (struct edge){ gain, 0, ns };
}

/* A launch that takes long before its operation starts: that is a part of the call, and shrinks
 * with it. */
static struct edge edge_in_launch(struct run *r, uint32_t call, int64_t ns)
{
    const int64_t *start = call_start(r, call), *end = call_end(r, call);
    struct critical_span c = lpo_critical_times(r->g, call);
    int64_t all = c.end_ns - c.start_ns;

    for (size_t i = 0; i < r->lanes; i++) {
        int64_t left = all - (end[i] - start[i]);

        r->in_launch[i] =
            start[i] + (left == all ? 0 : ns - (int64_t)((double)ns * (double)left / (double)all));
    }
    return (struct edge){ r->in_launch, 0, 0 };
}

static size_t find_edges(struct run *r, uint32_t i, struct edge *edges)
{
    const struct critical_graph *g = r->g;
    const struct critical_op *op = &g->ops.at[i];
    int64_t start_ns = lpo_critical_gpu_op(g, i)->start_ns, from_ns;
    enum critical_edge critical = lpo_critical_edge(g, i, &from_ns);
    size_t n = 0;

    if (op->before != LPO_NONE)
        edges[n++] =
            edge_of(op_end(r, op->before), start_ns - lpo_critical_gpu_op(g, op->before)->end_ns,
                    critical == CRITICAL_BEFORE, g->usual_gap_ns);
    if (op->other != LPO_NONE)
        edges[n++] =
            edge_of(op_end(r, op->other), start_ns - lpo_critical_gpu_op(g, op->other)->end_ns,
                    critical == CRITICAL_OTHER, g->usual_gap_ns);
    if (op->call != LPO_NONE) {
        struct critical_span c = lpo_critical_times(g, op->call);
        int64_t ns = lpo_critical_launch_ns(g, op->call, start_ns);

        if (critical == CRITICAL_LAUNCH && lpo_critical_in_launch(c, start_ns))
            edges[n++] = edge_in_launch(r, op->call, start_ns - ns);
        else
            edges[n++] = edge_of(ns == c.start_ns ? call_start(r, op->call) : call_end(r, op->call),
                                 start_ns - ns, critical == CRITICAL_LAUNCH, g->usual_launch_ns);
    }
    return n;
}

static void find_start(const struct run *r, size_t point, const struct edge *edges, size_t n,
                       int64_t *gain)
{
    int64_t lag[CRITICAL_LANES];
    bool any = r->r->first[point] != r->r->first[point + 1];

    memset(gain, 0, r->lanes * sizeof *gain);
    for (size_t k = 0; k < n; k++) {
        const struct edge *e = &edges[k];

        if (any) {
            memset(lag, 0, sizeof lag);
            shorten(r, point, CRITICAL_EDIT_LAG, e->lag_ns > 0 ? e->lag_ns : 0, lag);
        }
        for (size_t i = 0; i < r->lanes; i++) {
            int64_t ns = e->gain[i] + e->slack_ns + (any ? lag[i] : 0);

            gain[i] = k == 0 || ns < gain[i] ? ns : gain[i];
        }
    }
}

static void run_op(struct run *r, uint32_t i)
{
    struct critical_graph *g = r->g;
    struct critical_op *op = &g->ops.at[i];
    const struct lpo_gpu_op *w = lpo_critical_gpu_op(g, i);
    uint32_t slot = lpo_critical_slot_take(&r->ops, op->state, w->end_ns);
    int64_t *gain = lpo_critical_slot_numbers(&r->ops, slot), ns = lpo_trace_gpu_op_ns(w);
    struct edge edges[3];

    find_start(r, g->calls.len + i, edges, find_edges(r, i, edges), gain);
    shorten(r, g->calls.len + i, CRITICAL_EDIT_OP, ns, gain);
    if (op->before != LPO_NONE) {
        if (w->start_ns >= lpo_critical_gpu_op(g, op->before)->end_ns && ns >= 0)
            lpo_critical_slot_follow(&r->ops, g->ops.at[op->before].state);
        lpo_critical_slot_read(&r->ops, &g->ops.at[op->before].state);
    }
    if (op->other != LPO_NONE)
        lpo_critical_slot_read(&r->ops, &g->ops.at[op->other].state);
    if (op->call != LPO_NONE)
        lpo_critical_slot_read(&r->calls, &g->calls.at[op->call].state);
    lpo_critical_slot_ready(&r->ops, slot, &op->state);
}

/* Lanes in which the call no longer waits. */
static uint32_t no_wait(const struct run *r, uint32_t call)
{
    uint32_t lanes = 0;

    for (uint32_t i = r->r->first[call]; i < r->r->first[call + 1]; i++)
        if (r->r->edits.at[i].kind == CRITICAL_EDIT_WAIT)
            lanes |= r->active[r->r->edits.at[i].experiment];
    return lanes;
}

static void run_return(struct run *r, uint32_t i)
{
    struct critical_call *c = &r->g->calls.at[i];
    struct critical_span ns = lpo_critical_times(r->g, i);
    const int64_t *op = op_end(r, c->waits);
    int64_t op_ns = lpo_critical_gpu_op(r->g, c->waits)->end_ns;
    int64_t *start = lpo_critical_slot_numbers(&r->calls, c->state & ~CRITICAL_HAS_SLOT),
            *end = start + r->lanes;
    uint32_t free_of_it = no_wait(r, i);

    for (size_t k = 0; k < r->lanes; k++) {
        int64_t begun = ns.start_ns - start[k], over = op_ns - op[k];
        int64_t at = (begun > over ? begun : over) + ns.end_ns - op_ns;

        /* a copy may outlive its call: then the way back is below 0 */
        end[k] = ns.end_ns - (free_of_it >> k & 1 ? begun : at > begun ? at : begun);
    }
    lpo_critical_slot_read(&r->ops, &r->g->ops.at[c->waits].state);
    lpo_critical_slot_read(&r->calls, &c->state);
}

static void count_readers(struct critical_graph *g)
{
    for (size_t i = 0; i < g->calls.len; i++)
        g->calls.at[i].state = g->calls.at[i].waits != LPO_NONE; /* its return */
    for (size_t i = 0; i < g->ops.len; i++)
        g->ops.at[i].state = 0;
    for (size_t i = 0; i < g->calls.len; i++) {
        const struct critical_call *c = &g->calls.at[i];

        if (c->before != LPO_NONE)
            g->calls.at[c->before].state++;
        if (c->waits != LPO_NONE)
            g->ops.at[c->waits].state++;
    }
    for (size_t i = 0; i < g->ops.len; i++) {
        const struct critical_op *op = &g->ops.at[i];

        if (op->before != LPO_NONE)
            g->ops.at[op->before].state++;
        if (op->other != LPO_NONE)
            g->ops.at[op->other].state++;
        if (op->call != LPO_NONE)
            g->calls.at[op->call].state++;
    }
}

static void run_points(struct run *r)
{
    struct critical_order order;
    enum critical_point kind;
    uint32_t at;

    lpo_critical_order_begin(&order, r->g);
    while (lpo_critical_order_next(&order, &kind, &at)) {
        if (kind == CRITICAL_RETURN)
            run_return(r, at);
        else if (kind == CRITICAL_CALL)
            run_call(r, at);
        else
            run_op(r, at);
    }
    lpo_critical_order_free(&order);
}

void lpo_critical_replay_run(struct critical_replay *replay, const uint64_t *lanes, size_t count,
                             int64_t *out)
{
    struct run r = { .g = replay->g, .r = replay, .lanes = count };

    r.calls = (struct critical_slots){ .lanes = count, .width = 2 * count, .end_ns = r.end_ns };
    r.ops = (struct critical_slots){ .lanes = count, .width = count, .end_ns = r.end_ns };
    for (size_t i = 0; i < count; i++) {
        r.end_ns[i] = INT64_MIN;
        for (size_t k = 0; k < CRITICAL_EXPERIMENTS; k++)
            r.active[k] |= (uint32_t)(lanes[i] >> k & 1) << i;
    }
    count_readers(replay->g);
    run_points(&r);
    for (size_t i = 0; i < count; i++)
        out[i] = r.end_ns[i] - replay->g->start_ns;
    lpo_critical_slots_free(&r.calls);
    lpo_critical_slots_free(&r.ops);
}
