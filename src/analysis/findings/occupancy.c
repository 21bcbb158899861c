/* SPDX-License-Identifier: Apache-2.0 */
/* Low occupancy: few warps fit on an SM because each block takes too much of one thing, and the
 * kernel is far from both roofs, so that it waits. With more warps to hide that, its time could
 * shrink until the SM is full or one of the roofs is reached: by 1 - max(occupancy, use of SMs, use
 * of memory), if nothing else changes. */
#include <math.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/findings/counters.h"
#include "analysis/findings/private.h"
#include "region/cells.h"
#include "region/classes.h"

/* Percent. ncu calls a kernel bound by latency when it uses both to less than 60 %. */
static const double low_occupancy = 50, far_from_roof = 60;

/* The one thing that lets the fewest blocks on an SM. Where two do, changing one changes nothing.
 */
static bool find_limiter(const struct lpo_findings_counters *c, enum lpo_finding_limiter *out)
{
    const double *v = c->value;
    double size = fmin(v[LPO_COUNTER_LIMIT_WARPS], v[LPO_COUNTER_LIMIT_BLOCKS]);
    double limits[LPO_LIMITERS] = {
        [LPO_LIMITER_REGISTERS] = v[LPO_COUNTER_LIMIT_REGISTERS],
        [LPO_LIMITER_SHARED_MEMORY] = v[LPO_COUNTER_LIMIT_SHARED_MEMORY],
        [LPO_LIMITER_BLOCK_SIZE] = size,
    };
    double barriers = v[LPO_COUNTER_LIMIT_BARRIERS]; /* older versions of ncu do not have it */
    double least = isnan(barriers) ? INFINITY : barriers;
    bool alone = false;

    for (int i = 0; i < LPO_LIMITERS; i++) {
        if (!(limits[i] > 0)) /* unknown too */
            return false;
        alone = limits[i] < least ? true : alone && limits[i] != least;
        if (limits[i] < least) {
            least = limits[i];
            *out = (enum lpo_finding_limiter)i;
        }
    }
    return alone;
}

/* Matrix kernels hide latency with copies that run ahead, not with warps: one block on an SM is
 * what they are made for. */
static bool needs_warps(const struct lpo_findings_work *w, uint32_t name)
{
    switch (lpo_region_cells_class(w->a->cells, name)) {
    case LPO_CLASS_GEMM:
    case LPO_CLASS_ATTENTION:
    case LPO_CLASS_CONVOLUTION:
    case LPO_CLASS_MOE:
    case LPO_CLASS_COLLECTIVE:
        return false;
    default:
        return true;
    }
}

/* 0: this kernel says nothing about occupancy. */
static double share_of(const struct lpo_findings_counters *c, enum lpo_finding_limiter *limiter)
{
    double warps = c->value[LPO_COUNTER_THEORETICAL], sm = c->value[LPO_COUNTER_SM],
           memory = c->value[LPO_COUNTER_MEMORY];

    /* with less than a wave the grid is what keeps SMs empty */
    if (!(c->value[LPO_COUNTER_WAVES] >= 1) || !(warps > 0 && warps < low_occupancy) ||
        !(sm < far_from_roof) || !(memory < far_from_roof) || !find_limiter(c, limiter))
        return 0;
    return 1 - fmax(warps, fmax(sm, memory)) / 100;
}

static void add_limiter(struct lpo_findings_work *w, const struct lpo_findings_kernels *k,
                        const int64_t *want, enum lpo_finding_limiter limiter)
{
    struct lpo_finding *f = lpo_findings_claim(w, LPO_FINDING_OCCUPANCY, want);

    if (!f)
        return;
    lpo_findings_fact(f, LPO_FACT_LIMITER, limiter);
    lpo_findings_kernels_facts(k, f);
    lpo_findings_kernels_share(k, f, LPO_COUNTER_THEORETICAL, LPO_FACT_THEORETICAL);
    lpo_findings_kernels_share(k, f, LPO_COUNTER_ACHIEVED, LPO_FACT_OCCUPANCY);
    lpo_findings_kernels_share(k, f, LPO_COUNTER_SM, LPO_FACT_SM);
    lpo_findings_kernels_share(k, f, LPO_COUNTER_MEMORY, LPO_FACT_MEMORY);
    lpo_findings_fact(f, LPO_FACT_TO_ROOF, 0);
}

void lpo_findings_occupancy(struct lpo_findings_work *w)
{
    struct lpo_findings_counters c;

    if (!lpo_findings_counters_open(w, &c))
        return;
    for (int limiter = 0; limiter < LPO_LIMITERS; limiter++) {
        struct lpo_findings_kernels kernels = { 0 };
        int64_t *want = lpo_findings_wants(w);

        for (size_t i = 0; i < w->slack.count; i++) {
            const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[i]];
            enum lpo_finding_limiter by = LPO_LIMITERS;
            double share;

            if (!w->slack.ns[i] || !lpo_findings_counters_read(&c, op) ||
                !(share = share_of(&c, &by)) || (int)by != limiter || !needs_warps(w, op->name))
                continue;
            want[i] = llround((double)lpo_trace_gpu_op_ns(op) * share);
            lpo_findings_kernels_add(&kernels, &c, op, want[i]);
        }
        add_limiter(w, &kernels, want, (enum lpo_finding_limiter)limiter);
        lpo_findings_kernels_free(&kernels);
        free(want);
    }
}
