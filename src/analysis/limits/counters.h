/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/limits/counters.h - FLOPs, bytes and shares of peaks, out of ncu's metrics.
 *
 * Counts only: ncu's own shares of tensor peaks without "_sparsity_off" are of the sparse peak,
 * twice as high, and are not used. */
#pragma once

#include "analysis/limits/limits.h"

struct lpo_metric_sum;
struct lpo_region_row;
struct lpo_region_scope;
struct lpo_trace;

/* `row` holds a sum for each metric of the trace. */
struct lpo_counters lpo_limits_counters_of(const struct lpo_trace *t,
                                           const struct lpo_metric_sum *row);

struct lpo_counters lpo_limits_region_counters(const struct lpo_region_scope *scope,
                                               const struct lpo_region_row *row);

/* What one unit of a metric is in base units: "Gbyte/s" 1e9, "us" 1e-6, "%" 1. */
double lpo_limits_unit_scale(const char *unit);
