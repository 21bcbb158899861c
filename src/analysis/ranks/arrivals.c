/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes last to a collective, and who waits for it: of each rank, and by kind and size. */

#include "analysis/ranks/private.h"
#include "analysis/wall/collectives.h"
#include "region/tree.h"

enum { CERTAIN_ERRORS = 2, LEAST_ERROR = 1000 /* ns: what a clock of microseconds can say */ };

static void arrive(struct ranks_meeting *m, uint32_t rank, int64_t start_ns, int64_t end_ns)
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
                           struct ranks_meeting *all)
{
    uint32_t ranks = f->group_ranks ? f->group_ranks : t->ranks;

    for (uint32_t i = 0; i < f->instances; i++) {
        struct ranks_meeting *m = &all[f->first_instance + i];

        m->complete = f->together && m->count > 1 && m->count >= ranks;
    }
}

static struct ranks_meeting *meet(const struct lpo_trace *t, const struct lpo_ranks *r,
                                  const ranks_families *families, uint32_t instances)
{
    struct ranks_meeting *all = lpo_xcalloc((size_t)instances + 1, sizeof *all);

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

int64_t lpo_ranks_lateness(const struct lpo_ranks *r, const struct ranks_meeting *m)
{
    int64_t late = m->complete ? m->last_ns - m->second_ns : 0;

    return late > certain_ns(r, m->last_rank) ? late : 0;
}

int64_t lpo_ranks_waiting(const struct lpo_ranks *r, const struct ranks_meeting *m, uint32_t rank,
                          const struct ranks_event *e)
{
    int64_t until = lpo_ranks_own_ns(&r->rows.at[rank], m->last_ns);

    return until <= e->start_ns ? 0
           : until >= e->end_ns ? e->end_ns - e->start_ns
                                : until - e->start_ns;
}

static void sum_rows(struct lpo_ranks *r, const ranks_families *families,
                     const struct ranks_meeting *all, uint32_t instances)
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
                ns = lpo_ranks_waiting(r, &all[e->instance], s->rank, e);
                row->waiting_ns += ns;
                row->sending_ns += e->end_ns - e->start_ns - ns;
            }
        }
    for (uint32_t i = 0; i < instances; i++) {
        int64_t late = lpo_ranks_lateness(r, &all[i]);

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

static void sum_group(struct lpo_ranks *r, const struct ranks_family *f,
                      const struct ranks_meeting *all, struct lpo_rank_collective *row,
                      struct group *g)
{
    for (uint32_t i = 0; i < f->instances; i++) {
        const struct ranks_meeting *m = &all[f->first_instance + i];

        if (!m->complete)
            continue;
        row->calls++;
        row->ranks = m->count > row->ranks ? m->count : row->ranks;
        lpo_vec_push(&g->skews, m->last_ns - m->first_ns);
        lpo_vec_push(&g->transfers, m->end_ns > m->last_ns ? m->end_ns - m->last_ns : 0);
        g->waiting_ns += m->last_ns - m->first_ns;
        if (lpo_ranks_lateness(r, m))
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
                            const struct ranks_meeting *all)
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
    lpo_vec_sort(&r->collectives, most_skew_first);
    while (r->collectives.len && !r->collectives.at[r->collectives.len - 1].calls)
        r->collectives.len--; /* nothing is said about those: no skew, so they are the last */
}

void lpo_ranks_arrivals(const struct lpo_region_tree *tree, struct lpo_ranks *r,
                        const ranks_families *families, uint32_t instances)
{
    LPO_FREED struct ranks_meeting *all = meet(tree->trace, r, families, instances);

    sum_rows(r, families, all, instances);
    sum_collectives(r, families, all);
    lpo_ranks_exposed(tree, r, families, all, instances);
}

struct lpo_ranks *lpo_ranks_create(const struct lpo_region_tree *tree)
{
    struct lpo_ranks *r = lpo_xcalloc(1, sizeof *r);

    r->kept = lpo_xcalloc(1, sizeof *r->kept);
    lpo_ranks_families(tree, r, &r->kept->families);
    if (r->rows.len < 2 || !r->kept->families.len) {
        lpo_ranks_destroy(r);
        return NULL;
    }
    r->kept->instances = lpo_ranks_align(r, &r->kept->families);
    lpo_ranks_arrivals(tree, r, &r->kept->families, r->kept->instances);
    return r;
}

void lpo_ranks_destroy(struct lpo_ranks *r)
{
    if (!r)
        return;
    lpo_ranks_families_free(&r->kept->families);
    free(r->kept);
    lpo_vec_free(&r->rows);
    lpo_vec_free(&r->collectives);
    free(r);
}
