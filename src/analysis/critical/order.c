/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a graph in the order of time, without a list of them: operations are sorted, so are
 * the calls of each thread, and a return is known when its call is reached. */
#include "analysis/critical/private.h"

/* Of equal times returns come first, then calls, then operations: what leads to the next. */
static bool before(struct critical_next a, struct critical_next b)
{
    return a.ns != b.ns ? a.ns < b.ns : a.point < b.point;
}

static uint32_t point(enum critical_point kind, uint32_t at)
{
    return (uint32_t)kind << CRITICAL_KIND_SHIFT | at;
}

static void sink(struct critical_order *o, size_t at, struct critical_next x)
{
    while (2 * at + 1 < o->next.len) {
        size_t low = 2 * at + 1;

        low += low + 1 < o->next.len && before(o->next.at[low + 1], o->next.at[low]);
        if (!before(o->next.at[low], x))
            break;
        o->next.at[at] = o->next.at[low];
        at = low;
    }
    o->next.at[at] = x;
}

static void put(struct critical_order *o, struct critical_next x)
{
    size_t at = o->next.len;

    lpo_vec_push(&o->next, x);
    while (at > 0 && before(x, o->next.at[(at - 1) / 2])) {
        o->next.at[at] = o->next.at[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    o->next.at[at] = x;
}

void lpo_critical_order_begin(struct critical_order *o, const struct critical_graph *g)
{
    *o = (struct critical_order){ .g = g };
    for (uint32_t i = 0; i < g->calls.len; i++)
        if (i == 0 || lpo_critical_thread(g, i) != lpo_critical_thread(g, i - 1))
            put(o, (struct critical_next){ lpo_critical_times(g, i).start_ns,
                                           point(CRITICAL_CALL, i) });
}

/* The first of the heap is taken: what follows it there is the next call of its thread. */
static void take_first(struct critical_order *o, enum critical_point kind, uint32_t at)
{
    const struct critical_graph *g = o->g;

    if (kind == CRITICAL_CALL && at + 1 < g->calls.len &&
        lpo_critical_thread(g, at + 1) == lpo_critical_thread(g, at)) {
        sink(o, 0,
             (struct critical_next){ lpo_critical_times(g, at + 1).start_ns,
                                     point(CRITICAL_CALL, at + 1) });
    } else {
        o->next.len--;
        if (o->next.len)
            sink(o, 0, o->next.at[o->next.len]);
    }
    if (kind == CRITICAL_CALL && g->calls.at[at].waits != LPO_NONE)
        put(o,
            (struct critical_next){ lpo_critical_times(g, at).end_ns, point(CRITICAL_RETURN, at) });
}

bool lpo_critical_order_next(struct critical_order *o, enum critical_point *kind, uint32_t *at)
{
    const struct critical_graph *g = o->g;
    struct critical_next first = { 0 };

    if (o->next.len)
        first = o->next.at[0];
    if (o->op < g->ops.len &&
        (!o->next.len || before((struct critical_next){ lpo_critical_gpu_op(g, o->op)->start_ns,
                                                        point(CRITICAL_OP, o->op) },
                                first))) {
        *kind = CRITICAL_OP;
        *at = o->op++;
        return true;
    }
    if (!o->next.len)
        return false;
    *kind = (enum critical_point)(first.point >> CRITICAL_KIND_SHIFT);
    *at = first.point & ((1u << CRITICAL_KIND_SHIFT) - 1);
    take_first(o, *kind, *at);
    return true;
}

void lpo_critical_order_free(struct critical_order *o)
{
    lpo_vec_free(&o->next);
}
