/* SPDX-License-Identifier: Apache-2.0 */
/* What sampling itself moves. The GPU writes its samples through L2 and PCIe into the memory of the
 * host: on an H200 some 14 KB and 20 KB of them in 50 us, whatever runs. That is no region's. The
 * median over samples in which nothing ran is not moved by what the host copies now and then. */

#include "analysis/counters/layer.h"

enum { MOST = 2048, LEAST = 20, EVERY_MOST = 1 << 20 };

static bool moved_by_sampling(enum lpo_counters_meaning m)
{
    return m == LPO_COUNTER_L2_BYTES || m == LPO_COUNTER_PCIE_READ || m == LPO_COUNTER_PCIE_WRITE;
}

LPO_COMPARE(by_value, double, LPO_UP_OF(*a, *b));

/* Rates of one metric in samples without an operation, of the first that the file has, as they
 * would be at the first interval. */
static size_t idle_rates(struct lpo_layer *l, size_t metric, double *rates)
{
    struct lpo_sample_sweep sweep = lpo_counters_sweep(&l->ops, 0);
    struct lpo_counters_sample s;
    size_t count = 0, seen = 0;

    l->source->rewind(l->source->ctx);
    while (count < MOST && seen++ < EVERY_MOST && l->source->next(l->source->ctx, &s)) {
        if (!s.values || !isfinite(s.values[metric]))
            continue;
        lpo_counters_sweep_to(&sweep, s.start_ns, s.end_ns);
        if (!sweep.found.len)
            rates[count++] = s.values[metric] / (double)(s.end_ns - s.start_ns) *
                             lpo_counters_layer_slower(l, &s);
    }
    lpo_counters_sweep_free(&sweep);
    return count;
}

void lpo_counters_layer_baseline(struct lpo_layer *l)
{
    LPO_FREED double *rates = lpo_xcalloc(MOST, sizeof *rates);

    for (size_t m = 0; m < l->nmetrics; m++) {
        size_t count;

        if (!moved_by_sampling(l->source->about->metrics[m].meaning))
            continue;
        count = idle_rates(l, m, rates);
        if (count < LEAST)
            continue;
        qsort(rates, count, sizeof *rates, by_value);
        l->baseline[m] = rates[count / 2];
    }
}
