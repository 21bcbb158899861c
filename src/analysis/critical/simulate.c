/* SPDX-License-Identifier: Apache-2.0 */
/* The graph run again, as it is and with parts of it shorter: one pass over all points in the order
 * in which they were measured, for every change at once.
 *
 * A point has one number for the unchanged graph and two for each change (lanes): by how much
 * earlier than measured it is over. So what a change does not touch is copied, and a lag that stays
 * adds nothing. The numbers are kept until the last point that needs them: as many as there are
 * launches under way, not as many as the trace has. */
#include <stdlib.h>
#include <string.h>

#include "analysis/critical/private.h"
#include "analysis/critical/slots.h"
#include "region/scope.h"
#include "region/tree.h"

/* Numbers of points may take this much; with more launches under way, changes go in groups. */
enum { ROOM_BYTES = 4 << 20 };

/* An edge into an operation: it starts no earlier than the point before it, plus a lag. */
struct edge {
    const int64_t *gain;
    int64_t slack_ns, lag_ns;    /* of the time between them */
    enum lpo_critical_part part; /* of the lag; LPO_PATH_PARTS: none that can be changed */
};

struct run {
    struct critical_graph *g;
    const struct critical_input *in;
    struct critical_change *changes;
    size_t count, lanes;
    struct critical_slots calls, ops; /* calls have two numbers a lane: start, then end */
    int64_t *end_ns;                  /* per lane: of all points so far */
    int64_t *zero, *in_launch;
    /* which changes are what */
    int part_change[LPO_PATH_PARTS]; /* -1: none */
    size_t host_names[CRITICAL_NAMES], nhost_names;
    size_t gpu_names[CRITICAL_NAMES], ngpu_names;
    size_t regions[CRITICAL_REGIONS], nregions;
    int shorter;         /* the change with times for each operation; -1: none */
    uint8_t *regions_of; /* per place of the tree: a bit for each region that it is in */
    /* what the host does before and in a call */
    struct critical_sweep **sweeps; /* per thread */
    int64_t *until_ns;              /* per thread: where it has been counted */
    int64_t in_calls_ns, named_ns[CRITICAL_NAMES];
};

/* An edge against the order, of two points at one time, finds the time that was measured. */
static const int64_t *call_start(const struct run *r, uint32_t call)
{
    uint32_t state = r->g->calls.at[call].state;

    return state & CRITICAL_HAS_SLOT
               ? lpo_critical_slot_numbers(&r->calls, state & ~CRITICAL_HAS_SLOT)
               : r->zero;
}

static const int64_t *call_end(const struct run *r, uint32_t call)
{
    uint32_t state = r->g->calls.at[call].state;

    return state & CRITICAL_HAS_SLOT
               ? lpo_critical_slot_numbers(&r->calls, state & ~CRITICAL_HAS_SLOT) + r->lanes
               : r->zero;
}

static const int64_t *op_end(const struct run *r, uint32_t op)
{
    uint32_t state = r->g->ops.at[op].state;

    return state & CRITICAL_HAS_SLOT
               ? lpo_critical_slot_numbers(&r->ops, state & ~CRITICAL_HAS_SLOT)
               : r->zero;
}

static size_t lane_of(size_t change)
{
    return 1 + 2 * change;
}

/* What `ns` is less by: all of it in the first lane of a change, half of it in the second. */
static int64_t less_by(int64_t ns, int halved)
{
    return halved ? ns - ns / 2 : ns;
}

static void shorten(int64_t *gain, size_t change, int64_t ns)
{
    gain[lane_of(change)] += less_by(ns, 0);
    gain[lane_of(change) + 1] += less_by(ns, 1);
}

static void shorten_part(const struct run *r, int64_t *gain, enum lpo_critical_part part,
                         int64_t ns)
{
    if (r->part_change[part] >= 0)
        shorten(gain, (size_t)r->part_change[part], ns);
}

static void shorten_regions(const struct run *r, int64_t *gain, uint32_t launch, int64_t ns)
{
    uint8_t in =
        r->regions_of && launch != LPO_NONE ? r->regions_of[r->g->tree->launch_place[launch]] : 0;

    for (size_t i = 0; in; i++, in >>= 1)
        if (in & 1)
            shorten(gain, r->regions[i], ns);
}

static void count_frame(void *ctx, const struct critical_slice *slice, int64_t start_ns,
                        int64_t end_ns, enum lpo_critical_part part, uint32_t name)
{
    struct run *r = ctx;

    (void)slice;
    if (part == LPO_PATH_CALLS)
        r->in_calls_ns += end_ns - start_ns;
    for (size_t i = 0; i < r->nhost_names; i++) {
        const struct critical_change *c = &r->changes[r->host_names[i]];

        if (c->name == name && c->part == part)
            r->named_ns[i] += end_ns - start_ns;
    }
}

