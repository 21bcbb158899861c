/* SPDX-License-Identifier: Apache-2.0 */
/* Change points of series: published ones by hand, and how often made ones are found and quiet ones
 * raise an alarm. LPO_DIFF_SERIES sets the number of series of a row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/trend.h"
#include "unit.h"

/* --- by hand -------------------------------------------------------------------------------- */

/* Flow of the Nile at Aswan, 1871 to 1970: it fell in 1899, when the first dam was begun. */
static const double nile[] = {
    1120, 1160, 963, 1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994,  1020,
    960,  1180, 799, 958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
    874,  694,  940, 833,  701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,
    1120, 1100, 832, 764,  821,  768,  845,  864,  862,  698,  845,  744,  796,  1040, 759,
    781,  865,  845, 944,  984,  897,  822,  1010, 771,  676,  649,  846,  812,  742,  801,
    1040, 860,  874, 848,  890,  744,  749,  838,  1050, 918,  986,  797,  923,  975,  815,
    1020, 906,  901, 1170, 912,  746,  919,  718,  714,  740
};

static void flow_of_the_nile(void **state)
{
    enum { N = sizeof nile / sizeof *nile };
    bool starts[N];

    (void)state;
    lpo_diff_change_points(nile, N, starts);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(starts[i], i == 28);
}

static const struct hand_case {
    const char *name;
    double values[24];
    size_t count;
    size_t starts[4]; /* 0: no more */
} hand_cases[] = {
    { "a step without noise", { 1, 1, 1, 1, 1, 1, 1.1, 1.1, 1.1, 1.1, 1.1 }, 11, { 6 } },
    { "nothing", { 1, 1.01, 0.99, 1, 1.01, 1, 0.99, 1, 1.01, 1 }, 10, { 0 } },
    { "one spike", { 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1 }, 12, { 0 } },
    { "two steps", { 1, 1, 1, 1, 1.1, 1.1, 1.1, 1.1, 1.06, 1.06, 1.06, 1.06 }, 12, { 4, 8 } },
    { "a plateau", { 1, 1, 1, 1, 1.05, 1.05, 1.05, 1.05, 1, 1, 1, 1 }, 12, { 4, 8 } },
    { "too short", { 1, 2, 3, 4 }, 4, { 0 } },
    { "one value", { 1 }, 1, { 0 } },
};

static void check_hand(void **state)
{
    const struct hand_case *c = *state;
    bool starts[24], want[24] = { false };

    for (size_t i = 0; i < 4 && c->starts[i]; i++)
        want[c->starts[i]] = true;
    lpo_diff_change_points(c->values, c->count, starts);
    for (size_t i = 0; i < c->count; i++)
        assert_int_equal(starts[i], want[i]);
}

/* --- rates ---------------------------------------------------------------------------------- */

struct random {
    uint64_t state;
};

