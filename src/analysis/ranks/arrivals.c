/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes last, who waits for it, and what it did meanwhile. */
#include <stdlib.h>

#include "analysis/ranks/private.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/computing.h"
#include "analysis/wall/private.h"
#include "region/tree.h"
#include "util/map.h"
#include "util/xmalloc.h"

enum { CERTAIN_ERRORS = 2, LEAST_ERROR = 1000 /* ns: what a clock of microseconds can say */ };

/* One collective, on the clock of the first rank. */
struct meeting {
    int64_t first_ns, second_ns, last_ns; /* arrivals; second: to last */
    int64_t end_ns;                       /* the last one */
    uint32_t count, last_rank;            /* ranks; the row of the last */
    bool complete;                        /* all ranks of its group were recorded, and all wait */
};

static void arrive(struct meeting *m, uint32_t rank, int64_t start_ns, int64_t end_ns)
{
    if (!m->count || start_ns < m->first_ns)
        m->first_ns = start_ns;
    if (!m->count || start_ns > m->last_ns) {
        m->second_ns = m->count ? m->last_ns : start_ns;
        m->last_ns = start_ns;
        m->last_rank = rank;
    } else if (m->count == 1 || start_ns > m->second_ns) {
        m->second_ns = start_ns;
    }
    if (!m->count || end_ns > m->end_ns)
        m->end_ns = end_ns;
    m->count++;
}

/* Where a rank of the group was not recorded, it may be the one that the others wait for; and a
 * sender waits for nobody. Then nothing is said about who waits. */
static void judge_complete(const struct lpo_trace *t, const struct ranks_family *f,
                           struct meeting *all)
{
    uint32_t ranks = f->group_ranks ? f->group_ranks : t->ranks;

    for (uint32_t i = 0; i < f->instances; i++) {
        struct meeting *m = &all[f->first_instance + i];

        m->complete = f->together && m->count > 1 && m->count >= ranks;
    }
}

static struct meeting *meet(const struct lpo_trace *t, const struct lpo_ranks *r,
                            const ranks_families *families, uint32_t instances)
{
    struct meeting *all = lpo_xcalloc((size_t)instances + 1, sizeof *all);

    for (size_t i = 0; i < families->len; i++)
        for (size_t k = 0; k < families->at[i].series.len; k++) {
            const struct ranks_series *s = &families->at[i].series.at[k];
            const struct lpo_rank_row *row = &r->rows.at[s->rank];

            for (size_t n = 0; n < s->events.len; n++) {
                const struct ranks_event *e = &s->events.at[n];

                if (e->instance != LPO_NONE)
                    arrive(&all[e->instance], s->rank, lpo_ranks_common_ns(row, e->start_ns),
                           lpo_ranks_common_ns(row, e->end_ns));
            }
        }
    for (size_t i = 0; i < families->len; i++)
        judge_complete(t, &families->at[i], all);
    return all;
}

static int64_t certain_ns(const struct lpo_ranks *r, uint32_t rank)
{
    int64_t error = r->rows.at[rank].error_ns;

    return CERTAIN_ERRORS * (error > LEAST_ERROR ? error : LEAST_ERROR);
}

/* The time by which the last one is late; 0: not beyond the error of the clocks. */
static int64_t lateness(const struct lpo_ranks *r, const struct meeting *m)
{
    int64_t late = m->complete ? m->last_ns - m->second_ns : 0;

    return late > certain_ns(r, m->last_rank) ? late : 0;
}

/* How long the rank of an event waited in it. */
static int64_t waiting(const struct lpo_ranks *r, const struct meeting *m, uint32_t rank,
                       const struct ranks_event *e)
{
    int64_t until = lpo_ranks_own_ns(&r->rows.at[rank], m->last_ns);

    return until <= e->start_ns ? 0
           : until >= e->end_ns ? e->end_ns - e->start_ns
                                : until - e->start_ns;
}

