/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/trend.h - one figure over many runs: where did it change for good?
 *
 * The series is cut where the means before and after differ most, or around the stretch whose mean
 * differs most from what is around it (a plateau), and each part is cut again. A cut counts when
 * chance makes one like it in about 1 of 100 quiet series of that length. Noise is read from the
 * differences between neighbours, which a step hardly touches; values that are alike because they
 * follow each other are worth fewer, and single spikes do not count. */
#pragma once

#include "util/base.h"

struct lpo_diff_digest;

/* Of logarithms: the standard deviation of a value, and how alike two neighbours are (0 … 1). */
struct lpo_diff_noise {
    double deviation, like;
};

/* starts[i]: a new level begins with value i. Values must be above 0. */
struct lpo_diff_noise lpo_diff_change_points(const double *values, size_t count, bool *starts);

/* A figure of a run: "wall" and "gpu" (ns of a unit), "part:NAME" (the same of a part of the wall
 * time), a key of its figures ("tokens_per_s"), "kernel:NAME", "region:PATH", "operator:NAME" (ns
 * of a unit, the first row that matches). NAN: the run does not have it. */
double lpo_diff_figure_of(const struct lpo_diff_digest *d, const char *what);

/* Is it found in the rows of a digest, and not among its figures? */
bool lpo_diff_figure_is_row(const char *what);

/* Every figure of a run that is no row: an object of numbers, for a history. */
void lpo_diff_figures_write(const struct lpo_diff_digest *d, struct lpo_str *out);
