/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the limits: rates, shares and what holds a row back; rows added up and ranked. */

#include "analysis/limits/private.h"

static struct lpo_measure ratio(struct lpo_measure a, double b)
{
    return lpo_measure_known(a) && b > 0 ? lpo_measure_computed(a.value / b)
                                         : lpo_measure_unknown();
}

static void set_rates(const struct lpo_limits *l, struct lpo_limit_row *r)
{
    double seconds = lpo_measure_known(r->measured_ns) ? r->measured_ns.value / 1e9 : 0;

    r->flop_rate = ratio(r->needed_flops, seconds);
    r->byte_rate = ratio(r->needed_bytes, seconds);
    r->mfu = ratio(r->sheet_ns, seconds * 1e9);
    r->bandwidth_use = ratio(r->byte_rate, l->bandwidth);
    r->share = ratio(r->limit_ns, seconds * 1e9);
    r->to_best = ratio(r->best_ns, seconds * 1e9);
    if (lpo_measure_known(r->limit_ns) && seconds > 0)
        r->saving_ns = lpo_measure_computed(fmax(0, r->measured_ns.value - r->limit_ns.value));
}

static double value_or(struct lpo_measure m, double fallback)
{
    return lpo_measure_known(m) ? m.value : fallback;
}

static bool hold(struct lpo_limit_row *r, enum lpo_held held, enum lpo_limits_reason reason)
{
    r->held = held;
    r->reason = reason;
    return true;
}

/* Idle time first, because no kernel can be improved while the GPU waits. */
static bool held_by_waiting(struct lpo_limit_row *r)
{
    if (value_or(r->idle_ns, 0) < 0.3 * r->measured_ns.value)
        return false;
    return hold(r, r->host_gap_ns >= r->other_gap_ns ? LPO_HELD_LAUNCH : LPO_HELD_IDLE,
                LPO_REASON_IDLE);
}

/* Sampled: tensor cores stand for the SMs, since a kernel of anything else is not known. */
static bool held_by_samples(struct lpo_limit_row *r)
{
    double tensor = value_or(r->counters.tensor_percent, -1);
    double dram = value_or(r->counters.dram_percent, -1);
    double sm = value_or(r->counters.sm_active_percent, 100);

    if (tensor >= 60 || dram >= 60)
        return hold(r, dram >= tensor ? LPO_HELD_MEMORY : LPO_HELD_COMPUTE, LPO_REASON_SAMPLES);
    return sm < 50 && hold(r, LPO_HELD_OCCUPANCY, LPO_REASON_FEW_SMS);
}

static bool held_by_counters(struct lpo_limit_row *r)
{
    double sm = value_or(r->counters.sm_percent, -1), dram = value_or(r->counters.dram_percent, -1);
    double warps = value_or(r->counters.occupancy_percent, -1);

    if (r->counters.sampled)
        return held_by_samples(r);
    if (sm >= 60 || dram >= 60)
        return hold(r, dram >= sm ? LPO_HELD_MEMORY : LPO_HELD_COMPUTE, LPO_REASON_COUNTERS);
    if (warps < 0 || warps >= 25 || (sm < 0 && dram < 0))
        return false;
    return hold(r, LPO_HELD_OCCUPANCY, LPO_REASON_WARPS);
}

/* Which roof the need itself is nearer to, when the region comes near it at all. */
static void held_by_roof(struct lpo_limit_row *r)
{
    bool memory = r->need_memory_ns >= r->need_compute_ns;

    if (!lpo_measure_known(r->share))
        return;
    if (r->share.value >= 0.4)
        hold(r, memory ? LPO_HELD_MEMORY : LPO_HELD_COMPUTE, LPO_REASON_NEAR_ROOF);
    else
        hold(r, LPO_HELD_OVERHEAD, LPO_REASON_FAR_FROM_ROOF);
}

void lpo_limits_row_judge(const struct lpo_limits *l, struct lpo_limit_row *r)
{
    set_rates(l, r);
    r->held = LPO_HELD_UNKNOWN;
    r->reason = LPO_REASON_NONE;
    if (!lpo_measure_known(r->measured_ns) || r->measured_ns.value <= 0)
        return;
    if (!held_by_waiting(r) && !held_by_counters(r))
        held_by_roof(r);
}

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
    to->best_ns = plus(to->best_ns, r->best_ns);
    to->sheet_ns = plus(to->sheet_ns, r->sheet_ns);
    to->measured_ns = plus(to->measured_ns, r->measured_ns);
    to->busy_ns = plus(to->busy_ns, r->busy_ns);
    to->idle_ns = plus(to->idle_ns, r->idle_ns);
    to->need_compute_ns += r->need_compute_ns;
    to->need_memory_ns += r->need_memory_ns;
    to->all_busy_ns += r->all_busy_ns;
    to->first_calls += r->first_calls;
    if (lpo_measure_known(r->first_ns))
        to->first_ns =
            lpo_measure_known(to->first_ns) ? plus(to->first_ns, r->first_ns) : r->first_ns;
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
    struct lpo_measure aside = lpo_measure_unknown(); /* rows that are first calls as a whole */
    double calls = 0;
    bool first = true;

    for (size_t i = 0; i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];

        if (r->top && !lpo_measure_known(r->measured_ns) && lpo_measure_known(r->first_ns)) {
            aside = lpo_measure_measured(r->first_ns.value + aside.value);
            calls += r->first_calls;
        }
        if (!r->top || !has_need(r) || !lpo_measure_known(r->measured_ns))
            continue;
        if (first)
            *all = *r;
        else
            lpo_limits_row_add(all, r);
        first = false;
    }
    if (!first && calls > 0) {
        all->first_ns = lpo_measure_known(all->first_ns) ? plus(all->first_ns, aside) : aside;
        all->first_calls += calls;
    }
    all->path = "(model)";
    all->means = NULL;
    all->parent = UINT32_MAX;
    all->phase = -1;
    all->top = false;
    all->runs = 0;
    all->counters = (struct lpo_counters){ 0 };
    lpo_limits_row_judge(l, all);
}

static int largest_saving(const void *x, const void *y, void *arg)
{
    const struct lpo_limits *l = arg;
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    const struct lpo_limit_row *x_row = &l->rows.at[i], *y_row = &l->rows.at[k];
    double a = x_row->saving_ns.value, b = y_row->saving_ns.value;

    if (lpo_measure_known(x_row->saving_ns) != lpo_measure_known(y_row->saving_ns))
        return lpo_measure_known(x_row->saving_ns) ? -1 : 1;
    return a != b ? (a < b) - (a > b) : (i > k) - (i < k);
}

static void rank(struct lpo_limits *l)
{
    l->by_saving = lpo_arena_array(l->arena, l->rows.len + 1, sizeof *l->by_saving);
    for (uint32_t i = 0; i < l->rows.len; i++)
        if (has_need(&l->rows.at[i]) && lpo_measure_known(l->rows.at[i].measured_ns))
            l->by_saving[l->ranked++] = i;
    qsort_r(l->by_saving, l->ranked, sizeof *l->by_saving, largest_saving, l);
}

void lpo_limits_sum(struct lpo_limits *l)
{
    add_up(l);
    rank(l);
}
