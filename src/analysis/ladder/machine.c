/* SPDX-License-Identifier: Apache-2.0 */
/* What other sources say of the kernels: regions against what their model must compute and move,
 * clocks that were held down. */

#include "analysis/analysis.h"
#include "analysis/ladder/private.h"
#include "analysis/limits/limits.h"
#include "analysis/power/power.h"
#include "analysis/power/regions.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/path.h"

enum { MOST_REGIONS = 3, LEAST_SAMPLES = 5 };

static bool computes(const struct ladder_work *w, uint32_t op)
{
    return lpo_critical_part_of(&w->g, w->g.op_rows[op]) == LPO_PATH_COMPUTE;
}

/* --- regions and their limits --- */

static uint32_t node_of(const struct lpo_region_tree *tree, const char *path)
{
    for (uint32_t i = 0; i < tree->nodes.len; i++) {
        LPO_STR s = { 0 };

        if (tree->nodes.at[i].path_bytes != strlen(path))
            continue;
        lpo_region_add_path(tree, i, &s);
        if (strcmp(lpo_str_text(&s), path) == 0)
            return i;
    }
    return LPO_NONE;
}

static bool is_in(const struct lpo_region_tree *tree, uint32_t node, uint32_t leaf)
{
    while (leaf != LPO_NONE && leaf > node) /* a parent has a smaller number */
        leaf = tree->nodes.at[leaf].parent;
    return leaf == node;
}

static void add_region(struct ladder_work *w, const struct lpo_limit_row *row, uint32_t node)
{
    /* of steady calls, beyond what such kernels reach, else beyond the roof */
    double least = lpo_measure_known(row->best_ns) ? row->best_ns.value : row->limit_ns.value;
    double over = row->busy_ns.value - least;
    double share = over / (row->own_first ? row->busy_ns.value : row->all_busy_ns);
    int64_t *less = lpo_ladder_wants(w);
    struct lpo_rung *r;

    for (uint32_t i = 0; over > 0 && i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *op = lpo_critical_gpu_op(&w->g, i);

        if (computes(w, i) &&
            is_in(w->tree, node, w->tree->places.at[lpo_region_place(w->tree, op)].leaf) &&
            !(row->own_first && op->launch != LPO_NONE &&
              lpo_region_in_first_visit(w->tree, node, &w->t->launches.at[op->launch])))
            less[i] = (int64_t)((double)lpo_trace_gpu_op_ns(op) * share);
    }
    r = lpo_ladder_add_ops(w, LPO_RUNG_REGION, less);
    if (!r)
        return;
    r->node = node;
    r->basis = LPO_BASIS_ESTIMATED;
    lpo_ladder_fact(r, LPO_FACT_LIMIT, LPO_NONE, row->busy_ns.value, row->limit_ns.value,
                    row->first_calls);
    if (lpo_measure_known(row->best_ns))
        lpo_ladder_fact(r, LPO_FACT_BEST_REGION, LPO_NONE, row->best_ns.value, 0, 0);
    if (lpo_measure_known(row->counters.sm_percent) &&
        lpo_measure_known(row->counters.dram_percent))
        lpo_ladder_fact(r, LPO_FACT_COUNTERS, LPO_NONE, row->counters.sm_percent.value / 100,
                        row->counters.dram_percent.value / 100, 0);
}

void lpo_ladder_regions(struct ladder_work *w)
{
    struct lpo_err ignored = { 0 }; /* the chapter on limits shows what is wrong with them */
    const struct lpo_limits *l = w->d && w->s ? lpo_analysis_limits(w->d, w->s, &ignored) : NULL;
    uint32_t taken[MOST_REGIONS];
    size_t n = 0;

    for (size_t i = 0; l && i < l->ranked && n < MOST_REGIONS; i++) {
        const struct lpo_limit_row *row = &l->rows.at[l->by_saving[i]];
        uint32_t node = node_of(w->tree, row->path);
        bool fresh = node != LPO_NONE && lpo_measure_known(row->busy_ns) &&
                     lpo_measure_known(row->limit_ns) &&
                     (lpo_measure_known(row->needed_flops) || lpo_measure_known(row->needed_bytes));

        for (size_t k = 0; k < n && fresh; k++)
            fresh = !is_in(w->tree, node, taken[k]) && !is_in(w->tree, taken[k], node);
        if (!fresh)
            continue;
        taken[n++] = node;
        add_region(w, row, node);
    }
}

/* --- clocks --- */

struct slowed {
    uint64_t samples, slowed, reasons;
    double clock_sum, highest_mhz; /* of slowed samples; of all samples of the run */
};

static void read_samples(const struct lpo_power_gpu *g, int64_t from_ns, int64_t to_ns,
                         struct slowed *out)
{
    const uint32_t needs = 1u << LPO_POWER_SM_MHZ | 1u << LPO_POWER_THROTTLE;

    for (size_t i = 0; i < g->samples.len; i++) {
        const struct lpo_power_sample *s = &g->samples.at[i];
        double mhz = (double)s->value[LPO_POWER_SM_MHZ];
        uint64_t why;

        if ((s->known & needs) != needs)
            continue;
        out->highest_mhz = mhz > out->highest_mhz ? mhz : out->highest_mhz;
        if (s->unix_ns < from_ns || s->unix_ns > to_ns)
            continue;
        out->samples++;
        why = s->value[LPO_POWER_THROTTLE] & lpo_power_throttle_slows;
        if (!why)
            continue;
        out->slowed++;
        out->reasons |= why;
        out->clock_sum += mhz;
    }
}

static void add_slowed(struct ladder_work *w, const struct slowed *s)
{
    int64_t *less;
    struct lpo_rung *r;
    double clock, share;

    if (s->samples < LEAST_SAMPLES || !s->slowed || !(s->highest_mhz > 0))
        return;
    clock = s->clock_sum / (double)s->slowed;
    share = (double)s->slowed / (double)s->samples;
    less = lpo_ladder_wants(w);
    for (uint32_t i = 0; i < w->g.ops.len; i++)
        if (computes(w, i))
            less[i] =
                (int64_t)((double)lpo_ladder_op_ns(w, i) * share * (1 - clock / s->highest_mhz));
    r = lpo_ladder_add_ops(w, LPO_RUNG_THROTTLING, less);
    if (!r)
        return;
    r->basis = LPO_BASIS_ESTIMATED;
    lpo_ladder_fact(r, LPO_FACT_CLOCK, LPO_NONE, share, clock, s->highest_mhz);
    lpo_ladder_fact(r, LPO_FACT_REASONS, LPO_NONE, (double)s->reasons, 0, 0);
}

void lpo_ladder_clocks(struct ladder_work *w)
{
    int64_t from_ns = w->out->window.start_ns, to_ns = from_ns + w->out->window.wall_ns;
    const struct lpo_power_gpu *gpu;
    struct slowed s = { 0 };

    if (!w->g.ops.len)
        return;
    gpu = lpo_power_gpu_of(w->a->power, w->t, lpo_critical_gpu_op(&w->g, 0)->device);
    if (!gpu || __builtin_add_overflow(from_ns, w->t->epoch_ns, &from_ns) ||
        __builtin_add_overflow(to_ns, w->t->epoch_ns, &to_ns))
        return;
    read_samples(gpu, from_ns, to_ns, &s);
    add_slowed(w, &s);
}
