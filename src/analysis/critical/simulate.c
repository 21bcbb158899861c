/* SPDX-License-Identifier: Apache-2.0 */
/* The graph run again, as it is or with a part of it shorter. One pass over all points in the order
 * in which they were measured: every edge leads forward in that order. */
#include <stdlib.h>

#include "analysis/critical/private.h"
#include "region/tree.h"

struct run {
    const struct critical_graph *g;
    const struct critical_change *change;
    struct critical_times s;
};

static int64_t kept(int64_t ns, double keep)
{
    return keep == 0 ? 0 : (int64_t)((double)ns * keep);
}

/* `ns` of a part, under the change. */
static int64_t part_ns(const struct run *r, enum lpo_critical_part part, int64_t ns)
{
    return r->change && r->change->parts[part] ? kept(ns, r->change->keep) : ns;
}

static bool in_places(const struct run *r, uint32_t launch)
{
    return r->change->places && launch != LPO_NONE &&
           r->change->places[r->g->tree->launch_place[launch]];
}

static bool changed_op(const struct run *r, const struct lpo_gpu_op *w, uint32_t row)
{
    return r->change->name == w->name || in_places(r, w->launch) ||
           r->change->parts[lpo_critical_part_of(r->g, row)];
}

static int64_t op_ns(const struct run *r, const struct lpo_gpu_op *w, uint32_t row)
{
    int64_t ns = lpo_trace_gpu_op_ns(w);

    return r->change && changed_op(r, w, row) ? kept(ns, r->change->keep) : ns;
}

/* The lag of an edge: as measured where it was the critical one, else the usual one or less. */
static int64_t lag(const struct run *r, bool critical, enum lpo_critical_part part, int64_t ns,
                   int64_t usual_ns)
{
    if (!critical && ns > usual_ns)
        ns = usual_ns;
    if (ns >= LPO_CRITICAL_UNEXPLAINED_NS)
        part = LPO_PATH_UNEXPLAINED;
    return ns > 0 ? part_ns(r, part, ns) : ns;
}

/* Time of the host before a call (`inside` 0) or in it (1). */
static int64_t host_ns(const struct run *r, uint32_t i, int inside, int64_t ns)
{
    const struct critical_change *x = r->change;
    int64_t calls, named;

    if (!x)
        return ns;
    calls = inside ? ns : x->in_calls ? x->in_calls[2 * (size_t)i] : 0;
    named = x->named ? x->named[2 * (size_t)i + (size_t)inside] : 0;
    if (in_places(r, r->g->calls.at[i].launch))
        return kept(ns, x->keep);
    if (x->parts[LPO_PATH_HOST])
        return calls + kept(ns - calls, x->keep);
    if (x->parts[LPO_PATH_CALLS])
        return ns - calls + kept(calls, x->keep);
    return ns - named + kept(named, x->keep);
}

/* A launch that takes long before its work starts: that is a part of the call. */
static int64_t inside_ns(const struct run *r, uint32_t call, int64_t ns)
{
    int64_t all = r->g->calls.at[call].end_ns - r->g->calls.at[call].start_ns;
    int64_t left = host_ns(r, call, 1, all);

    return left == all ? ns : (int64_t)((double)ns * (double)left / (double)all);
}

static void later(int64_t *at, int64_t ns)
{
    *at = ns > *at ? ns : *at;
}

static void run_op(struct run *r, uint32_t i)
{
    const struct critical_graph *g = r->g;
    const struct critical_op *op = &g->ops.at[i];
    const struct lpo_gpu_op *w = &g->t->gpu_ops.at[op->row];
    int64_t from_ns, start = INT64_MIN;
    enum critical_edge edge = lpo_critical_edge(g, op, &from_ns);

    if (edge == CRITICAL_NO_EDGE)
        start = w->start_ns;
    if (op->before != LPO_NONE)
        later(&start, r->s.op_end[op->before] +
                          lag(r, edge == CRITICAL_BEFORE, LPO_PATH_GAP,
                              w->start_ns - g->t->gpu_ops.at[g->ops.at[op->before].row].end_ns,
                              g->usual_gap_ns));
    if (op->other != LPO_NONE)
        later(&start, r->s.op_end[op->other] +
                          lag(r, edge == CRITICAL_OTHER, LPO_PATH_GAP,
                              w->start_ns - g->t->gpu_ops.at[g->ops.at[op->other].row].end_ns,
                              g->usual_gap_ns));
    if (op->call != LPO_NONE) {
        const struct critical_call *c = &g->calls.at[op->call];
        int64_t ns = lpo_critical_launch_ns(c, w->start_ns);

        if (edge == CRITICAL_LAUNCH && lpo_critical_in_launch(c, w->start_ns))
            later(&start, r->s.call_start[op->call] + inside_ns(r, op->call, w->start_ns - ns));
        else
            later(&start,
                  (ns == c->start_ns ? r->s.call_start[op->call] : r->s.call_end[op->call]) +
                      lag(r, edge == CRITICAL_LAUNCH, LPO_PATH_LAUNCH_DELAY, w->start_ns - ns,
                          g->usual_launch_ns));
    }
    r->s.op_end[i] = start + op_ns(r, w, op->row);
}

