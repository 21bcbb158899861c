/* SPDX-License-Identifier: Apache-2.0 */
/* The graph run again with parts of it shorter: one pass over all points in the order in which they
 * were measured, for several sets of changes (lanes) at once.
 *
 * A point has one number for each lane: by how much earlier than measured it is over. So what no
 * change touches is copied, and a lag that stays adds nothing. The numbers are kept until the last
 * point that needs them: as many as there are launches under way, not as many as the trace has.
 * What changes take off is said by whoever asks (edits.c, savings.c). */

#include "analysis/critical/private.h"

/* --- the points in the order of time, without a list of them: operations are sorted, so are the
 * calls of each thread, and a return is known when its call is reached --- */

enum critical_point { CRITICAL_RETURN, CRITICAL_CALL, CRITICAL_OP };

struct critical_next {
    int64_t ns;
    uint32_t point; /* kind above CRITICAL_KIND_SHIFT, number below */
};

struct critical_order {
    const struct critical_graph *g;
    LPO_VEC(struct critical_next) next; /* a heap: the next call of each thread, open returns */
    uint32_t op;                        /* the next one */
};

/* Of equal times returns come first, then calls, then operations: what leads to the next. */
static bool is_before(struct critical_next a, struct critical_next b)
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

        low += low + 1 < o->next.len && is_before(o->next.at[low + 1], o->next.at[low]);
        if (!is_before(o->next.at[low], x))
            break;
        o->next.at[at] = o->next.at[low];
        at = low;
    }
    o->next.at[at] = x;
}

