/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/least_squares.h - non-negative least squares from normal equations.
 *
 * An equation says: a few unknowns, each times its factor, together make a value. Equations are
 * added one after the other and not kept: what stays in memory is a matrix of unknowns by unknowns
 * and a column for each kind of value, however many equations there were. */
#pragma once

#include "util/base.h"

/* One unknown of an equation. */
struct lpo_term {
    uint32_t unknown;
    double factor;
};

struct lpo_counters_normal {
    size_t unknowns, columns;
    double *gram;    /* lower triangle, row after row: sum of products of factors */
    double *right;   /* per column: sum of factor times value, `unknowns` of them */
    double *factors; /* per unknown: sum of its factors */
    double *values;  /* per column: sum of values */
    double *squares; /* per column: sum of squared values */
    uint64_t equations;
};

/* What is known of an unknown before any equation: it is about `mean`, give or take `sd`. sd 0:
 * nothing is known. */
struct lpo_prior {
    double mean, sd;
};

/* The answer for one column. */
struct lpo_solution {
    double *value; /* per unknown, never below 0 */
    double *error; /* its standard error; INFINITY: no equation has this unknown */
    double r2;     /* share of the variance of the values that is explained */
    double fitted; /* sum of all values as the answer has it, over the true sum */
    double sigma;  /* standard deviation of what is left of an equation */
};

struct lpo_counters_normal *lpo_counters_normal_create(size_t unknowns, size_t columns);
void lpo_counters_normal_destroy(struct lpo_counters_normal *n); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_counters_normal);

/* Each unknown at most once in `terms`; a value for each column. */
void lpo_counters_normal_add(struct lpo_counters_normal *n, const struct lpo_term *terms,
                             size_t count, const double *values);

/* Solves one column. `priors` (NULL: none) are weighed against the equations by the spread of what
 * the equations leave. Unknowns that no equation has get their prior mean, or 0, and an error that
 * is not finite. */
struct lpo_solution lpo_counters_normal_solve(const struct lpo_counters_normal *n, size_t column,
                                              const struct lpo_prior *priors);
void lpo_counters_solution_free(struct lpo_solution *s);

/* The same equations over fewer unknowns: old unknown i becomes group[i], its factor times
 * scale[i]. */
struct lpo_counters_normal *lpo_counters_normal_merge(const struct lpo_counters_normal *n,
                                                      const uint32_t *group, const double *scale,
                                                      size_t groups);
