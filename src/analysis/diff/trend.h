/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/trend.h - one figure over many runs: where did it change for good?
 *
 * The series is cut where the means before and after differ most, each part is cut again, and so
 * on (binary segmentation). A cut counts when chance makes one like it in less than 1 of 100 series
 * of that length, and the change is at least 1 %. Noise is read from the differences between
 * neighbours, which a step in the series hardly touches. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_diff_digest;

/* starts[i]: a new level begins with value i. Values must be above 0. */
void lpo_diff_change_points(const double *values, size_t count, bool *starts);

/* A figure of a run: "wall" and "gpu" (ns of a step), "kernel:NAME", "region:PATH", "operator:NAME"
 * (ns of a step, the first row that matches), or a key of its figures ("tokens_per_s"). NAN: the
 * run does not have it. */
double lpo_diff_figure_of(const struct lpo_diff_digest *d, const char *what);