static void run_call(struct run *r, uint32_t i)
{
    const struct critical_call *c = &r->g->calls.at[i];
    int64_t start = c->start_ns;

    if (c->before != LPO_NONE) {
        const struct critical_call *b = &r->g->calls.at[c->before];

        if (b->end_ns <= c->start_ns)
            start = r->s.call_end[c->before] + host_ns(r, i, 0, c->start_ns - b->end_ns);
        else /* they overlap */
            start = r->s.call_start[c->before] + c->start_ns - b->start_ns;
    }
    r->s.call_start[i] = start;
    r->s.call_end[i] = start + host_ns(r, i, 1, c->end_ns - c->start_ns);
}

static void run_return(struct run *r, uint32_t i)
{
    const struct critical_call *c = &r->g->calls.at[i];
    int64_t op_end = r->g->t->gpu_ops.at[r->g->ops.at[c->waits].row].end_ns;
    int64_t back = part_ns(r, LPO_PATH_RETURN, c->end_ns - op_end);

    /* without the wait it would return at once */
    if (r->change && r->change->parts[LPO_PATH_RETURN]) {
        r->s.call_end[i] = r->s.call_start[i];
        return;
    }
    r->s.call_end[i] = r->s.call_start[i];
    later(&r->s.call_end[i], r->s.op_end[c->waits]);
    r->s.call_end[i] += back;
    later(&r->s.call_end[i], r->s.call_start[i]); /* a copy may outlive its call: back is below 0 */
}

struct critical_times lpo_critical_times_create(const struct critical_graph *g)
{
    return (struct critical_times){
        .op_end = lpo_xrealloc(NULL, g->ops.len + 1, sizeof(int64_t)),
        .call_start = lpo_xrealloc(NULL, g->calls.len + 1, sizeof(int64_t)),
        .call_end = lpo_xrealloc(NULL, g->calls.len + 1, sizeof(int64_t)),
    };
}

void lpo_critical_times_free(struct critical_times *s)
{
    free(s->op_end);
    free(s->call_start);
    free(s->call_end);
    *s = (struct critical_times){ 0 };
}

int64_t lpo_critical_simulate(const struct critical_graph *g, const struct critical_change *change,
                              struct critical_times *room)
{
    struct run r = { g, change, *room };
    int64_t end = INT64_MIN;

    /* an edge against the order, of two points at one time, finds the time that was measured */
    for (size_t i = 0; i < g->ops.len; i++)
        r.s.op_end[i] = g->t->gpu_ops.at[g->ops.at[i].row].end_ns;
    for (size_t i = 0; i < g->calls.len; i++) {
        r.s.call_start[i] = g->calls.at[i].start_ns;
        r.s.call_end[i] = g->calls.at[i].end_ns;
    }
    for (size_t i = 0; i < g->norder; i++) {
        uint32_t at = g->order[i] & ((1u << CRITICAL_KIND_SHIFT) - 1);

        switch (g->order[i] >> CRITICAL_KIND_SHIFT) {
        case CRITICAL_RETURN:
            run_return(&r, at);
            break;
        case CRITICAL_CALL:
            run_call(&r, at);
            break;
        default:
            run_op(&r, at);
            break;
        }
    }
    for (size_t i = 0; i < g->ops.len; i++)
        later(&end, r.s.op_end[i]);
    for (size_t i = 0; i < g->calls.len; i++)
        later(&end, r.s.call_end[i]);
    return end - g->start_ns;
}
