/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which a device only communicates, as waiting and sending; and what the latest rank did
 * while the others waited for it. */

#include "analysis/ranks/private.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/computing.h"
#include "analysis/wall/private.h"
#include "region/tree.h"

struct interval {
    int64_t start_ns, end_ns;
};

typedef LPO_VEC(struct interval) intervals;

LPO_COMPARE(by_start, struct interval, LPO_UP(start_ns) ?: LPO_UP(end_ns));

/* Sorted, and those that overlap or touch made one. */
static void unite(intervals *v)
{
    size_t n = 0;

    lpo_vec_sort(v, by_start);
    for (size_t i = 0; i < v->len; i++)
        if (n && v->at[i].start_ns <= v->at[n - 1].end_ns) {
            if (v->at[i].end_ns > v->at[n - 1].end_ns)
                v->at[n - 1].end_ns = v->at[i].end_ns;
        } else {
            v->at[n++] = v->at[i];
        }
    v->len = n;
}

/* The time of the intervals in which nothing was computed. */
static int64_t exposed(intervals *v, const struct lpo_wall_computing *c)
{
    int64_t ns = 0;

    unite(v);
    for (size_t i = 0; i < v->len; i++)
        ns += v->at[i].end_ns - v->at[i].start_ns -
              (lpo_wall_computed_before(c, v->at[i].end_ns) -
               lpo_wall_computed_before(c, v->at[i].start_ns));
    return ns;
}

struct devices {
    const struct lpo_region_tree *tree;
    struct lpo_ranks *r;
    const struct ranks_meeting *meetings;
    struct lpo_map_u64 *event_of; /* op to its place in `events` */
    LPO_VEC(struct ranks_event) events;
    intervals late; /* of the latest rank, on its own clock */
    struct lpo_map_u64 *kernel_rows;
    LPO_VEC(int64_t) kernel_ns;
    LPO_VEC(uint32_t) kernel_names;
};

/* Waiting first, then sending: time in which one collective sends while another waits is sending.
 */
static void split_exposed(struct devices *d, uint32_t row, const uint32_t *ops, size_t count,
                          const struct lpo_wall_computing *c)
{
    const struct lpo_trace *t = d->tree->trace;
    struct lpo_rank_row *rank = &d->r->rows.at[row];
    intervals sending = { 0 }, known = { 0 }, all = { 0 };
    int64_t sent, both;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[ops[i]];
        const uint32_t *at;
        const struct ranks_event *e;
        int64_t wait;

        if (op->kind != LPO_KERNEL || !lpo_wall_communicates(d->tree, op->name))
            continue;
        lpo_vec_push(&all, (struct interval){ op->start_ns, op->end_ns });
        at = lpo_map_u64_find(d->event_of, ops[i]);
        e = at ? &d->events.at[*at] : NULL;
        if (!e || e->instance == LPO_NONE || !d->meetings[e->instance].complete)
            continue;
        wait = lpo_ranks_waiting(d->r, &d->meetings[e->instance], row, e);
        lpo_vec_push(&known, (struct interval){ op->start_ns, op->end_ns });
        lpo_vec_push(&sending, (struct interval){ op->start_ns + wait, op->end_ns });
    }
    sent = exposed(&sending, c);
    both = exposed(&known, c);
    rank->exposed_sending_ns += sent;
    rank->exposed_waiting_ns += both - sent;
    rank->exposed_unknown_ns += exposed(&all, c) - both;
    lpo_vec_free(&sending);
    lpo_vec_free(&known);
    lpo_vec_free(&all);
}

static void count_kernel(struct devices *d, uint32_t name, int64_t ns)
{
    bool fresh;
    uint32_t *row = lpo_map_u64_put(d->kernel_rows, name, &fresh);

    if (fresh) {
        *row = (uint32_t)d->kernel_ns.len;
        lpo_vec_push(&d->kernel_ns, 0);
        lpo_vec_push(&d->kernel_names, name);
    }
    d->kernel_ns.at[*row] += ns;
}

/* The part of [start, end) that lies in the intervals, which are united. */
static int64_t inside(const intervals *v, int64_t start_ns, int64_t end_ns)
{
    size_t lo = 0, hi = v->len;
    int64_t ns = 0;

    lpo_search(lo, hi, mid, v->at[mid].end_ns <= start_ns);
    for (; lo < v->len && v->at[lo].start_ns < end_ns; lo++) {
        int64_t from = v->at[lo].start_ns > start_ns ? v->at[lo].start_ns : start_ns;
        int64_t to = v->at[lo].end_ns < end_ns ? v->at[lo].end_ns : end_ns;

        ns += to - from;
    }
    return ns;
}

