/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/digest.h"
#include "analysis/diff/significance.h"
#include "util/pattern.h"
#include "util/str.h"

enum { FREEDOM = 10 }; /* as in lpo_diff_prior_of() */

#define LEVEL       0.01
#define LEAST       0.01  /* of the level before */
#define LEAST_NOISE 0.002 /* see lpo_diff_prior_of() */

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median of the differences between neighbours is 0.954 standard deviations of a value. */
static double noise_of(const double *logs, size_t n)
{
    double *steps = lpo_xcalloc(n + 1, sizeof *steps), out = 0;

    for (size_t i = 1; i < n; i++)
        steps[i - 1] = fabs(logs[i] - logs[i - 1]);
    if (n > 1) {
        qsort(steps, n - 1, sizeof *steps, by_number);
        out = steps[(n - 1) / 2] / 0.954;
    }
    free(steps);
    return out > LEAST_NOISE ? out : LEAST_NOISE;
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* The best cut of a part, or 0 where no cut counts. */
static size_t best_cut(const double *logs, size_t n, double noise)
{
    double best = 0, change = 0, sum = 0, all = mean_of(logs, n) * (double)n;
    size_t at = 0;

    for (size_t k = 1; k < n; k++) {
        double first, second, z;

        sum += logs[k - 1];
        first = sum / (double)k;
        second = (all - sum) / (double)(n - k);
        z = fabs(second - first) / (noise * sqrt(1 / (double)k + 1 / (double)(n - k)));
        if (z > best) {
            best = z;
            at = k;
            change = second - first;
        }
    }
    if (n < 2 || fabs(expm1(change)) < LEAST ||
        lpo_diff_p_student(best, FREEDOM) * (double)(n - 1) > LEVEL)
        return 0;
    return at;
}

struct part {
    size_t from, to;
};

void lpo_diff_change_points(const double *values, size_t count, bool *starts)
{
    double *logs = lpo_xcalloc(count + 1, sizeof *logs), noise;
    LPO_VEC(struct part) parts = { 0 };

    memset(starts, 0, count * sizeof *starts);
    for (size_t i = 0; i < count; i++)
        logs[i] = log(values[i]);
    noise = noise_of(logs, count);
    if (count)
        lpo_vec_push(&parts, (struct part){ 0, count });
    while (parts.len) {
        size_t from = parts.at[parts.len - 1].from, to = parts.at[parts.len - 1].to;
        size_t cut = best_cut(logs + from, to - from, noise);

        parts.len--;
        if (!cut)
            continue;
        starts[from + cut] = true;
        lpo_vec_push(&parts, (struct part){ from, from + cut });
        lpo_vec_push(&parts, (struct part){ from + cut, to });
    }
    lpo_vec_free(&parts);
    free(logs);
}

static double row_of(const struct lpo_diff_digest *d, enum lpo_diff_table table, const char *name,
                     double length)
{
    LPO_AUTO(lpo_pattern) p = NULL;

    if (lpo_pattern_create(name, &p, NULL) < 0)
        return NAN;
    for (size_t i = 0; i < d->items[table].len; i++) {
        const struct lpo_diff_item *x = &d->items[table].at[i];

        if (lpo_pattern_matches(p, x->name, strlen(x->name)) ||
            (*x->detail && lpo_pattern_matches(p, x->detail, strlen(x->detail))))
            return x->known ? (double)x->ns / length : NAN;
    }
    return NAN;
}

double lpo_diff_figure_of(const struct lpo_diff_digest *d, const char *what)
{
    static const char *const tables[LPO_DIFF_TABLES] = { "kernel:", "region:", "operator:" };
    double length = d->steps ? (double)d->steps : 1;

    if (strcmp(what, "wall") == 0)
        return d->devices.len ? (double)d->devices.at[0].span_ns / length : NAN;
    if (strcmp(what, "gpu") == 0)
        return d->launches ? (double)d->gpu_ns / length : NAN;
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        if (lpo_str_starts(what, tables[t]))
            return row_of(d, (enum lpo_diff_table)t, what + strlen(tables[t]), length);
    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure *f = &d->figures.at[i];
        double *values, out;

        if (strcmp(f->key, what) != 0 || !f->values.len)
            continue;
        values = lpo_xcalloc(f->values.len, sizeof *values);
        memcpy(values, f->values.at, f->values.len * sizeof *values);
        qsort(values, f->values.len, sizeof *values, by_number);
        out = values[(f->values.len - 1) / 2];
        free(values);
        return out;
    }
    return NAN;
}
