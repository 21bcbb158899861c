/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/call_sums.h - calls of regions while samples are divided. Private to the files
 * of sampled.h. */
#pragma once

#include "util/base.h"

struct lpo_call_sums;
struct lpo_layer;
struct lpo_sample_sweep;

struct lpo_call_sums *lpo_counters_call_sums_create(const struct lpo_layer *l);
void lpo_counters_call_sums_destroy(struct lpo_call_sums *c); /* NULL is fine */

/* What each operation that ran in a sample was given of a metric. */
void lpo_counters_call_sums_give(struct lpo_call_sums *c, const struct lpo_sample_sweep *sweep,
                                 size_t metric, const double *amounts);
/* The time of the operations in a sample, for the metrics of one family; once with `borders`. */
void lpo_counters_call_sums_cover(struct lpo_call_sums *c, const struct lpo_sample_sweep *sweep,
                                  int family, bool borders);
/* After the last sample: fills `calls` and `node_calls` of the GPU. */
void lpo_counters_call_sums_put(struct lpo_call_sums *c);