static void sum_rows(struct lpo_ranks *r, const ranks_families *families, const struct meeting *all,
                     uint32_t instances)
{
    for (size_t i = 0; i < families->len; i++)
        for (size_t k = 0; k < families->at[i].series.len; k++) {
            const struct ranks_series *s = &families->at[i].series.at[k];
            struct lpo_rank_row *row = &r->rows.at[s->rank];

            for (size_t n = 0; n < s->events.len; n++) {
                const struct ranks_event *e = &s->events.at[n];
                int64_t ns;

                if (e->instance == LPO_NONE || all[e->instance].count < 2)
                    continue;
                row->matched++;
                if (!all[e->instance].complete)
                    continue;
                ns = waiting(r, &all[e->instance], s->rank, e);
                row->waiting_ns += ns;
                row->sending_ns += e->end_ns - e->start_ns - ns;
            }
        }
    for (uint32_t i = 0; i < instances; i++) {
        int64_t late = lateness(r, &all[i]);

        r->matched += all[i].count > 1;
        r->complete += all[i].complete;
        r->rows.at[all[i].last_rank].late += late > 0;
        r->rows.at[all[i].last_rank].delay_ns += late;
    }
    r->latest = r->rows.len;
    for (size_t i = 0; i < r->rows.len; i++)
        if (r->rows.at[i].delay_ns >
            (r->latest == r->rows.len ? 0 : r->rows.at[r->latest].delay_ns))
            r->latest = i;
}

/* --- by kind and size --- */

struct group {
    LPO_VEC(int64_t) skews, transfers;
    uint64_t *late; /* by row */
    int64_t waiting_ns;
};

struct key { /* zeroed, because it is compared as bytes */
    const char *kind;
    double bytes;
    uint64_t ranks;
};

static void sum_group(struct lpo_ranks *r, const struct ranks_family *f, const struct meeting *all,
                      struct lpo_rank_collective *row, struct group *g)
{
    for (uint32_t i = 0; i < f->instances; i++) {
        const struct meeting *m = &all[f->first_instance + i];

        if (!m->complete)
            continue;
        row->calls++;
        row->ranks = m->count > row->ranks ? m->count : row->ranks;
        lpo_vec_push(&g->skews, m->last_ns - m->first_ns);
        lpo_vec_push(&g->transfers, m->end_ns > m->last_ns ? m->end_ns - m->last_ns : 0);
        g->waiting_ns += m->last_ns - m->first_ns;
        if (lateness(r, m))
            g->late[m->last_rank]++;
    }
}

static void finish_group(const struct lpo_ranks *r, struct lpo_rank_collective *row,
                         struct group *g)
{
    size_t most = 0;

    row->skew_ns = lpo_ranks_median(g->skews.at, g->skews.len);
    row->max_skew_ns = g->skews.len ? g->skews.at[g->skews.len - 1] : 0;
    row->transfer_ns = lpo_ranks_median(g->transfers.at, g->transfers.len);
    row->late_rank = -1;
    for (size_t i = 0; i < r->rows.len; i++)
        if (g->late[i] > g->late[most])
            most = i;
    if (g->late[most]) {
        row->late_rank = r->rows.at[most].rank;
        row->late_calls = g->late[most];
    }
    row->bus_rate = lpo_measure_unknown();
    if (lpo_measure_known(row->bytes) && row->bytes.value > 0 && row->transfer_ns > 0)
        row->bus_rate = lpo_measure_measured(row->bytes.value *
                                             lpo_wall_collective_traffic(row->kind, row->ranks) /
                                             ((double)row->transfer_ns * 1e-9));
}

static int most_skew_first(const void *x, const void *y)
{
    const struct lpo_rank_collective *a = x, *b = y;
    double m = (double)a->skew_ns * (double)a->calls, n = (double)b->skew_ns * (double)b->calls;

    if (m != n)
        return m > n ? -1 : 1;
    return a->calls > b->calls ? -1 : a->calls < b->calls;
}

