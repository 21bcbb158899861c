/* SPDX-License-Identifier: Apache-2.0 */
/* Are the tests of analysis/diff as careful and as sharp as docs/diff.md says? Distributions
 * against printed tables, then whole comparisons of programs made of random numbers: how often
 * equal ones raise an alarm, and how often a known change is found. LPO_DIFF_PAIRS sets the number
 * of pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "unit.h"
#include "util/arena.h"

/* --- distributions -------------------------------------------------------------------------- */

static const struct p_case {
    const char *name;
    double t, freedom, want; /* freedom 0: the normal distribution */
} p_cases[] = {
    { "normal 1.96", 1.959964, 0, 0.05 },
    { "normal 0", 0, 0, 1 },
    { "normal 5", 5, 0, 5.733e-7 },
    { "t of 8: 2.306", 2.306004, 8, 0.05 },
    { "t of 8: 3.355", -3.355387, 8, 0.01 },
    { "t of 1: 12.71", 12.70620, 1, 0.05 },
    { "t of 30: 3.646", 3.645959, 30, 0.001 },
    { "t of 10: 0", 0, 10, 1 },
};

static void check_p(void **state)
{
    const struct p_case *c = *state;
    double p = c->freedom > 0 ? lpo_diff_p_student(c->t, c->freedom) : lpo_diff_p_normal(c->t);

    assert_true(fabs(p - c->want) <= 1e-4 * c->want);
}

static struct lpo_diff_sample sample_of(const int64_t *values, size_t n)
{
    struct lpo_diff_sample s = { 0 };

    for (size_t i = 0; i < n; i++)
        lpo_diff_sample_add(&s, values[i], LPO_DIFF_KEPT);
    lpo_diff_sample_sort(&s);
    return s;
}

/* W = 12 of ranks {1,2,4,5} against {3,6,7,8}: by hand, U = 2, z = (24 - 18) / sqrt(12). */
static void ranks_by_hand(void **state)
{
    static const int64_t low[] = { 10, 20, 40, 50 }, high[] = { 30, 60, 70, 80 };
    struct lpo_diff_sample a = sample_of(low, 4), b = sample_of(high, 4);
    struct lpo_diff_evidence e = { 0 };

    (void)state;
    free(a.order); /* nobody knows in which order they came */
    a.order = NULL;
    lpo_diff_evidence_add(&e, &a, &b);
    assert_true(fabs(e.rank_sum / sqrt(e.rank_variance) - 6 / sqrt(12)) < 1e-12);
    lpo_diff_sample_free(&a);
    lpo_diff_sample_free(&b);
}

/* Calls of very different sizes, each a tenth longer but for one that is a fifth shorter: of four
 * differences the largest is the negative one. W = 1 + 2 + 3 - 4 = 2 with variance 30, where equal
 * ones share their ranks (2, 2, 2): still 2, with variance 28. */
static void pairs_by_hand(void **state)
{
    static const int64_t before[] = { 1000, 100000, 10, 50000 };
    static const int64_t after[] = { 1100, 110000, 11, 40000 };
    struct lpo_diff_sample a = sample_of(before, 4), b = sample_of(after, 4);
    struct lpo_diff_evidence e = { 0 };
    double mean = (3 * log(1.1) + log(0.8)) / 4;

    (void)state;
    lpo_diff_evidence_add(&e, &a, &b);
    assert_int_equal(e.a, 4);
    assert_true(fabs(e.shift / e.weight - mean) < 1e-12);
    assert_true(fabs(e.freedom - 3) < 1e-12);
    assert_true(fabs(e.rank_sum - 2.0 / 5) < 1e-9);
    lpo_diff_sample_free(&a);
    lpo_diff_sample_free(&b);
}

static void holm_by_hand(void **state)
{
    static const double p[] = { 0.04, 0.001, 0.013, 0.03 };
    bool refused[4];

    (void)state;
    lpo_diff_holm(p, 4, 0.05, refused); /* limits 0.0125, 0.0167, 0.025, 0.05 */
    assert_true(refused[1] && refused[2]);
    assert_false(refused[0] || refused[3]);
}

