/* SPDX-License-Identifier: Apache-2.0 */
/* trace/metric_rules.h - how a metric of Nsight Compute combines over kernels, by its name. */
#pragma once

#include "trace/trace.h"

/* "dram__bytes.sum" adds up; "….pct_of_peak_sustained_elapsed" and rates are weighted by time;
 * ".max" keeps the largest; launch__ and device__ facts keep the first. */
enum lpo_combine lpo_trace_metric_combine(const char *name);
const char *lpo_trace_combine_name(enum lpo_combine rule); /* "sum", "time-weighted mean", … */
