/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/cost.h - what a sample costs the sampler, and what it can therefore afford.
 *
 * CUPTI keeps every raw counter of every unit of a sample (an SM, a slice of L2), and decodes and
 * sums them on the CPU: on a large GPU that is tens of microseconds a sample. A sampler that takes
 * longer for a sample than the interval falls behind, and the hardware's buffer overflows. So the
 * interval and the metrics are chosen together, before the start. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lpo_sampler_offer {
    const size_t *bytes; /* by number of metrics - 1: of a sample with so many; 0: unknown */
    size_t metrics;      /* in order of worth; at least 1 */
    size_t core;         /* how many of them matter most */
    int64_t interval_ns; /* as asked for; 0: to be chosen */
    int64_t least_ns;    /* of a chosen one */
    int fixed;           /* the user named the metrics: none may be dropped */
};

struct lpo_sampler_deal {
    int64_t interval_ns;
    size_t metrics;
    double share; /* of one core, estimated; 0: unknown */
};

double lpo_sampler_cost_ns(size_t bytes);
/* The share of a core that rounds of decoding take beside their samples, by their length. */
double lpo_sampler_cost_rounds(int64_t round_ns);
void lpo_sampler_cost_settle(const struct lpo_sampler_offer *o, struct lpo_sampler_deal *out);