/* Two million calls: as many are kept as allowed, and the choice is fair. */
static void a_sample_is_bounded_and_fair(void **state)
{
    struct lpo_diff_sample s = { 0 };

    (void)state;
    for (int i = 0; i < 2000000; i++)
        lpo_diff_sample_add(&s, i, LPO_DIFF_KEPT);
    lpo_diff_sample_sort(&s);
    assert_int_equal(s.kept.len, LPO_DIFF_KEPT);
    assert_int_equal(s.count, 2000000);
    assert_true(fabs(lpo_diff_sample_median(&s) - 1000000) < 100000);
    lpo_diff_sample_free(&s);
}

/* --- programs of random numbers ------------------------------------------------------------- */

enum { KERNELS = 40 };

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

/* How a program behaves from run to run and from call to call: standard deviations of logarithms.
 */
struct noise {
    double run, row, call;
    bool outliers; /* one call of a hundred takes up to ten times as long */
};

struct plan {
    struct noise noise;
    size_t calls;
    double slower; /* all kernels, where row is KERNELS; else that one */
    size_t row;
};

static void add_kernel(struct lpo_diff_digest *g, const struct plan *plan, struct random *r,
                       size_t i, double run, bool changed)
{
    struct lpo_diff_item k = { .linker = "", .known = true, .host_ns = -1, .parent = UINT32_MAX };
    struct lpo_diff_stratum s = { .grid = { 1, 1, 1 }, .block = { 32, 1, 1 } };
    double base = 5000 * pow(1.2, (double)(i % 20)) * run * exp(plan->noise.row * normal(r));

    if (changed && (plan->row == KERNELS || plan->row == i))
        base *= plan->slower;
    k.name = k.key = k.detail = lpo_arena_printf(g->arena, "kernel%zu", i);
    for (size_t c = 0; c < plan->calls; c++) {
        double ns = base * exp(plan->noise.call * normal(r));

        if (plan->noise.outliers && uniform(r) < 0.01)
            ns *= 1 + 9 * uniform(r);
        lpo_diff_sample_add(&s.calls, (int64_t)ns, LPO_DIFF_KEPT);
        s.ns += (int64_t)ns;
    }
    lpo_diff_sample_sort(&s.calls);
    s.count = k.count = k.launches = plan->calls;
    k.ns = k.self_ns = s.ns;
    g->gpu_ns += s.ns;
    g->launches += k.count;
    lpo_vec_push(&k.strata, s);
    lpo_vec_push(&g->items[LPO_DIFF_KERNELS], k);
}

static struct lpo_diff_digest *make_run(const struct plan *plan, struct random *r, bool changed)
{
    struct lpo_diff_digest *g = lpo_xcalloc(1, sizeof *g);
    struct lpo_diff_device v = { .scope = "device:0" };
    double run = exp(plan->noise.run * normal(r));

    g->arena = lpo_arena_create();
    g->label = "run";
    g->step = UINT32_MAX;
    for (size_t i = 0; i < KERNELS; i++)
        add_kernel(g, plan, r, i, run, changed);
    v.parts[LPO_CLASS_GEMM] = g->gpu_ns;
    for (size_t i = 0; i < g->launches; i++) { /* a gap after each launch */
        int64_t gap = (int64_t)(500 * exp(0.3 * normal(r)));

        v.parts[LPO_DIFF_PART_IDLE + LPO_IDLE_QUEUED] += gap;
        v.idle_squares += (double)gap * (double)gap;
    }
    v.span_ns = g->gpu_ns + v.parts[LPO_DIFF_PART_IDLE + LPO_IDLE_QUEUED];
    lpo_vec_push(&g->devices, v);
    return g;
}

enum outcome { SILENT, WALL = 1, ROW = 2, OTHER_ROW = 4 };