/* What the latest rank did while the others waited: collectives of others count as other work. */
static void look_at_latest(struct devices *d, const uint32_t *ops, size_t count,
                           const struct lpo_wall_computing *c)
{
    const struct lpo_trace *t = d->tree->trace;
    struct lpo_rank_late *late = &d->r->late;
    LPO_FREED intervals busy = { 0 };
    int64_t total = 0, worked = 0;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[ops[i]];
        int64_t ns = inside(&d->late, op->start_ns, op->end_ns);

        if (!ns)
            continue;
        lpo_vec_push(&busy, (struct interval){ op->start_ns, op->end_ns });
        if (op->kind == LPO_KERNEL && !lpo_wall_communicates(d->tree, op->name))
            count_kernel(d, op->name, ns);
    }
    unite(&busy);
    for (size_t i = 0; i < busy.len; i++)
        worked += inside(&d->late, busy.at[i].start_ns, busy.at[i].end_ns);
    for (size_t i = 0; i < d->late.len; i++) {
        total += d->late.at[i].end_ns - d->late.at[i].start_ns;
        late->compute_ns += lpo_wall_computed_before(c, d->late.at[i].end_ns) -
                            lpo_wall_computed_before(c, d->late.at[i].start_ns);
    }
    late->other_ns = worked - late->compute_ns;
    late->idle_ns = total - worked;
    for (size_t i = 0; i < d->kernel_ns.len; i++)
        if (d->kernel_ns.at[i] > late->kernel_ns) {
            late->kernel_ns = d->kernel_ns.at[i];
            late->kernel = d->kernel_names.at[i];
        }
}

static void add_device(struct devices *d, const uint32_t *ops, size_t count)
{
    const struct lpo_trace *t = d->tree->trace;
    int32_t rank = t->devices.at[t->gpu_ops.at[ops[0]].device].rank;
    struct lpo_wall_computing c = { 0 };
    uint32_t row = 0;

    while (row < d->r->rows.len && d->r->rows.at[row].rank != rank)
        row++;
    if (rank < 0 || row == d->r->rows.len)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[ops[i]];

        if (op->kind == LPO_KERNEL && !lpo_wall_communicates(d->tree, op->name))
            lpo_wall_computing_add(&c, op);
    }
    split_exposed(d, row, ops, count, &c);
    if (row == d->r->latest)
        look_at_latest(d, ops, count, &c);
    lpo_wall_computing_free(&c);
}

static void index_events(struct devices *d, const ranks_families *families)
{
    for (size_t i = 0; i < families->len; i++)
        for (size_t k = 0; k < families->at[i].series.len; k++) {
            const ranks_events *v = &families->at[i].series.at[k].events;

            for (size_t n = 0; n < v->len; n++) {
                *lpo_map_u64_put(d->event_of, v->at[n].op, NULL) = (uint32_t)d->events.len;
                lpo_vec_push(&d->events, v->at[n]);
            }
        }
}

/* The times that the others waited for the latest rank, on its own clock. */
static void find_late(struct devices *d, uint32_t instances)
{
    const struct lpo_rank_row *row = &d->r->rows.at[d->r->latest];

    for (uint32_t i = 0; i < instances; i++) {
        const struct ranks_meeting *m = &d->meetings[i];

        if (m->last_rank == d->r->latest && lpo_ranks_lateness(d->r, m))
            lpo_vec_push(&d->late, (struct interval){ lpo_ranks_own_ns(row, m->second_ns),
                                                      lpo_ranks_own_ns(row, m->last_ns) });
    }
    unite(&d->late);
}

void lpo_ranks_exposed(const struct lpo_region_tree *tree, struct lpo_ranks *r,
                       const ranks_families *families, const struct ranks_meeting *meetings,
                       uint32_t instances)
{
    struct lpo_wall_order order = lpo_wall_order_find(tree->trace);
    struct devices d = { .tree = tree,
                         .r = r,
                         .meetings = meetings,
                         .event_of = lpo_map_u64_create(0),
                         .kernel_rows = lpo_map_u64_create(0) };

    r->late.kernel = LPO_NONE;
    index_events(&d, families);
    if (r->latest < r->rows.len)
        find_late(&d, instances);
    for (size_t i = 0; i < order.count;) {
        size_t end = lpo_wall_order_device(&order, tree->trace, i);

        add_device(&d, order.rows + i, end - i);
        i = end;
    }
    lpo_map_u64_destroy(d.event_of);
    lpo_map_u64_destroy(d.kernel_rows);
    lpo_vec_free(&d.events);
    lpo_vec_free(&d.late);
    lpo_vec_free(&d.kernel_ns);
    lpo_vec_free(&d.kernel_names);
    lpo_wall_order_free(&order);
}