static void sum_collectives(struct lpo_ranks *r, const ranks_families *families,
                            const struct meeting *all)
{
    LPO_AUTO(lpo_map) rows = lpo_map_create();
    LPO_VEC(struct group) groups = { 0 };

    for (size_t i = 0; i < families->len; i++) {
        const struct ranks_family *f = &families->at[i];
        struct key key = { f->kind, lpo_measure_known(f->bytes) ? f->bytes.value : -1,
                           f->group_ranks };
        bool fresh;
        uint64_t *at = lpo_map_put(rows, (const char *)&key, sizeof key, &fresh);

        if (fresh) {
            *at = groups.len;
            lpo_vec_push(&groups,
                         (struct group){ .late = lpo_xcalloc(r->rows.len, sizeof(uint64_t)) });
            lpo_vec_push(&r->collectives,
                         (struct lpo_rank_collective){ .kind = f->kind, .bytes = f->bytes });
        }
        sum_group(r, f, all, &r->collectives.at[*at], &groups.at[*at]);
    }
    for (size_t i = 0; i < groups.len; i++) {
        finish_group(r, &r->collectives.at[i], &groups.at[i]);
        lpo_vec_free(&groups.at[i].skews);
        lpo_vec_free(&groups.at[i].transfers);
        free(groups.at[i].late);
    }
    lpo_vec_free(&groups);
    if (r->collectives.len)
        qsort(r->collectives.at, r->collectives.len, sizeof *r->collectives.at, most_skew_first);
    while (r->collectives.len && !r->collectives.at[r->collectives.len - 1].calls)
        r->collectives.len--; /* nothing is said about those: no skew, so they are the last */
}

/* --- of each device --- */

struct interval {
    int64_t start_ns, end_ns;
};

typedef LPO_VEC(struct interval) intervals;

static int by_start(const void *x, const void *y)
{
    const struct interval *a = x, *b = y;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* Sorted, and those that overlap or touch made one. */
static void unite(intervals *v)
{
    size_t n = 0;

    if (v->len)
        qsort(v->at, v->len, sizeof *v->at, by_start);
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
    const struct meeting *meetings;
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
        wait = waiting(d->r, &d->meetings[e->instance], row, e);
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

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (v->at[mid].end_ns <= start_ns)
            lo = mid + 1;
        else
            hi = mid;
    }
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
    intervals busy = { 0 };
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
    lpo_vec_free(&busy);
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

void lpo_ranks_arrivals(const struct lpo_region_tree *tree, struct lpo_ranks *r,
                        const ranks_families *families, uint32_t instances)
{
    struct meeting *all = meet(tree->trace, r, families, instances);
    struct lpo_wall_order order = lpo_wall_order_find(tree->trace);
    struct devices d = { .tree = tree,
                         .r = r,
                         .meetings = all,
                         .event_of = lpo_map_u64_create(0),
                         .kernel_rows = lpo_map_u64_create(0) };

    r->late.kernel = LPO_NONE;
    sum_rows(r, families, all, instances);
    sum_collectives(r, families, all);
    index_events(&d, families);
    for (uint32_t i = 0; r->latest < r->rows.len && i < instances; i++)
        if (all[i].last_rank == r->latest && lateness(r, &all[i])) {
            const struct lpo_rank_row *row = &r->rows.at[r->latest];

            lpo_vec_push(&d.late, (struct interval){ lpo_ranks_own_ns(row, all[i].second_ns),
                                                     lpo_ranks_own_ns(row, all[i].last_ns) });
        }
    unite(&d.late);
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
    free(all);
}

struct lpo_ranks *lpo_ranks_create(const struct lpo_region_tree *tree)
{
    struct lpo_ranks *r = lpo_xcalloc(1, sizeof *r);
    ranks_families families = { 0 };

    lpo_ranks_families(tree, r, &families);
    if (r->rows.len < 2 || !families.len) {
        lpo_ranks_families_free(&families);
        lpo_ranks_destroy(r);
        return NULL;
    }
    lpo_ranks_arrivals(tree, r, &families, lpo_ranks_align(r, &families));
    lpo_ranks_families_free(&families);
    return r;
}

void lpo_ranks_destroy(struct lpo_ranks *r)
{
    if (!r)
        return;
    lpo_vec_free(&r->rows);
    lpo_vec_free(&r->collectives);
    free(r);
}
