/* Rows put together, and put in order. */
#include <stdlib.h>

#include "analysis/limits/limits.h"
#include "util/arena.h"

static bool has_need(const struct lpo_limit_row *r)
{
    return lpo_measure_known(r->needed_flops) || lpo_measure_known(r->needed_bytes);
}

/* A sum with an unknown part is unknown. */
static struct lpo_measure plus(struct lpo_measure a, struct lpo_measure b)
{
    return lpo_measure_known(a) && lpo_measure_known(b) ? lpo_measure_computed(a.value + b.value)
                                                        : lpo_measure_unknown();
}

void lpo_limits_row_add(struct lpo_limit_row *to, const struct lpo_limit_row *r)
{
    to->needed_flops = plus(to->needed_flops, r->needed_flops);
    to->needed_bytes = plus(to->needed_bytes, r->needed_bytes);
    to->limit_ns = plus(to->limit_ns, r->limit_ns);
    to->sheet_ns = plus(to->sheet_ns, r->sheet_ns);
    to->measured_ns = plus(to->measured_ns, r->measured_ns);
    to->busy_ns = plus(to->busy_ns, r->busy_ns);
    to->idle_ns = plus(to->idle_ns, r->idle_ns);
    to->need_compute_ns += r->need_compute_ns;
    to->need_memory_ns += r->need_memory_ns;
    to->host_gap_ns += r->host_gap_ns;
    to->other_gap_ns += r->other_gap_ns;
    to->stated &= r->stated;
    if (to->peak != r->peak || to->sheet_peak != r->sheet_peak) {
        to->dtype = NULL;
        to->peak = to->sheet_peak = 0;
    }
}

/* The whole model: the top rows that have both a need and a time, so that the shares mean what
 * they say. */
static void add_up(struct lpo_limits *l)
{
    struct lpo_limit_row *all = &l->model;
    bool first = true;

    for (size_t i = 0; i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];

        if (!r->top || !has_need(r) || !lpo_measure_known(r->measured_ns))
            continue;
        if (first)
            *all = *r;
        else
            lpo_limits_row_add(all, r);
        first = false;
    }
    all->path = "(model)";
    all->means = NULL;
    all->parent = UINT32_MAX;
    all->phase = -1;
    all->top = false;
    all->runs = 0;
    all->counters = (struct lpo_counters){ 0 };
    lpo_limits_row_judge(l, l->arena, all);
}

static int more_to_win(const void *x, const void *y, void *arg)
{
    const struct lpo_limits *l = arg;
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    const struct lpo_limit_row *x_row = &l->rows.at[i], *y_row = &l->rows.at[k];
    double a = x_row->won_ns.value, b = y_row->won_ns.value;

    if (lpo_measure_known(x_row->won_ns) != lpo_measure_known(y_row->won_ns))
        return lpo_measure_known(x_row->won_ns) ? -1 : 1;
    return a != b ? (a < b) - (a > b) : (i > k) - (i < k);
}

static void rank(struct lpo_limits *l)
{
    l->by_won = lpo_arena_array(l->arena, l->rows.len + 1, sizeof *l->by_won);
    for (uint32_t i = 0; i < l->rows.len; i++)
        if (has_need(&l->rows.at[i]) && lpo_measure_known(l->rows.at[i].measured_ns))
            l->by_won[l->ranked++] = i;
    qsort_r(l->by_won, l->ranked, sizeof *l->by_won, more_to_win, l);
}

void lpo_limits_sum(struct lpo_limits *l)
{
    add_up(l);
    rank(l);
}
