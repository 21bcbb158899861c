/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/trend.h - one figure over many runs: where did it change for good?
 *
 * The series is cut where the means before and after differ most, or around the stretch whose mean
 * differs most from what is around it (a plateau), and each part is cut again. A cut counts when
 * chance makes one like it in about 1 of 100 quiet series of that length. Noise is read from the
 * differences between neighbours, which a step hardly touches; values that are alike because they
 * follow each other are worth fewer, and single spikes do not count. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_diff_digest;

/* Of logarithms: the standard deviation of a value, and how alike two neighbours are (0 … 1). */
struct lpo_diff_noise {
    double deviation, like;
};

/* starts[i]: a new level begins with value i. Values must be above 0. */
struct lpo_diff_noise lpo_diff_change_points(const double *values, size_t count, bool *starts);

/* A figure of a run: "wall" and "gpu" (ns of a step), "kernel:NAME", "region:PATH", "operator:NAME"
 * (ns of a step, the first row that matches), or a key of its figures ("tokens_per_s"). NAN: the
 * run does not have it. */
double lpo_diff_figure_of(const struct lpo_diff_digest *d, const char *what);