/* A stretch of the host before a call or inside it, shorter by what changes take of it. Of every
 * call of the graph, not of the path alone: with a part of the path gone, another chain may be the
 * longest. */
static void shorten_host(struct run *r, int64_t *gain, const struct critical_slice *slice,
                         int64_t ns)
{
    int64_t calls;

    r->in_calls_ns = 0;
    memset(r->named_ns, 0, sizeof r->named_ns);
    lpo_critical_sweep_slice(r->sweeps[slice->thread], slice);
    calls = slice->in_call ? ns : r->in_calls_ns;
    shorten_part(r, gain, LPO_PATH_HOST, ns - calls);
    shorten_part(r, gain, LPO_PATH_CALLS, calls);
    for (size_t i = 0; i < r->nhost_names; i++)
        if (r->named_ns[i])
            shorten(gain, r->host_names[i], r->named_ns[i]);
    shorten_regions(r, gain, lpo_critical_launch(r->g, slice->call), ns);
}

static void run_call(struct run *r, uint32_t i)
{
    struct critical_call *c = &r->g->calls.at[i];
    struct critical_span ns = lpo_critical_times(r->g, i);
    uint32_t thread = lpo_critical_thread(r->g, i);
    uint32_t slot = lpo_critical_slot_take(&r->calls, c->state, ns.end_ns);
    int64_t *start = lpo_critical_slot_numbers(&r->calls, slot), *end = start + r->lanes;
    int64_t *until = &r->until_ns[thread];
    struct critical_slice slice = { .thread = thread, .call = i };

    if (!r->sweeps[thread])
        r->sweeps[thread] = lpo_critical_sweep_create(r->in, count_frame, r);
    if (c->before == LPO_NONE) {
        memset(start, 0, r->lanes * sizeof *start);
    } else {
        struct critical_span b = lpo_critical_times(r->g, c->before);

        memcpy(start, b.end_ns <= ns.start_ns ? call_end(r, c->before) : call_start(r, c->before),
               r->lanes * sizeof *start);
        if (b.end_ns <= ns.start_ns) { /* else they overlap */
            slice.start_ns = b.end_ns > *until ? b.end_ns : *until;
            slice.end_ns = ns.start_ns;
            shorten_host(r, start, &slice, ns.start_ns - b.end_ns);
            if (ns.end_ns >= ns.start_ns)
                lpo_critical_slot_follow(&r->calls, r->g->calls.at[c->before].state);
        }
        lpo_critical_slot_read(&r->calls, &r->g->calls.at[c->before].state);
    }
    memcpy(end, start, r->lanes * sizeof *end);
    slice.start_ns = ns.start_ns > *until ? ns.start_ns : *until;
    slice.end_ns = ns.end_ns;
    slice.in_call = true;
    shorten_host(r, end, &slice, ns.end_ns - ns.start_ns);
    *until = ns.end_ns > *until ? ns.end_ns : *until;
    lpo_critical_slot_ready(&r->calls, slot, &c->state);
}

/* The lag of an edge: as measured where it was the critical one, else the usual one or less. */
static struct edge edge_of(const int64_t *gain, int64_t ns, bool critical, int64_t usual_ns,
                           enum lpo_critical_part part)
{
    struct edge e = { gain, 0, ns, part };

    if (!critical && ns > usual_ns) {
        e.lag_ns = usual_ns;
        e.slack_ns = ns - usual_ns;
    }
    if (e.lag_ns >= LPO_CRITICAL_UNEXPLAINED_NS)
        e.part = LPO_PATH_UNEXPLAINED;
    if (e.lag_ns <= 0)
        e.part = LPO_PATH_PARTS;
    return e;
}

/* A launch that takes long before its work starts: that is a part of the call, and shrinks with
 * it. */
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
        edges[n++] =
            edge_of(op_end(r, op->before), start_ns - lpo_critical_gpu_op(g, op->before)->end_ns,
                    critical == CRITICAL_BEFORE, g->usual_gap_ns, LPO_PATH_GAP);
    if (op->other != LPO_NONE)
        edges[n++] =
            edge_of(op_end(r, op->other), start_ns - lpo_critical_gpu_op(g, op->other)->end_ns,
                    critical == CRITICAL_OTHER, g->usual_gap_ns, LPO_PATH_GAP);
    if (op->call != LPO_NONE) {
        struct critical_span c = lpo_critical_times(g, op->call);
        int64_t ns = lpo_critical_launch_ns(g, op->call, start_ns);

        if (critical == CRITICAL_LAUNCH && lpo_critical_in_launch(c, start_ns))
            edges[n++] = edge_in_launch(r, op->call, start_ns - ns);
        else
            edges[n++] = edge_of(ns == c.start_ns ? call_start(r, op->call) : call_end(r, op->call),
                                 start_ns - ns, critical == CRITICAL_LAUNCH, g->usual_launch_ns,
                                 LPO_PATH_LAUNCH_DELAY);
    }
    return n;
}

