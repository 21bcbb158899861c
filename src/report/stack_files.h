/* SPDX-License-Identifier: Apache-2.0 */
/* report/stack_files.h - stacks (analysis/stacks/stacks.h) in the formats of other people's
 * viewers.
 *
 * In each the sums are those of the tables. A name has at most LONGEST_NAME bytes in them; what is
 * inside a name and separates frames in a format is replaced there. */
#pragma once

#include "analysis/stacks/stacks.h"

struct lpo_region_tree;

struct lpo_stack_view {
    const struct lpo_stacks *stacks;
    const struct lpo_region_tree *tree; /* for the names */
    const char *title;
    enum lpo_stack_weight weight; /* what the format shows, or shows first */
};

/* Brendan Gregg's folded stacks: "outer;inner 123", a line for each node that has some. */
void lpo_report_stacks_folded(const struct lpo_stack_view *view, struct lpo_str *out);
/* speedscope.app: a profile for each weight that is not all zero. */
void lpo_report_stacks_speedscope(const struct lpo_stack_view *view, struct lpo_str *out);
/* pprof, gzipped: a sample type for each weight. */
void lpo_report_stacks_pprof(const struct lpo_stack_view *view, struct lpo_str *out);
