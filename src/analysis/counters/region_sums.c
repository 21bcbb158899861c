/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/region_sums.h"

#include "region/cells.h"

static bool is_share(enum lpo_counters_meaning m)
{
    return m == LPO_COUNTER_TENSOR_ACTIVE || m == LPO_COUNTER_SM_ACTIVE ||
           m == LPO_COUNTER_GPU_ACTIVE || m == LPO_COUNTER_WARPS_ACTIVE;
}

struct lpo_sampled_sums lpo_counters_sums_of(const struct lpo_trace *t,
                                             const struct lpo_metric_sum *row)
{
    struct lpo_sampled_sums s = { 0 };

    for (size_t i = 0; row && i < t->metrics.len; i++) {
        const struct lpo_metric *m = &t->metrics.at[i];

        if (!m->sampled || m->meaning == LPO_COUNTER_OTHER || row[i].weight == 0)
            continue;
        s.value[m->meaning] += row[i].value;
        s.ns[m->meaning] += row[i].weight;
    }
    return s;
}

void lpo_counters_sums_add(struct lpo_sampled_sums *to, const struct lpo_sampled_sums *from)
{
    for (size_t i = 0; i < LPO_COUNTER_MEANINGS; i++) {
        to->value[i] += from->value[i];
        to->ns[i] += from->ns[i];
    }
}

struct lpo_measure lpo_counters_sums_get(const struct lpo_sampled_sums *s,
                                         enum lpo_counters_meaning meaning)
{
    if (s->ns[meaning] <= 0)
        return lpo_measure_unknown();
    return lpo_measure_measured(is_share(meaning) ? s->value[meaning] / s->ns[meaning]
                                                  : s->value[meaning]);
}

/* Read and written apart, or both in one counter; with its time. */
static double dram(const struct lpo_sampled_sums *s, double *ns)
{
    bool apart = s->ns[LPO_COUNTER_DRAM_READ] > 0 && s->ns[LPO_COUNTER_DRAM_WRITE] > 0;

    *ns = s->ns[apart ? LPO_COUNTER_DRAM_READ : LPO_COUNTER_DRAM_BYTES];
    return apart ? s->value[LPO_COUNTER_DRAM_READ] + s->value[LPO_COUNTER_DRAM_WRITE]
                 : s->value[LPO_COUNTER_DRAM_BYTES];
}

struct lpo_measure lpo_counters_sums_dram(const struct lpo_sampled_sums *s)
{
    double ns, bytes = dram(s, &ns);

    return ns > 0 ? lpo_measure_measured(bytes) : lpo_measure_unknown();
}

struct lpo_measure lpo_counters_sums_dram_rate(const struct lpo_sampled_sums *s)
{
    double ns, bytes = dram(s, &ns);

    return ns > 0 ? lpo_measure_computed(bytes / ns * 1e9) : lpo_measure_unknown();
}
