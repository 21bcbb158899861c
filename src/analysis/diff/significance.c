/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/significance.h"

/* --- samples -------------------------------------------------------------------------------- */

/* splitmix64 of the number of the call: no state beside the count. */
static uint64_t scatter(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

void lpo_diff_sample_add(struct lpo_diff_sample *s, int64_t ns, size_t most)
{
    uint64_t at;

    s->count++;
    if (most > LPO_DIFF_KEPT)
        most = LPO_DIFF_KEPT;
    if (s->kept.len < most) {
        lpo_vec_push(&s->kept, ns);
        return;
    }
    at = s->count ? scatter(s->count) % s->count : 0; /* each call stays with the same chance */
    if (at < s->kept.len)
        s->kept.at[at] = ns;
}

LPO_COMPARE(by_size, int64_t, LPO_UP_OF(*a, *b));

void lpo_diff_sample_sort(struct lpo_diff_sample *s)
{
    free(s->order);
    s->order = NULL;
    if (s->kept.len && s->kept.len == s->count) {
        s->order = lpo_xcalloc(s->kept.len, sizeof *s->order);
        memcpy(s->order, s->kept.at, s->kept.len * sizeof *s->order);
    }
    lpo_vec_sort(&s->kept, by_size);
}

void lpo_diff_sample_free(struct lpo_diff_sample *s)
{
    lpo_vec_free(&s->kept);
    free(s->order);
    s->order = NULL;
}

double lpo_diff_sample_median(const struct lpo_diff_sample *s)
{
    size_t n = s->kept.len, middle = n / 2;

    if (!n)
        return 0;
    return n % 2 ? (double)s->kept.at[middle]
                 : ((double)s->kept.at[middle - 1] + (double)s->kept.at[middle]) / 2;
}

double lpo_diff_sample_variance(const struct lpo_diff_sample *s)
{
    double mean = 0, squares = 0;

    if (s->kept.len < 2)
        return 0;
    for (size_t i = 0; i < s->kept.len; i++)
        mean += (double)s->kept.at[i] / (double)s->kept.len;
    for (size_t i = 0; i < s->kept.len; i++)
        squares += ((double)s->kept.at[i] - mean) * ((double)s->kept.at[i] - mean);
    return squares / (double)(s->kept.len - 1);
}

LPO_COMPARE(by_number, double, LPO_UP_OF(*a, *b));

double lpo_diff_median(double *values, size_t count)
{
    if (!count)
        return NAN;
    qsort(values, count, sizeof *values, by_number);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* --- distributions -------------------------------------------------------------------------- */

double lpo_diff_p_normal(double z)
{
    return isnan(z) ? 1 : erfc(fabs(z) / sqrt(2));
}

/* The continued fraction of the incomplete beta function (Lentz). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1), out;

    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    out = d;
    for (int m = 1; m < 300; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double steps[2] = { even, odd }, before = out;

        for (int i = 0; i < 2; i++) {
            d = 1 + steps[i] * d;
            c = 1 + steps[i] / c;
            d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
            c = fabs(c) < 1e-300 ? 1e-300 : c;
            out *= d * c;
        }
        if (fabs(out - before) < 1e-15 * fabs(out))
            break;
    }
    return out;
}

double lpo_diff_p_student(double t, double freedom)
{
    double a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t), front;

    if (isnan(t) || !(freedom > 0))
        return 1;
    if (isinf(t) || x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* --- evidence of a row ---------------------------------------------------------------------- */

/* The ranks of both samples together; equal values share the mean of their ranks. */
static void add_ranks(struct lpo_diff_evidence *e, const struct lpo_diff_sample *a,
                      const struct lpo_diff_sample *b)
{
    double na = (double)a->kept.len, nb = (double)b->kept.len, n = na + nb, sum = 0, ties = 0;
    size_t i = 0, k = 0;
    double weight = 1 / (n + 1);

    while (i < a->kept.len || k < b->kept.len) {
        int64_t value = k == b->kept.len || (i < a->kept.len && a->kept.at[i] < b->kept.at[k])
                            ? a->kept.at[i]
                            : b->kept.at[k];
        double before = (double)(i + k), of_b = 0, same;

        while (i < a->kept.len && a->kept.at[i] == value)
            i++;
        for (; k < b->kept.len && b->kept.at[k] == value; k++)
            of_b++;
        same = (double)(i + k) - before;
        sum += of_b * (before + (same + 1) / 2);
        ties += same * same * same - same;
    }
    e->rank_sum += weight * (sum - nb * (n + 1) / 2);
    e->rank_variance += weight * weight * na * nb / 12 * (n + 1 - ties / (n * (n - 1)));
}

struct logs {
    double mean, squares;
};

static struct logs logs_of(const double *x, size_t n)
{
    struct logs out = { 0, 0 };

    for (size_t i = 0; i < n; i++)
        out.mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        out.squares += (x[i] - out.mean) * (x[i] - out.mean);
    return out;
}

void lpo_diff_evidence_add_values(struct lpo_diff_evidence *e, const double *a, size_t na,
                                  const double *b, size_t nb)
{
    struct logs x = logs_of(a, na), y = logs_of(b, nb);
    double weight;

    if (!na || !nb)
        return;
    weight = (double)na * (double)nb / (double)(na + nb);
    e->weight += weight;
    e->shift += weight * (y.mean - x.mean);
    e->squares += x.squares + y.squares;
    e->freedom += (double)(na + nb) - 2;
    e->a += na;
    e->b += nb;
}

static size_t take_logs(const struct lpo_diff_sample *s, double *out)
{
    for (size_t i = 0; i < s->kept.len; i++)
        out[i] = log(s->kept.at[i] > 1 ? (double)s->kept.at[i] : 1);
    return s->kept.len;
}

/* --- calls in pairs ------------------------------------------------------------------------- */

static int by_amount(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

    return (x > y) - (x < y);
}

/* Wilcoxon's signed ranks: is the sum of the ranks of what grew as large as that of what shrank? */
static void add_signed_ranks(struct lpo_diff_evidence *e, double *d, size_t n)
{
    double sum = 0, squares = 0, weight = 1 / ((double)n + 1);

    qsort(d, n, sizeof *d, by_amount);
    for (size_t i = 0, end; i < n; i = end) {
        double rank;

        for (end = i + 1; end < n && fabs(d[end]) == fabs(d[i]);)
            end++;
        rank = (double)(i + end + 1) / 2;
        for (size_t k = i; k < end; k++) {
            sum += d[k] > 0 ? rank : d[k] < 0 ? -rank : 0;
            squares += d[k] != 0 ? rank * rank : 0;
        }
    }
    e->rank_sum += weight * sum;
    e->rank_variance += weight * weight * squares;
}

/* One program calls the same things in the same order: the first call of A against the first of B,
 * and so on. Where that leaves less spread than all calls have, because calls differ by what they
 * do, the pairs are compared. Whether it does says nothing about a change. */
static bool add_pairs(struct lpo_diff_evidence *e, const struct lpo_diff_sample *a,
                      const struct lpo_diff_sample *b, double spread)
{
    double d[LPO_DIFF_KEPT];
    struct logs of;
    size_t n = a->count;

    if (!a->order || !b->order || a->count != b->count || n < 2)
        return false;
    for (size_t i = 0; i < n; i++)
        d[i] = log(b->order[i] > 1 ? (double)b->order[i] : 1) -
               log(a->order[i] > 1 ? (double)a->order[i] : 1);
    of = logs_of(d, n);
    if (of.squares / 2 / (double)(n - 1) >= spread)
        return false;
    e->weight += (double)n / 2; /* a difference has twice the variance of a value */
    e->shift += (double)n / 2 * of.mean;
    e->squares += of.squares / 2;
    e->freedom += (double)n - 1;
    e->a += n;
    e->b += n;
    add_signed_ranks(e, d, n);
    return true;
}

void lpo_diff_evidence_add(struct lpo_diff_evidence *e, const struct lpo_diff_sample *a,
                           const struct lpo_diff_sample *b)
{
    double x[LPO_DIFF_KEPT], y[LPO_DIFF_KEPT];
    struct logs of_a, of_b;
    size_t na, nb;

    if (!a->kept.len || !b->kept.len)
        return;
    na = take_logs(a, x);
    nb = take_logs(b, y);
    of_a = logs_of(x, na);
    of_b = logs_of(y, nb);
    if (na + nb > 2 && add_pairs(e, a, b, (of_a.squares + of_b.squares) / (double)(na + nb - 2)))
        return;
    add_ranks(e, a, b);
    lpo_diff_evidence_add_values(e, x, na, y, nb);
}

double lpo_diff_evidence_change(const struct lpo_diff_evidence *e)
{
    return e->weight > 0 ? expm1(e->shift / e->weight) : 0;
}

double lpo_diff_evidence_variance(const struct lpo_diff_evidence *e)
{
    return e->freedom >= 1 ? e->squares / e->freedom : NAN;
}

/* --- tests ---------------------------------------------------------------------------------- */

struct lpo_diff_prior lpo_diff_prior_of(double *variances, size_t count, double share)
{
    /* Clocks of a GPU tick in tens of nanoseconds and no program repeats to the nanosecond: a
     * spread below 0.2 % is not believed. */
    struct lpo_diff_prior out = { 0.002 * 0.002, 10 };

    if (!count)
        return (struct lpo_diff_prior){ 0.02 * 0.02, 2 }; /* nothing to go by: a careful guess */
    qsort(variances, count, sizeof *variances, by_number);
    if (variances[(size_t)((double)(count - 1) * share)] > out.variance)
        out.variance = variances[(size_t)((double)(count - 1) * share)];
    return out;
}

static double student_error(const struct lpo_diff_evidence *e, const struct lpo_diff_prior *prior,
                            double *freedom)
{
    *freedom = prior->freedom + e->freedom;
    return sqrt((prior->variance * prior->freedom + e->squares) / *freedom / e->weight);
}

double lpo_diff_p_repeats(const struct lpo_diff_evidence *e, const struct lpo_diff_prior *prior)
{
    double freedom, error;

    if (!(e->weight > 0))
        return 1;
    error = student_error(e, prior, &freedom);
    return lpo_diff_p_student(e->shift / e->weight / error, freedom);
}

double lpo_diff_p_calls(const struct lpo_diff_evidence *e, const struct lpo_diff_prior *prior)
{
    if (e->a < LPO_DIFF_FEW || e->b < LPO_DIFF_FEW)
        return lpo_diff_p_repeats(e, prior);
    return e->rank_variance > 0 ? lpo_diff_p_normal(e->rank_sum / sqrt(e->rank_variance)) : 1;
}

double lpo_diff_half_width(const struct lpo_diff_evidence *e, const struct lpo_diff_prior *prior)
{
    double freedom, error, low = 0, high = 1000;

    if (!(e->weight > 0))
        return NAN;
    error = student_error(e, prior, &freedom);
    for (int i = 0; i < 60; i++) { /* the t that is passed with a chance of 1 % */
        double middle = (low + high) / 2;

        if (lpo_diff_p_student(middle, freedom) > 0.01)
            low = middle;
        else
            high = middle;
    }
    return high * error;
}

struct ranked {
    double p;
    size_t at;
};

LPO_COMPARE(by_p, struct ranked, LPO_UP(p));

void lpo_diff_holm(const double *p, size_t count, double level, bool *refused)
{
    LPO_FREED struct ranked *order = lpo_xcalloc(count + 1, sizeof *order);
    size_t i;

    for (i = 0; i < count; i++) {
        order[i] = (struct ranked){ p[i], i };
        refused[i] = false;
    }
    if (count)
        qsort(order, count, sizeof *order, by_p);
    for (i = 0; i < count && order[i].p <= level / (double)(count - i); i++)
        refused[order[i].at] = true;
}
