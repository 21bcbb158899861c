/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/metrics.h - which metrics are sampled: what is wished, and what fits into one pass.
 *
 * PM sampling has one pass: all counters run at the same time, and a GPU has only so many. The
 * table of wishes is in order of worth; each has the spellings of the chip families. CUPTI's host
 * object is asked which exist and how many passes a set needs, and a wish that does not fit is left
 * out and named. */
#pragma once

#include "gpu/sampler/file.h"

struct lpo_sampler_choice {
    struct lpo_sampler_metric at[LPO_COUNTERS_METRICS_MAX];
    size_t len;
    const char *left_out; /* for people, with reasons; NULL: nothing */
};

/* How many passes these metrics need together; 0 or less: one of them is unknown here. */
typedef int (*lpo_sampler_passes)(void *ctx, const char **names, size_t count);

/* `names`: what the user asked for; none: the wishes of the table. */
void lpo_sampler_choose(struct lpo_arena *a, const char *const *names, size_t count,
                        lpo_sampler_passes passes, void *ctx, struct lpo_sampler_choice *out);

/* How many of the first ones matter most: what DRAM moved, and what SMs and tensor pipes did. */
size_t lpo_sampler_choice_core(const struct lpo_sampler_choice *c);
/* Only the first `len` are kept; the others are named as left out. */
void lpo_sampler_choice_cut(struct lpo_arena *a, struct lpo_sampler_choice *c, size_t len);

/* Chips that cannot be triggered by time: the interval counts clocks there. */
bool lpo_sampler_chip_counts_clocks(const char *chip);
/* Chips from before Turing. */
bool lpo_sampler_chip_too_old(const char *chip);
