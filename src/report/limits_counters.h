/* report/limits_counters.h - FLOPs, bytes and shares of peaks, out of ncu's metrics.
 *
 * Tensor operations are taken from the dense names alone ("_sparsity_off"): those without the
 * suffix are told against a peak twice as high. */
#pragma once

#include "report/limits.h"

struct lpo_metric_sum;
struct lpo_region_row;
struct lpo_scope;
struct lpo_trace;

/* `row` holds a sum for each metric of the trace. */
struct lpo_counters lpo_counters_of(const struct lpo_trace *t, const struct lpo_metric_sum *row);

struct lpo_counters lpo_region_counters(const struct lpo_scope *scope,
                                        const struct lpo_region_row *row);

/* What one unit of a metric is in base units: "Gbyte/s" 1e9, "us" 1e-6, "%" 1. */
double lpo_metric_unit_scale(const char *unit);

/* Is this the name of dense tensor operations, "sm__ops_path_tensor_src_…"? */
bool lpo_is_dense_tensor_ops(const char *metric);
