/* SPDX-License-Identifier: Apache-2.0 */
/* What operators achieve: against the roofs of the hardware, and against the best measured time of
 * their shape. */

#include "analysis/operators/cost.h"

static struct lpo_measure known(double v)
{
    return isfinite(v) ? lpo_measure_computed(v) : lpo_measure_unknown();
}

/* Tensor parallelism cuts experts: the tables have the whole width and the number of ranks. */
static bool ask(const struct lpo_reference *r, const struct lpo_reference_work *like,
                struct lpo_reference_answer *out)
{
    struct lpo_reference_work w = *like;
    double most = w.kind == LPO_REF_MOE ? 32 : 1;

    for (double ranks = 1; ranks <= most; ranks *= 2) {
        if (w.kind == LPO_REF_MOE) {
            w.tp = ranks;
            w.inter = like->inter * ranks;
        }
        if (lpo_reference_best(r, &w, out) && out->inside)
            return true;
    }
    return false;
}

static void compare(const struct lpo_operator_cost *cost, uint64_t calls, int64_t ns,
                    const struct lpo_reference *best, struct lpo_operator_rates *r)
{
    struct lpo_reference_answer a;

    if (!best || cost->like.kind == LPO_REF_KINDS || !(ns > 0) || !ask(best, &cost->like, &a))
        return;
    r->best_us = lpo_measure_estimated(a.best_us);
    r->to_best = lpo_measure_estimated(a.best_us * 1000 * (double)calls / (double)ns);
    r->best_error = isnan(a.error) ? 0 : a.error;
}

struct lpo_operator_rates lpo_operators_rates(const struct lpo_operator_cost *cost, uint64_t calls,
                                              int64_t ns, const struct lpo_hardware *hw,
                                              const struct lpo_reference *best)
{
    double seconds = (double)ns / 1e9, compute = NAN, memory = NAN, roof;
    struct lpo_operator_rates r = {
        .flops = known(cost->flops / (double)calls),
        .bytes = known(cost->bytes / (double)calls),
        .flop_rate = known(seconds > 0 ? cost->flops / seconds : NAN),
        .byte_rate = known(seconds > 0 ? cost->bytes / seconds : NAN),
        .share = lpo_measure_unknown(),
        .best_us = lpo_measure_unknown(),
        .to_best = lpo_measure_unknown(),
    };

    compare(cost, calls, ns, best, &r);
    if (!hw || !(seconds > 0))
        return r;
    if (isfinite(cost->flops) && lpo_gpu_hardware_peak(hw, cost->math, NULL) > 0)
        compute = cost->flops / lpo_gpu_hardware_peak(hw, cost->math, NULL);
    if (isfinite(cost->bytes) && hw->bandwidth > 0)
        memory = cost->bytes / hw->bandwidth;
    if (isfinite(cost->flops) && (isnan(compute) || isnan(memory)))
        return r;                 /* one of two roofs: the other may be the one that holds */
    roof = fmax(compute, memory); /* of one known value that one */
    r.share = known(roof / seconds);
    if (!isnan(roof))
        r.bound = compute > memory ? "compute" : "memory";
    return r;
}