/* A change of lags: the two lanes again, with shorter ones. */
static void shorten_lags(const struct run *r, const struct edge *edges, size_t n, int64_t *gain,
                         enum lpo_critical_part part)
{
    if (r->part_change[part] < 0)
        return;
    for (int halved = 0; halved < 2; halved++) {
        size_t lane = lane_of((size_t)r->part_change[part]) + (size_t)halved;

        for (size_t i = 0; i < n; i++) {
            const struct edge *e = &edges[i];
            int64_t ns =
                e->gain[lane] + e->slack_ns + (e->part == part ? less_by(e->lag_ns, halved) : 0);

            gain[lane] = i == 0 || ns < gain[lane] ? ns : gain[lane];
        }
    }
}

static void find_start(const struct run *r, const struct edge *edges, size_t n, int64_t *gain)
{
    if (!n)
        memset(gain, 0, r->lanes * sizeof *gain);
    for (size_t k = 0; k < n; k++) {
        const struct edge *e = &edges[k];

        for (size_t i = 0; i < r->lanes; i++) {
            int64_t ns = e->gain[i] + e->slack_ns;

            gain[i] = k == 0 || ns < gain[i] ? ns : gain[i];
        }
    }
    shorten_lags(r, edges, n, gain, LPO_PATH_GAP);
    shorten_lags(r, edges, n, gain, LPO_PATH_LAUNCH_DELAY);
    shorten_lags(r, edges, n, gain, LPO_PATH_UNEXPLAINED);
}

