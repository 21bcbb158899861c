/* SPDX-License-Identifier: Apache-2.0 */
/* Tail effect: blocks run in waves that fill the GPU, and the last wave fills it only in part. Were
 * the blocks of w waves spread evenly, the kernel would take w / ceil(w) of its time, as long as
 * all blocks take equally long.
 *
 * Below one full wave nothing is said: that kernel has too little to do, or is made for one wave.
 * With many waves the last one costs little, and blocks no longer start together. */
#include <math.h>
#include <stdlib.h>

#include "analysis/findings/counters.h"
#include "analysis/findings/private.h"

static const double most_waves = 5;

static double tail_of(double waves)
{
    return waves > 1 && waves < most_waves ? 1 - waves / ceil(waves) : 0; /* unknown is NaN: 0 */
}

void lpo_findings_tail(struct lpo_findings_work *w)
{
    struct lpo_findings_counters c;
    struct lpo_findings_kernels kernels = { 0 };
    const struct lpo_findings_kernel *most;
    struct lpo_finding *f;
    int64_t *want;

    if (!lpo_findings_counters_open(w, &c))
        return;
    w->out->kernels_judged = true;
    want = lpo_findings_wants(w);
    for (size_t i = 0; i < w->slack.count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[i]];

        if (!w->slack.ns[i] || !lpo_findings_counters_read(&c, op))
            continue;
        want[i] = llround((double)lpo_trace_gpu_op_ns(op) * tail_of(c.value[LPO_COUNTER_WAVES]));
        if (want[i] > 0)
            lpo_findings_kernels_add(&kernels, &c, op, want[i]);
    }
    f = lpo_findings_claim(w, LPO_FINDING_TAIL, want);
    if (f) {
        most = lpo_findings_kernels_facts(&kernels, f);
        if (most)
            lpo_findings_fact(f, LPO_FACT_WAVES, most->waves);
        lpo_findings_fact(f, LPO_FACT_EQUAL_BLOCKS, 0);
    }
    lpo_findings_kernels_free(&kernels);
    free(want);
}
