/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts and changes of every row, and the wall time as parts that add up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/compare.h"
#include "util/arena.h"

const struct lpo_diff_digest *lpo_diff_run_at(const struct lpo_diff *d, size_t i)
{
    size_t first = d->side[LPO_DIFF_A].len;

    return i < first ? d->side[LPO_DIFF_A].at[i] : d->side[LPO_DIFF_B].at[i - first];
}

enum lpo_diff_side lpo_diff_run_side(const struct lpo_diff *d, size_t i)
{
    return i < d->side[LPO_DIFF_A].len ? LPO_DIFF_A : LPO_DIFF_B;
}

double lpo_diff_run_length(const struct lpo_diff *d, size_t i)
{
    if (!d->unit)
        return 1;
    return d->inferred ? d->length[lpo_diff_run_side(d, i)] : (double)lpo_diff_run_at(d, i)->steps;
}

bool lpo_diff_has_repeats(const struct lpo_diff *d)
{
    return d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len >= 4;
}

/* --- rows ----------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The lower one of the two in the middle: a value that some run really had. */
static int64_t middle(int64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
    return values[(n - 1) / 2];
}

static double middle_real(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) /* a few runs */
        for (size_t k = i; k > 0 && values[k - 1] > values[k]; k--) {
            double swap = values[k];

            values[k] = values[k - 1];
            values[k - 1] = swap;
        }
    return values[(n - 1) / 2];
}

static int64_t time_of(const struct lpo_diff *d, const struct lpo_diff_item *x)
{
    return d->by_host ? (x->host_ns > 0 ? x->host_ns : 0) : x->ns;
}

/* Of one call, over all strata and runs of a side: the median of the largest stratum. */
static double median_call(const struct lpo_diff_item *item)
{
    const struct lpo_diff_stratum *best = NULL;

    for (size_t i = 0; i < item->strata.len; i++)
        if (!best || item->strata.at[i].ns > best->ns)
            best = &item->strata.at[i];
    return best && best->calls.kept.len ? lpo_diff_sample_median(&best->calls) : NAN;
}

static void amount_of(struct lpo_diff *d, struct lpo_diff_row *r, enum lpo_diff_side side)
{
    size_t first = side == LPO_DIFF_A ? 0 : d->side[LPO_DIFF_A].len, n = d->side[side].len;
    struct lpo_diff_amount *out = &r->amount[side];
    int64_t *values = lpo_xcalloc(n * 5, sizeof *values);
    double *steps = lpo_xcalloc(n * 2, sizeof *steps);
    size_t there = 0;

    out->known = true;
    for (size_t i = 0; i < n; i++) {
        const struct lpo_diff_item *x = r->in[first + i];

        if (!x)
            continue;
        there++;
        out->known &= x->known || d->by_host;
        values[i] = (int64_t)x->count;
        values[n + i] = (int64_t)x->launches;
        values[2 * n + i] = time_of(d, x);
        values[3 * n + i] = x->self_ns;
        values[4 * n + i] = x->host_ns;
        steps[i] = (double)time_of(d, x) / lpo_diff_run_length(d, first + i);
        steps[n + i] = (double)x->count / lpo_diff_run_length(d, first + i);
    }
    out->there = there * 2 > n;
    out->known &= there > 0;
    out->count = (uint64_t)middle(values, n);
    out->launches = (uint64_t)middle(values + n, n);
    out->ns = middle(values + 2 * n, n);
    out->self_ns = middle(values + 3 * n, n);
    out->host_ns = there ? middle(values + 4 * n, n) : -1;
    out->step_ns = middle_real(steps, n);
    out->step_count = middle_real(steps + n, n);
    out->median_ns = r->item[side] ? median_call(r->item[side]) : NAN;
    free(values);
    free(steps);
}

void lpo_diff_compare_rows(struct lpo_diff *d)
{
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        for (size_t i = 0; i < d->rows[t].len; i++) {
            struct lpo_diff_row *r = &d->rows[t].at[i];
            struct lpo_diff_amount *a = &r->amount[LPO_DIFF_A], *b = &r->amount[LPO_DIFF_B];

            amount_of(d, r, LPO_DIFF_A);
            amount_of(d, r, LPO_DIFF_B);
            r->delta_ns = b->ns - a->ns;
            r->delta_step_ns = b->step_ns - a->step_ns;
            r->kind = a->there && !b->there                      ? LPO_DIFF_REMOVED
                      : !a->there && b->there                    ? LPO_DIFF_ADDED
                      : r->delta_ns == 0 && a->count == b->count ? LPO_DIFF_SAME
                                                                 : LPO_DIFF_CHANGED;
        }
}

/* --- wall ----------------------------------------------------------------------------------- */

/* The run whose wall time per step is the median; without a clock, the GPU time. */
static size_t shown_run(const struct lpo_diff *d, enum lpo_diff_side side)
{
    size_t first = side == LPO_DIFF_A ? 0 : d->side[LPO_DIFF_A].len, n = d->side[side].len;
    double *values = lpo_xcalloc(n * 2, sizeof *values), want;
    size_t out = 0;

    for (size_t i = 0; i < n; i++) {
        const struct lpo_diff_digest *g = lpo_diff_run_at(d, first + i);

        values[i] = (double)(g->devices.len ? g->devices.at[0].span_ns : g->gpu_ns) /
                    lpo_diff_run_length(d, first + i);
    }
    memcpy(values + n, values, n * sizeof *values);
    want = middle_real(values + n, n);
    while (out + 1 < n && values[out] != want)
        out++;
    free(values);
    return first + out;
}

void lpo_diff_compare_wall(struct lpo_diff *d)
{
    struct lpo_diff_wall *w = &d->wall;

    w->known = true;
    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        size_t run = shown_run(d, (enum lpo_diff_side)side);
        const struct lpo_diff_digest *g = lpo_diff_run_at(d, run);

        d->shown[side] = g;
        if (d->unit && !d->inferred)
            d->length[side] = (double)g->steps;
        w->device[side] = g->devices.len ? &g->devices.at[0] : NULL;
        w->ns[side] = w->device[side] ? w->device[side]->span_ns : 0;
        w->known &= w->device[side] != NULL;
        w->step_ns[side] =
            (double)(w->device[side] ? w->ns[side] : g->gpu_ns) / lpo_diff_run_length(d, run);
    }
    for (size_t i = 0; w->known && i < LPO_DIFF_PARTS; i++)
        w->parts[i] = w->device[LPO_DIFF_B]->parts[i] - w->device[LPO_DIFF_A]->parts[i];
}
