/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/compare.h - the steps of lpo_diff_create(). Private to diff/. */
#pragma once

#include "analysis/diff/diff.h"

/* In this order. */
void lpo_diff_match(struct lpo_diff *d);           /* rows: which items belong together */
void lpo_diff_compare_facts(struct lpo_diff *d);   /* differences, comparable */
void lpo_diff_compare_lengths(struct lpo_diff *d); /* unit, length */
void lpo_diff_compare_rows(struct lpo_diff *d);    /* amounts and changes */
void lpo_diff_compare_wall(struct lpo_diff *d);    /* wall without its verdict, and `shown` */
void lpo_diff_judge(struct lpo_diff *d);           /* every verdict, then the order of rows */
void lpo_diff_compare_groups(struct lpo_diff *d);
void lpo_diff_compare_figures(struct lpo_diff *d);
void lpo_diff_compare_findings(struct lpo_diff *d);
void lpo_diff_compare_measures(struct lpo_diff *d);

/* Were most of the operators that both have called with inputs of another size? */
bool lpo_diff_other_shapes(const struct lpo_diff_digest *a, const struct lpo_diff_digest *b);

/* Run `i` of both sides together, those of A first. */
const struct lpo_diff_digest *lpo_diff_run_at(const struct lpo_diff *d, size_t i);
enum lpo_diff_side lpo_diff_run_side(const struct lpo_diff *d, size_t i);
/* Steps of a run; 1 where lengths are not compared. */
double lpo_diff_run_length(const struct lpo_diff *d, size_t i);
/* At least four runs in all: runs are compared, and not their calls. */
bool lpo_diff_has_repeats(const struct lpo_diff *d);
