/* SPDX-License-Identifier: Apache-2.0 */
/* trace/metric_rules.h - how a metric of Nsight Compute combines over kernels, by its name. */
#pragma once

#include "trace/trace.h"

/* "dram__bytes.sum" adds up; "….pct_of_peak_sustained_elapsed" and rates are weighted by time;
 * ".max" keeps the largest; launch__ and device__ facts keep the first. */
enum lpo_combine lpo_trace_metric_combine(const char *name);
const char *lpo_trace_combine_name(enum lpo_combine rule); /* "sum", "time-weighted mean", … */

/* A metric at the head of a section of ncu's details page. */
struct lpo_metric_label {
    const char *section, *title; /* "SpeedOfLight", "GPU Speed Of Light Throughput" */
    const char *metric, *label;  /* "gpu__time_duration.sum", "Duration" */
};
/* All that are known, in ncu's order (conf/rules/metrics.yaml). */
struct lpo_metric_label *lpo_trace_metric_labels(struct lpo_arena *a, size_t *count);
/* The metric that a label stands for in the section of that title, or NULL. */
const char *lpo_trace_metric_of_label(const char *title, const char *label);