/* Which alarms one comparison raises. */
static int compare(const struct plan *plan, size_t runs, size_t runs_b, struct random *r)
{
    struct lpo_diff_digest *a[16], *b[16];
    struct lpo_diff *d;
    int out = SILENT;

    for (size_t i = 0; i < runs; i++)
        a[i] = make_run(plan, r, false);
    for (size_t i = 0; i < runs_b; i++)
        b[i] = make_run(plan, r, true);
    d = lpo_diff_create((struct lpo_diff_runs){ a, runs }, (struct lpo_diff_runs){ b, runs_b });
    out |= d->wall.verdict.significant ? WALL : 0;
    if (lpo_diff_regression(d) > 0)
        out |= plan->slower == 1 ? OTHER_ROW : 0;
    for (size_t i = 0; i < d->rows[LPO_DIFF_KERNELS].len; i++) {
        const struct lpo_diff_row *row = &d->rows[LPO_DIFF_KERNELS].at[i];
        size_t number = strtoul(row->item[0]->name + 6, NULL, 10);

        if (row->verdict.significant)
            out |= plan->slower != 1 && (plan->row == KERNELS || plan->row == number) ? ROW
                                                                                      : OTHER_ROW;
    }
    lpo_diff_destroy(d);
    for (size_t i = 0; i < runs; i++)
        lpo_diff_digest_destroy(a[i]);
    for (size_t i = 0; i < runs_b; i++)
        lpo_diff_digest_destroy(b[i]);
    return out;
}

/* --- steps of one run a side ---------------------------------------------------------------- */

/* Steps with noise of 2 %, that may be like those before them, and one of thirty three times as
 * long. */
static const struct steps_case {
    const char *name;
    size_t steps;
    double slower, noise, like, outliers;
    double least, most;
} steps_cases[] = {
    { "twenty equal steps: at most 1 % alarms", 20, 1, 0.02, 0, 0, 0, 0.01 },
    { "five equal steps: at most 1 % alarms", 5, 1, 0.02, 0, 0, 0, 0.01 },
    { "eight equal steps, restless: at most 1 % alarms", 8, 1, 0.06, 0, 0, 0, 0.01 },
    { "fifty equal steps, each like the one before: at most 1 %", 50, 1, 0.03, 0.6, 0, 0, 0.01 },
    { "a hundred equal steps with outliers: at most 1 %", 100, 1, 0.02, 0, 0.03, 0, 0.01 },
    { "three equal steps: at most 1 %", 3, 1, 0.02, 0, 0, 0, 0.01 },
    { "twenty steps, 3 % slower: found in 95 %", 20, 1.03, 0.02, 0, 0, 0.95, 1 },
    { "five steps, 10 % slower: found in 99 %", 5, 1.1, 0.02, 0, 0, 0.99, 1 },
    { "a hundred steps with outliers, 3 % slower: found in 95 %", 100, 1.03, 0.02, 0, 0.03, 0.95,
      1 },
};

static struct lpo_diff_digest *make_steps(const struct steps_case *c, struct random *r,
                                          double factor)
{
    static const struct plan one = { { 0, 0, 0.001, false }, 3, 1, KERNELS };
    struct lpo_diff_digest *g = make_run(&one, r, false);
    struct lpo_diff_series s = { .kind = LPO_DIFF_STEP, .row = UINT32_MAX, .count = c->steps };
    double like = 0;

    for (size_t i = 0; i < c->steps; i++) {
        double ns;

        like = c->like * like + sqrt(1 - c->like * c->like) * normal(r);
        ns = 1e7 * factor * exp(c->noise * like) * (uniform(r) < c->outliers ? 3 : 1);
        lpo_vec_push(&s.ns, ns);
        s.total_ns += (int64_t)ns;
    }
    g->window_ns = s.total_ns;
    lpo_vec_push(&g->series, s);
    return g;
}

static size_t pairs(void)
{
    const char *text = getenv("LPO_DIFF_PAIRS");

    return text ? strtoul(text, NULL, 10) : 200;
}