static void run_op(struct run *r, uint32_t i)
{
    struct critical_graph *g = r->g;
    struct critical_op *op = &g->ops.at[i];
    const struct lpo_gpu_op *w = lpo_critical_gpu_op(g, i);
    uint32_t slot = lpo_critical_slot_take(&r->ops, op->state, w->end_ns);
    int64_t *gain = lpo_critical_slot_numbers(&r->ops, slot), ns = lpo_trace_gpu_op_ns(w);
    struct edge edges[3];

    find_start(r, edges, find_edges(r, i, edges), gain);
    shorten_part(r, gain, lpo_critical_part_of(g, g->op_rows[i]), ns);
    for (size_t k = 0; k < r->ngpu_names; k++)
        if (r->changes[r->gpu_names[k]].name == w->name)
            shorten(gain, r->gpu_names[k], ns);
    shorten_regions(r, gain, w->launch, ns);
    if (r->shorter >= 0)
        shorten(gain, (size_t)r->shorter, r->changes[r->shorter].less_ns[g->op_rows[i]]);
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

static void run_return(struct run *r, uint32_t i)
{
    struct critical_call *c = &r->g->calls.at[i];
    struct critical_span ns = lpo_critical_times(r->g, i);
    const int64_t *op = op_end(r, c->waits);
    int64_t op_ns = lpo_critical_gpu_op(r->g, c->waits)->end_ns;
    int64_t *start = lpo_critical_slot_numbers(&r->calls, c->state & ~CRITICAL_HAS_SLOT),
            *end = start + r->lanes;

    for (size_t k = 0; k < r->lanes; k++) {
        int64_t begun = ns.start_ns - start[k], over = op_ns - op[k];
        int64_t at = (begun > over ? begun : over) + ns.end_ns - op_ns;

        /* a copy may outlive its call: then the way back is below 0 */
        end[k] = ns.end_ns - (at > begun ? at : begun);
    }
    /* without the wait it would return at once */
    if (r->part_change[LPO_PATH_RETURN] >= 0) {
        size_t lane = lane_of((size_t)r->part_change[LPO_PATH_RETURN]);

        end[lane] = ns.end_ns - ns.start_ns + start[lane];
    }
    lpo_critical_slot_read(&r->ops, &r->g->ops.at[c->waits].state);
    lpo_critical_slot_read(&r->calls, &c->state);
}

/* Nodes come after their parents. */
static void mark_places(struct run *r, uint32_t node, uint8_t bit)
{
    const struct lpo_region_tree *tree = r->g->tree;
    bool *nodes = lpo_xcalloc(tree->nodes.len + 1, sizeof *nodes);

    for (size_t i = 0; i < tree->nodes.len; i++) {
        uint32_t parent = tree->nodes.at[i].parent;

        nodes[i] = i == node || (parent != LPO_NONE && nodes[parent]);
    }
    for (size_t i = 0; i < tree->places.len; i++) {
        uint32_t leaf = tree->places.at[i].leaf;

        if (leaf == LPO_NONE ? node == LPO_NODE_OUTSIDE : nodes[leaf])
            r->regions_of[i] |= bit;
    }
    free(nodes);
}

static void sort_changes(struct run *r)
{
    for (int i = 0; i < LPO_PATH_PARTS; i++)
        r->part_change[i] = -1;
    r->shorter = -1;
    for (size_t i = 0; i < r->count; i++) {
        const struct critical_change *c = &r->changes[i];

        if (c->kind == CRITICAL_PART) {
            r->part_change[c->part] = (int)i;
        } else if (c->kind == CRITICAL_SHORTER) {
            r->shorter = (int)i;
        } else if (c->kind == CRITICAL_HOST_NAME && r->nhost_names < CRITICAL_NAMES) {
            r->host_names[r->nhost_names++] = i;
        } else if (c->kind == CRITICAL_GPU_NAME && r->ngpu_names < CRITICAL_NAMES) {
            r->gpu_names[r->ngpu_names++] = i;
        } else if (c->kind == CRITICAL_REGION && r->nregions < CRITICAL_REGIONS) {
            if (!r->regions_of)
                r->regions_of = lpo_xcalloc(r->g->tree->places.len + 1, sizeof *r->regions_of);
            mark_places(r, c->node, (uint8_t)(1u << r->nregions));
            r->regions[r->nregions++] = i;
        }
    }
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

/* False: there is no room for so many changes. */
static bool run_points(struct run *r)
{
    struct critical_order order;
    enum critical_point kind;
    bool fits = true;
    uint32_t at;

    lpo_critical_order_begin(&order, r->g);
    while (fits && lpo_critical_order_next(&order, &kind, &at)) {
        if (kind == CRITICAL_RETURN)
            run_return(r, at);
        else if (kind == CRITICAL_CALL)
            run_call(r, at);
        else
            run_op(r, at);
        fits =
            r->count <= 1 ||
            lpo_critical_slots_bytes(&r->calls) + lpo_critical_slots_bytes(&r->ops) <= ROOM_BYTES;
    }
    lpo_critical_order_free(&order);
    return fits;
}

static void run_free(struct run *r)
{
    for (size_t i = 0; i < r->g->t->threads.len; i++)
        if (r->sweeps[i])
            lpo_critical_sweep_destroy(r->sweeps[i]);
    free(r->sweeps);
    free(r->until_ns);
    free(r->regions_of);
    free(r->end_ns);
    free(r->zero);
    free(r->in_launch);
    lpo_critical_slots_free(&r->calls);
    lpo_critical_slots_free(&r->ops);
}

/* All changes in one pass; false: there are too many. */
static bool run_all(struct run *r, int64_t *unchanged_ns)
{
    size_t threads = r->g->t->threads.len;
    bool done;

    r->lanes = lane_of(r->count);
    r->zero = lpo_xcalloc(r->lanes, sizeof *r->zero);
    r->in_launch = lpo_xcalloc(r->lanes, sizeof *r->in_launch);
    r->end_ns = lpo_xcalloc(r->lanes, sizeof *r->end_ns);
    r->sweeps = lpo_xcalloc(threads + 1, sizeof *r->sweeps);
    r->until_ns = lpo_xcalloc(threads + 1, sizeof *r->until_ns);
    for (size_t i = 0; i < r->lanes; i++)
        r->end_ns[i] = INT64_MIN;
    r->calls = (struct critical_slots){ .lanes = r->lanes, .width = 2 * r->lanes };
    r->ops = (struct critical_slots){ .lanes = r->lanes, .width = r->lanes };
    r->calls.end_ns = r->ops.end_ns = r->end_ns;
    for (size_t i = 0; i < threads; i++)
        r->until_ns[i] = INT64_MIN;
    sort_changes(r);
    count_readers(r->g);
    done = run_points(r);
    *unchanged_ns = r->end_ns[0] - r->g->start_ns;
    for (size_t i = 0; done && i < r->count; i++) {
        r->changes[i].removed_ns = r->end_ns[lane_of(i)] - r->g->start_ns;
        r->changes[i].halved_ns = r->end_ns[lane_of(i) + 1] - r->g->start_ns;
    }
    run_free(r);
    return done;
}

int64_t lpo_critical_simulate(struct critical_graph *g, const struct critical_input *in,
                              struct critical_change *changes, size_t count)
{
    size_t done = 0, most = count;
    int64_t unchanged_ns = 0;

    do {
        size_t n = count - done < most ? count - done : most;
        struct run r = { .g = g, .in = in, .changes = changes + done, .count = n };

        if (run_all(&r, &unchanged_ns))
            done += n;
        else
            most = n / 2;
    } while (done < count);
    return unchanged_ns;
}