static double uniform(struct random *r)
{
    r->state = r->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(r->state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct random *r)
{
    return sqrt(-2 * log(uniform(r))) * cos(6.283185307179586 * uniform(r));
}

/* `to` 0: up to the end. Found: a start at most `off` values from where the level changes, seen
 * with any of the first `within` values behind it. */
static const struct rate_case {
    const char *name;
    size_t count;
    double noise, like, outliers;
    double change;
    size_t from, to;
    double least, most;
    double modes, second; /* how far apart two modes are, and the share of the upper one */
} rate_cases[] = {
    { "quiet: at most 2 % of 100 runs", 100, 0.02, 0, 0, 1, 0, 0, 0, 0.02 },
    { "quiet, 20 runs", 20, 0.02, 0, 0, 1, 0, 0, 0, 0.02 },
    { "quiet, 500 runs", 500, 0.02, 0, 0, 1, 0, 0, 0, 0.02 },
    { "quiet, each run like the one before by 0.3", 100, 0.02, 0.3, 0, 1, 0, 0, 0, 0.065 },
    { "quiet, two modes 10 % apart", 100, 0.01, 0, 0, 1, 0, 0, 0, 0.045, 0.10, 0.30 },
    { "quiet, two modes 6 % apart, one of them seldom", 100, 0.01, 0, 0, 1, 0, 0, 0, 0.13, 0.06,
      0.15 },
    { "a step of 10 % over two modes", 100, 0.01, 0, 0, 1.1, 85, 0, 0.97, 1, 0.06, 0.30 },
    { "quiet, each run like the one before by 0.5", 100, 0.02, 0.5, 0, 1, 0, 0, 0, 0.05 },
    { "quiet, each run like the one before by 0.8", 100, 0.02, 0.8, 0, 1, 0, 0, 0, 0.02 },
    { "quiet, 3 % outliers", 100, 0.02, 0, 0.03, 1, 0, 0, 0, 0.02 },
    { "4 % under 2 % noise, five runs after it", 100, 0.02, 0, 0, 1.04, 95, 0, 0.8, 1 },
    { "4 % under 2 % noise, ten runs after it", 100, 0.02, 0, 0, 1.04, 90, 0, 0.95, 1 },
    { "4 % under 2 % noise, twenty before and ten after", 30, 0.02, 0, 0, 1.04, 20, 0, 0.75, 1 },
    { "a plateau of twenty, 4 % under 2 % noise", 100, 0.02, 0, 0, 1.04, 40, 60, 0.85, 1 },
    { "the same with 3 % outliers", 100, 0.02, 0, 0.03, 1.04, 40, 60, 0.85, 1 },
};

static void make_series(const struct rate_case *c, struct random *r, double *out)
{
    double like = normal(r);

    for (size_t i = 0; i < c->count; i++) {
        bool changed = c->change != 1 && i >= c->from && (!c->to || i < c->to);

        like = c->like * like + sqrt(1 - c->like * c->like) * normal(r);
        out[i] = 100 * (changed ? c->change : 1) * exp(c->noise * like);
        if (uniform(r) < c->outliers)
            out[i] *= 1.2 + uniform(r);
        if (c->modes > 0 && uniform(r) < c->second)
            out[i] *= 1 + c->modes;
    }
}

static bool near(const bool *starts, size_t count, size_t at)
{
    for (size_t i = at > 5 ? at - 5 : 0; i < count && i <= at + 5; i++)
        if (starts[i])
            return true;
    return false;
}

static void check_rate(void **state)
{
    const struct rate_case *c = *state;
    const char *text = getenv("LPO_DIFF_SERIES");
    size_t n = text ? strtoul(text, NULL, 10) : 500, hits = 0;
    struct random r = { 11 };
    double *values = calloc(c->count, sizeof *values);
    bool *starts = calloc(c->count, sizeof *starts);

    for (size_t i = 0; i < n; i++) {
        make_series(c, &r, values);
        if (c->change == 1 || c->to || c->from + 5 < c->count) {
            lpo_diff_change_points(values, c->count, starts);
            hits += c->change == 1 ? memchr(starts, true, c->count) != NULL
                                   : near(starts, c->count, c->from) &&
                                         (!c->to || near(starts, c->count, c->to));
        } else { /* as it is watched: after each of the first five runs */
            bool found = false;

            for (size_t k = c->from + 1; k <= c->count && !found; k++) {
                lpo_diff_change_points(values, k, starts);
                found = near(starts, k, c->from);
            }
            hits += found;
        }
    }
    print_message("# %zu of %zu\n", hits, n);
    free(values);
    free(starts);
    assert_true((double)hits / (double)n >= c->least);
    assert_true((double)hits / (double)n <= c->most);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, flow_of_the_nile);
    UNIT_ROWS(&u, hand_cases, check_hand);
    UNIT_ROWS(&u, rate_cases, check_rate);
    return unit_run(&u);
}
