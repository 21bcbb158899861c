/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/sample.h - how long calls of one kind took: every one while they are few, else a
 * fair choice of them, so that a trace of millions of launches takes little memory.
 *
 * The choice is made by a generator with a fixed seed: the same trace gives the same numbers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

enum { LPO_DIFF_KEPT = 1024 }; /* calls of one kind that are kept */

struct lpo_diff_sample {
    uint64_t count;        /* all calls, kept or not */
    LPO_VEC(int64_t) kept; /* in order of size after lpo_diff_sample_sort() */
    int64_t *order; /* all calls as they came, `count` of them; NULL: too many, or not known */
};

/* `most`: calls that may be kept, at most LPO_DIFF_KEPT. */
void lpo_diff_sample_add(struct lpo_diff_sample *s, int64_t ns, size_t most);
void lpo_diff_sample_sort(struct lpo_diff_sample *s);
void lpo_diff_sample_free(struct lpo_diff_sample *s);

/* Of a sorted sample; 0 where it is empty. Of an even number the mean of the two in the middle. */
double lpo_diff_sample_median(const struct lpo_diff_sample *s);
/* Variance of one call, ns²; 0 below two calls. */
double lpo_diff_sample_variance(const struct lpo_diff_sample *s);

/* An interval that holds the true median in at least 99 of 100 samples of this size: two calls by
 * their rank, found from the binomial distribution. False: too few calls for one (below 8). */
bool lpo_diff_sample_interval(const struct lpo_diff_sample *s, int64_t *low_ns, int64_t *high_ns);