static const struct rate_case {
    const char *name;
    size_t runs, runs_b;
    struct plan plan;
    int outcome; /* any of these */
    double least, most;
} rate_cases[] = {
    { "no change, five repeats: at most 1 % false alarms",
      5,
      5,
      { { 0.01, 0.005, 0.05, false }, 20, 1, KERNELS },
      WALL | ROW | OTHER_ROW,
      0,
      0.01 },
    { "no change, two repeats: at most 1 % false alarms",
      2,
      2,
      { { 0.01, 0.005, 0.05, false }, 20, 1, KERNELS },
      WALL | ROW | OTHER_ROW,
      0,
      0.01 },
    { "no change, one run against nine: at most 1 % false alarms",
      9,
      1,
      { { 0.01, 0.005, 0.05, false }, 20, 1, KERNELS },
      WALL | ROW | OTHER_ROW,
      0,
      0.01 },
    { "no change, one run against three: at most 1 % false alarms",
      3,
      1,
      { { 0.01, 0.005, 0.05, false }, 20, 1, KERNELS },
      WALL | ROW | OTHER_ROW,
      0,
      0.01 },
    { "no change, one run: at most 1 % false alarms",
      1,
      1,
      { { 0, 0, 0.05, false }, 50, 1, KERNELS },
      WALL | ROW | OTHER_ROW,
      0,
      0.01 },
    { "no change, one run with outliers: at most 1 % false alarms",
      1,
      1,
      { { 0, 0, 0.02, true }, 50, 1, KERNELS },
      WALL | ROW | OTHER_ROW,
      0,
      0.01 },
    { "no change, one run of few calls: at most 1 % false alarms",
      1,
      1,
      { { 0, 0, 0.03, false }, 3, 1, KERNELS },
      WALL | ROW | OTHER_ROW,
      0,
      0.01 },
    { "3 % slower, five repeats: the wall time is found in 95 %",
      5,
      5,
      { { 0.008, 0.005, 0.05, false }, 20, 1.03, KERNELS },
      WALL,
      0.95,
      1 },
    { "one kernel 3 % slower, five repeats: its row is found in 95 %",
      5,
      5,
      { { 0.002, 0.001, 0.02, false }, 100, 1.03, 7 },
      ROW,
      0.95,
      1 },
    { "one kernel 30 % slower, one run: its row is found in 99 %",
      1,
      1,
      { { 0, 0, 0.05, false }, 50, 1.3, 7 },
      ROW,
      0.99,
      1 },
};

static void check_rate(void **state)
{
    const struct rate_case *c = *state;
    struct random r = { 20 };
    size_t n = pairs(), hits = 0;

    for (size_t i = 0; i < n; i++)
        hits += (compare(&c->plan, c->runs, c->runs_b, &r) & c->outcome) != 0;
    print_message("# %zu of %zu\n", hits, n);
    assert_true((double)hits / (double)n >= c->least);
    assert_true((double)hits / (double)n <= c->most);
}

static void check_steps(void **state)
{
    const struct steps_case *c = *state;
    struct random r = { 7 };
    size_t n = 5 * pairs(), hits = 0;

    for (size_t i = 0; i < n; i++) {
        struct lpo_diff_digest *a = make_steps(c, &r, 1), *b = make_steps(c, &r, c->slower);
        struct lpo_diff *d =
            lpo_diff_create((struct lpo_diff_runs){ &a, 1 }, (struct lpo_diff_runs){ &b, 1 });

        hits += d->wall.verdict.significant || lpo_diff_wall_regression(d) > 0;
        lpo_diff_destroy(d);
        lpo_diff_digest_destroy(a);
        lpo_diff_digest_destroy(b);
    }
    print_message("# %zu of %zu\n", hits, n);
    assert_true((double)hits / (double)n >= c->least);
    assert_true((double)hits / (double)n <= c->most);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, ranks_by_hand);
    UNIT_TEST(&u, pairs_by_hand);
    UNIT_TEST(&u, holm_by_hand);
    UNIT_TEST(&u, a_sample_is_bounded_and_fair);
    UNIT_ROWS(&u, p_cases, check_p);
    UNIT_ROWS(&u, rate_cases, check_rate);
    UNIT_ROWS(&u, steps_cases, check_steps);
    return unit_run(&u);
}
