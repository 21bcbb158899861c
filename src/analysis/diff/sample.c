/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void lpo_diff_sample_sort(struct lpo_diff_sample *s)
{
    free(s->order);
    s->order = NULL;
    if (s->kept.len && s->kept.len == s->count) {
        s->order = lpo_xcalloc(s->kept.len, sizeof *s->order);
        memcpy(s->order, s->kept.at, s->kept.len * sizeof *s->order);
    }
    if (s->kept.len)
        qsort(s->kept.at, s->kept.len, sizeof *s->kept.at, by_size);
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

bool lpo_diff_sample_interval(const struct lpo_diff_sample *s, int64_t *low_ns, int64_t *high_ns)
{
    size_t n = s->kept.len, rank = 0;

    if (n < 8)
        return false;
    if (n > 1000) { /* the powers would underflow; the normal distribution is near enough */
        rank = (size_t)((double)n / 2 - 2.5758 * sqrt((double)n) / 2);
    } else {
        double below = 0, chance = ldexp(1, -(int)n);

        for (size_t k = 0; k < n; k++) { /* P(fewer than k + 1 of n lie below the median) */
            below += chance;
            if (below > 0.005)
                break;
            rank = k + 1;
            chance *= (double)(n - k) / (double)(k + 1);
        }
    }
    if (!rank)
        return false;
    *low_ns = s->kept.at[rank - 1];
    *high_ns = s->kept.at[n - rank];
    return true;
}
