/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/region_sums.h - what was sampled of some operations: a region, a family of
 * regions, everything. By meaning, whatever the counters are called on this chip. */
#pragma once

#include "lpo/counters_format.h"
#include "util/base.h"

struct lpo_metric_sum;
struct lpo_trace;

struct lpo_sampled_sums {
    double value[LPO_COUNTER_MEANINGS]; /* amounts; shares times their nanoseconds */
    double ns[LPO_COUNTER_MEANINGS];    /* GPU time that they are of; 0: not sampled */
};

/* `row` holds a sum for each metric of the trace; NULL: nothing is known. */
struct lpo_sampled_sums lpo_counters_sums_of(const struct lpo_trace *t,
                                             const struct lpo_metric_sum *row);
void lpo_counters_sums_add(struct lpo_sampled_sums *to, const struct lpo_sampled_sums *from);

/* An amount, or the mean of a share in percent. */
struct lpo_measure lpo_counters_sums_get(const struct lpo_sampled_sums *s,
                                         enum lpo_counters_meaning meaning);
/* DRAM bytes, both ways; and a second of GPU time of them. */
struct lpo_measure lpo_counters_sums_dram(const struct lpo_sampled_sums *s);
struct lpo_measure lpo_counters_sums_dram_rate(const struct lpo_sampled_sums *s);