static void order_put(struct critical_order *o, struct critical_next x)
{
    size_t at = o->next.len;

    lpo_vec_push(&o->next, x);
    while (at > 0 && is_before(x, o->next.at[(at - 1) / 2])) {
        o->next.at[at] = o->next.at[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    o->next.at[at] = x;
}

static void order_begin(struct critical_order *o, const struct critical_graph *g)
{
    *o = (struct critical_order){ .g = g };
    for (uint32_t i = 0; i < g->calls.len; i++)
        if (i == 0 || lpo_critical_thread(g, i) != lpo_critical_thread(g, i - 1))
            order_put(o, (struct critical_next){ lpo_critical_times(g, i).start_ns,
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
        order_put(o, (struct critical_next){ lpo_critical_times(g, at).end_ns,
                                             point(CRITICAL_RETURN, at) });
}

static bool order_next(struct critical_order *o, enum critical_point *kind, uint32_t *at)
{
    const struct critical_graph *g = o->g;
    struct critical_next first = { 0 };

    if (o->next.len)
        first = o->next.at[0];
    if (o->op < g->ops.len &&
        (!o->next.len || is_before((struct critical_next){ lpo_critical_gpu_op(g, o->op)->start_ns,
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

/* --- the numbers of points while others need them: a point gets a slot when it is run and loses it
 * when its last reader has run; then its end counts for the end of all --- */

/* The state of a point: until it is run, how many others will read it; then its slot. */
#define HAS_SLOT (1u << 31)

struct critical_slot {
    int64_t end_ns; /* as measured */
    uint32_t readers;
    bool followed; /* a later point ends later in every lane */
};

struct critical_slots {
    size_t lanes, width; /* numbers in a slot: the last `lanes` of them are of its end */
    int64_t *numbers;
    LPO_VEC(struct critical_slot) slots;
    LPO_VEC(uint32_t) idle;
    int64_t *end_ns; /* per lane: the latest end of points that have left; borrowed */
};

static int64_t *numbers_of(const struct critical_slots *s, uint32_t slot)
{
    return s->numbers + slot * s->width;
}

/* May move the numbers of all slots. */
static uint32_t slot_take(struct critical_slots *s, uint32_t readers, int64_t end_ns)
{
    uint32_t slot;

    if (s->idle.len) {
        slot = s->idle.at[--s->idle.len];
    } else {
        size_t cap = s->slots.cap;

        slot = (uint32_t)s->slots.len;
        lpo_vec_push(&s->slots, (struct critical_slot){ 0 });
        if (s->slots.cap != cap)
            s->numbers = lpo_xrealloc(s->numbers, s->slots.cap * s->width, sizeof *s->numbers);
    }
    s->slots.at[slot] = (struct critical_slot){ .end_ns = end_ns, .readers = readers };
    return slot;
}

static void let_go(struct critical_slots *s, uint32_t slot)
{
    const int64_t *gain = numbers_of(s, slot) + s->width - s->lanes;
    int64_t end_ns = s->slots.at[slot].end_ns;

    for (size_t i = 0; !s->slots.at[slot].followed && i < s->lanes; i++)
        if (end_ns - gain[i] > s->end_ns[i])
            s->end_ns[i] = end_ns - gain[i];
    lpo_vec_push(&s->idle, slot);
}

/* Its numbers are filled: the state of its point changes, and without readers it leaves. */
static void slot_ready(struct critical_slots *s, uint32_t slot, uint32_t *state)
{
    *state = HAS_SLOT | slot;
    if (!s->slots.at[slot].readers)
        let_go(s, slot);
}

/* One reader of a point less. */
static void slot_read(struct critical_slots *s, uint32_t *state)
{
    if (!(*state & HAS_SLOT))
        --*state;
    else if (--s->slots.at[*state & ~HAS_SLOT].readers == 0)
        let_go(s, *state & ~HAS_SLOT);
}

/* A point that ends later in every lane follows: this one's end need not be looked at. */
static void slot_follow(struct critical_slots *s, uint32_t state)
{
    if (state & HAS_SLOT)
        s->slots.at[state & ~HAS_SLOT].followed = true;
}

static void slots_free(struct critical_slots *s)
{
    free(s->numbers);
    lpo_vec_free(&s->slots);
    lpo_vec_free(&s->idle);
}

/* --- one pass --- */

/* An edge into an operation: it starts no earlier than the point before it, plus a lag. */
struct edge {
    const int64_t *gain;
    int64_t slack_ns, lag_ns;    /* of the time between them */
    enum lpo_critical_part part; /* of the lag; LPO_PATH_PARTS: none that can be changed */
};

struct run {
    struct critical_graph *g;
    const struct critical_changes *c;
    size_t lanes;
    struct critical_slots calls, ops; /* calls have two numbers a lane: start, then end */
    int64_t *zero, *in_launch, *lag;
};

static const int64_t *call_start(const struct run *r, uint32_t call)
{
    uint32_t state = r->g->calls.at[call].state;

    return state & HAS_SLOT ? numbers_of(&r->calls, state & ~HAS_SLOT)
                            : r->zero; /* against the order, of two points at one time */
}

static const int64_t *call_end(const struct run *r, uint32_t call)
{
    return call_start(r, call) + r->lanes;
}

static const int64_t *op_end(const struct run *r, uint32_t op)
{
    uint32_t state = r->g->ops.at[op].state;

    return state & HAS_SLOT ? numbers_of(&r->ops, state & ~HAS_SLOT) : r->zero;
}

static void shorten(const struct run *r, enum critical_less_kind kind, uint32_t at,
                    int64_t start_ns, int64_t end_ns, int64_t *gain)
{
    r->c->less(r->c->ctx, kind, at, start_ns, end_ns, gain);
}

static void run_call(struct run *r, uint32_t i)
{
    struct critical_call *c = &r->g->calls.at[i];
    struct critical_span ns = lpo_critical_times(r->g, i);
    uint32_t slot = slot_take(&r->calls, c->state, ns.end_ns);
    int64_t *start = numbers_of(&r->calls, slot), *end = start + r->lanes;

    memset(start, 0, r->lanes * sizeof *start);
    if (c->before != LPO_NONE) {
        struct critical_span b = lpo_critical_times(r->g, c->before);
        bool after = b.end_ns <= ns.start_ns; /* else they overlap */

        memcpy(start, after ? call_end(r, c->before) : call_start(r, c->before),
               r->lanes * sizeof *start);
        if (after) {
            shorten(r, CRITICAL_LESS_HOST, i, b.end_ns, ns.start_ns, start);
            if (ns.end_ns >= ns.start_ns)
                slot_follow(&r->calls, r->g->calls.at[c->before].state);
        }
        slot_read(&r->calls, &r->g->calls.at[c->before].state);
    }
    memcpy(end, start, r->lanes * sizeof *end);
    shorten(r, CRITICAL_LESS_CALL, i, ns.start_ns, ns.end_ns, end);
    slot_ready(&r->calls, slot, &c->state);
}

/* The lag of an edge: as measured where it was the critical one, else the usual one or less. */
static struct edge edge_of(const struct run *r, uint32_t op, enum critical_edge kind,
                           enum critical_edge critical, const int64_t *gain, int64_t from_ns)
{
    const struct lpo_gpu_op *k = lpo_critical_gpu_op(r->g, op);
    int64_t usual_ns = kind == CRITICAL_LAUNCH ? r->g->usual_launch_ns : r->g->usual_gap_ns;
    struct edge e = { gain, 0, k->start_ns - from_ns, LPO_PATH_PARTS };

    if (kind != critical && e.lag_ns > usual_ns) {
        e.slack_ns = e.lag_ns - usual_ns;
        e.lag_ns = usual_ns;
    }
    if (e.lag_ns > 0)
        e.part = lpo_critical_lag_part(k, kind, e.lag_ns);
    return e;
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
    return (struct edge){ r->in_launch, 0, 0, LPO_PATH_PARTS };
}

static size_t find_edges(struct run *r, uint32_t i, struct edge *edges)
{
    const struct critical_graph *g = r->g;
    const struct critical_op *op = &g->ops.at[i];
    int64_t start_ns = lpo_critical_gpu_op(g, i)->start_ns, from_ns;
    enum critical_edge critical = lpo_critical_edge(g, i, &from_ns);
    size_t n = 0;

    if (op->before != LPO_NONE)
        edges[n++] = edge_of(r, i, CRITICAL_BEFORE, critical, op_end(r, op->before),
                             lpo_critical_gpu_op(g, op->before)->end_ns);
    if (op->other != LPO_NONE)
        edges[n++] = edge_of(r, i, CRITICAL_OTHER, critical, op_end(r, op->other),
                             lpo_critical_gpu_op(g, op->other)->end_ns);
    if (op->call != LPO_NONE) {
        struct critical_span c = lpo_critical_times(g, op->call);
        int64_t ns = lpo_critical_launch_ns(g, op->call, start_ns);

        if (critical == CRITICAL_LAUNCH && lpo_critical_in_launch(c, start_ns))
            edges[n++] = edge_in_launch(r, op->call, start_ns - ns);
        else
            edges[n++] =
                edge_of(r, i, CRITICAL_LAUNCH, critical,
                        ns == c.start_ns ? call_start(r, op->call) : call_end(r, op->call), ns);
    }
    return n;
}

static void find_start(const struct run *r, uint32_t op, const struct edge *edges, size_t n,
                       int64_t *gain)
{
    if (!n)
        memset(gain, 0, r->lanes * sizeof *gain);
    for (size_t k = 0; k < n; k++) {
        const struct edge *e = &edges[k];

        memset(r->lag, 0, r->lanes * sizeof *r->lag);
        if (e->part != LPO_PATH_PARTS)
            r->c->less_lag(r->c->ctx, op, e->part, e->lag_ns, r->lag);
        for (size_t i = 0; i < r->lanes; i++) {
            int64_t ns = e->gain[i] + e->slack_ns + r->lag[i];

            gain[i] = k == 0 || ns < gain[i] ? ns : gain[i];
        }
    }
}

static void run_op(struct run *r, uint32_t i)
{
    struct critical_graph *g = r->g;
    struct critical_op *op = &g->ops.at[i];
    const struct lpo_gpu_op *w = lpo_critical_gpu_op(g, i);
    uint32_t slot = slot_take(&r->ops, op->state, w->end_ns);
    int64_t *gain = numbers_of(&r->ops, slot);
    struct edge edges[3];

    find_start(r, i, edges, find_edges(r, i, edges), gain);
    shorten(r, CRITICAL_LESS_OP, i, w->start_ns, w->start_ns + lpo_trace_gpu_op_ns(w), gain);
    if (op->before != LPO_NONE) {
        if (w->start_ns >= lpo_critical_gpu_op(g, op->before)->end_ns &&
            lpo_trace_gpu_op_ns(w) >= 0)
            slot_follow(&r->ops, g->ops.at[op->before].state);
        slot_read(&r->ops, &g->ops.at[op->before].state);
    }
    if (op->other != LPO_NONE)
        slot_read(&r->ops, &g->ops.at[op->other].state);
    if (op->call != LPO_NONE)
        slot_read(&r->calls, &g->calls.at[op->call].state);
    slot_ready(&r->ops, slot, &op->state);
}

static void run_return(struct run *r, uint32_t i)
{
    struct critical_call *c = &r->g->calls.at[i];
    struct critical_span ns = lpo_critical_times(r->g, i);
    const int64_t *op = op_end(r, c->waits);
    int64_t op_ns = lpo_critical_gpu_op(r->g, c->waits)->end_ns;
    int64_t *start = numbers_of(&r->calls, c->state & ~HAS_SLOT), *end = start + r->lanes;
    uint64_t at_once = r->c->no_wait(r->c->ctx, i);

    for (size_t k = 0; k < r->lanes; k++) {
        int64_t begun = ns.start_ns - start[k], over = op_ns - op[k];
        int64_t at = (begun > over ? begun : over) + ns.end_ns - op_ns;

        /* a copy may outlive its call: then the way back is below 0 */
        end[k] = ns.end_ns - (at_once >> k & 1 ? begun : at > begun ? at : begun);
    }
    slot_read(&r->ops, &r->g->ops.at[c->waits].state);
    slot_read(&r->calls, &c->state);
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

static size_t slots_bytes(const struct critical_slots *s)
{
    return s->slots.len * s->width * sizeof *s->numbers;
}

static bool run_points(struct run *r)
{
    struct critical_order order;
    enum critical_point kind;
    bool fits = true;
    uint32_t at;

    order_begin(&order, r->g);
    while (fits && order_next(&order, &kind, &at)) {
        if (kind == CRITICAL_RETURN)
            run_return(r, at);
        else if (kind == CRITICAL_CALL)
            run_call(r, at);
        else
            run_op(r, at);
        fits =
            !r->c->room_bytes || slots_bytes(&r->calls) + slots_bytes(&r->ops) <= r->c->room_bytes;
    }
    lpo_vec_free(&order.next);
    return fits;
}

bool lpo_critical_run(struct critical_graph *g, const struct critical_changes *c, size_t lanes,
                      int64_t *out)
{
    LPO_FREED int64_t *room = lpo_xcalloc(4 * lanes, sizeof *room);
    struct run r = {
        g, c, lanes, .zero = room, .in_launch = room + 2 * lanes, .lag = room + 3 * lanes
    };
    bool fits;

    r.calls = (struct critical_slots){ .lanes = lanes, .width = 2 * lanes, .end_ns = out };
    r.ops = (struct critical_slots){ .lanes = lanes, .width = lanes, .end_ns = out };
    for (size_t i = 0; i < lanes; i++)
        out[i] = INT64_MIN;
    count_readers(g);
    fits = run_points(&r);
    for (size_t i = 0; i < lanes; i++)
        out[i] -= g->start_ns;
    slots_free(&r.calls);
    slots_free(&r.ops);
    return fits;
}
