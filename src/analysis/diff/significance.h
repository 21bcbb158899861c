/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/significance.h - could chance alone make two samples differ like this?
 *
 * Calls of one run a side are compared by a rank test (Wilcoxon, Mann and Whitney), launch shape by
 * launch shape (van Elteren): a kernel that runs with two shapes has two kinds of calls, and their
 * difference must not hide the change. Where both sides made as many calls, and the first differs
 * less from the first, the second from the second … than calls differ from each other, these pairs
 * are compared (signed ranks): a collective that sends now much and now little shows its change
 * only so. Ranks of a few calls cannot show much, so below
 * LPO_DIFF_FEW calls a side, and for repeats of a whole run, the logarithms are compared by a t
 * test whose spread is held up by that of the other rows. */
#pragma once

#include "util/base.h"

enum { LPO_DIFF_KEPT = 1024 }; /* calls of one kind that are kept */

/* How long calls of one kind took: every one while they are few, else a fair choice of them, so
 * that a trace of millions of launches takes little memory. The choice is made by a generator with
 * a fixed seed: the same trace gives the same numbers. */
struct lpo_diff_sample {
    uint64_t count;        /* all calls, kept or not */
    LPO_VEC(int64_t) kept; /* in order of size after lpo_diff_sample_sort() */
    int64_t *order; /* all calls as they came, `count` of them; NULL: too many, or not known */
};

/* `most`: calls that may be kept, at most LPO_DIFF_KEPT. */
void lpo_diff_sample_add(struct lpo_diff_sample *s, int64_t ns, size_t most);
void lpo_diff_sample_sort(struct lpo_diff_sample *s);
void lpo_diff_sample_free(struct lpo_diff_sample *s);

/* Of a sorted sample; 0 where it is empty. Of an even number the mean of the two in the middle. */
double lpo_diff_sample_median(const struct lpo_diff_sample *s);
/* Variance of one call, ns²; 0 below two calls. */
double lpo_diff_sample_variance(const struct lpo_diff_sample *s);

/* Of values in any order, which are sorted; NAN of none. */
double lpo_diff_median(double *values, size_t count);

enum { LPO_DIFF_FEW = 20 };

/* What is known of one row after all its strata were added. All zero is empty. */
struct lpo_diff_evidence {
    double rank_sum, rank_variance; /* van Elteren: weighted deviation of rank sums */
    double weight, shift;           /* logarithms: shift / weight is the mean change */
    double squares, freedom;        /* around the means of their strata */
    uint64_t a, b;                  /* values that were compared */
};

/* Two sorted samples of one kind of calls. */
void lpo_diff_evidence_add(struct lpo_diff_evidence *e, const struct lpo_diff_sample *a,
                           const struct lpo_diff_sample *b);
/* Logarithms alone: one value for each repeat. */
void lpo_diff_evidence_add_values(struct lpo_diff_evidence *e, const double *a, size_t na,
                                  const double *b, size_t nb);
/* b over a, less 1: by the mean logarithm. */
double lpo_diff_evidence_change(const struct lpo_diff_evidence *e);
/* Variance of one logarithm in this row; NAN: not known. */
double lpo_diff_evidence_variance(const struct lpo_diff_evidence *e);

/* The spread of a typical row (for repeats) or of a restless one (for calls): what a row with few
 * values is held to. */
struct lpo_diff_prior {
    double variance;
    double freedom; /* how many values it counts for */
};

/* Of the variances of rows, in any order (they are sorted); `share` 0.5: the median. */
struct lpo_diff_prior lpo_diff_prior_of(double *variances, size_t count, double share);

/* Two-sided: the chance of a difference at least as large as this without any change. 1 where
 * nothing can be compared. */
double lpo_diff_p_calls(const struct lpo_diff_evidence *e, const struct lpo_diff_prior *prior);
double lpo_diff_p_repeats(const struct lpo_diff_evidence *e, const struct lpo_diff_prior *prior);
/* Half the width of an interval around the change of a mean logarithm, at 99 %. */
double lpo_diff_half_width(const struct lpo_diff_evidence *e, const struct lpo_diff_prior *prior);

double lpo_diff_p_normal(double z);
double lpo_diff_p_student(double t, double freedom);

/* Holm: which of the hypotheses are refused when one wrong refusal among all of them may happen
 * with chance `level`. `refused` has one flag for each. */
void lpo_diff_holm(const double *p, size_t count, double level, bool *refused);
