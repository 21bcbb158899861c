/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares with no answer below 0. That an answer is the best one can be seen from the
 * equations themselves: no unknown above 0 can be moved, and none at 0 raised, without making the
 * fit worse (the conditions of Karush, Kuhn and Tucker). */
#include "../unit.h"

#include <math.h>

#include "analysis/counters/least_squares.h"

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double gram(const struct lpo_counters_normal *n, size_t i, size_t k)
{
    return n->gram[i > k ? i * (i + 1) / 2 + k : k * (k + 1) / 2 + i];
}

static void check_best(const struct lpo_counters_normal *n, const struct lpo_solution *x)
{
    double largest = 0;

    for (size_t i = 0; i < n->unknowns; i++)
        largest = fmax(largest, fabs(n->right[i]));
    for (size_t i = 0; i < n->unknowns; i++) {
        double slope = -n->right[i];

        for (size_t k = 0; k < n->unknowns; k++)
            slope += gram(n, i, k) * x->value[k];
        assert_true(x->value[i] >= 0);
        if (x->value[i] > 0)
            assert_true(fabs(slope) < 1e-6 * largest);
        else
            assert_true(slope > -1e-6 * largest);
    }
}

/* Truth with unknowns at 0, noise that pushes them below it. */
static void best_under_noise(void **unused)
{
    enum { UNKNOWNS = 60, EQUATIONS = 800 };

    (void)unused;
    for (int round = 0; round < 10; round++) {
        LPO_AUTO(lpo_counters_normal) n = lpo_counters_normal_create(UNKNOWNS, 1);
        double truth[UNKNOWNS];
        struct lpo_solution x;
        size_t zero = 0;

        for (size_t i = 0; i < UNKNOWNS; i++)
            truth[i] = i % 3 ? 100 * uniform() : 0;
        for (int e = 0; e < EQUATIONS; e++) {
            struct lpo_term terms[6];
            double value = 40 * (uniform() - 0.5);
            size_t first = (size_t)(uniform() * UNKNOWNS);

            for (size_t i = 0; i < 6; i++) {
                terms[i] = (struct lpo_term){ (uint32_t)((first + i) % UNKNOWNS), uniform() };
                value += terms[i].factor * truth[terms[i].unknown];
            }
            lpo_counters_normal_add(n, terms, 6, &value);
        }
        x = lpo_counters_normal_solve(n, 0, NULL);
        check_best(n, &x);
        for (size_t i = 0; i < UNKNOWNS; i++) {
            assert_true(fabs(x.value[i] - truth[i]) < 6 * x.error[i]);
            zero += x.value[i] == 0;
        }
        assert_true(zero > 3);
        assert_true(x.r2 > 0.8 && x.r2 < 1);
        lpo_counters_solution_free(&x);
    }
}

static void exact_without_noise(void **unused)
{
    LPO_AUTO(lpo_counters_normal) n = lpo_counters_normal_create(3, 2);
    struct lpo_solution x;

    (void)unused;
    for (int i = 0; i < 50; i++) {
        double a = uniform(), b = uniform();
        const struct lpo_term terms[] = { { 2, a }, { 0, b } };
        const double values[] = { 7 * a + 3 * b, 5 * b };

        lpo_counters_normal_add(n, terms, 2, values);
    }
    x = lpo_counters_normal_solve(n, 0, NULL);
    assert_float_equal(x.value[0], 3, 1e-6);
    assert_float_equal(x.value[2], 7, 1e-6);
    assert_float_equal(x.fitted, 1, 1e-6);
    assert_true(isinf(x.error[1])); /* in no equation */
    lpo_counters_solution_free(&x);
    x = lpo_counters_normal_solve(n, 1, NULL);
    assert_float_equal(x.value[0], 5, 1e-6);
    assert_float_equal(x.value[2], 0, 1e-6);
    lpo_counters_solution_free(&x);
}

/* Two unknowns that always come together cannot be told apart: the prior says how they share. */
static void prior_decides_what_data_cannot(void **unused)
{
    LPO_AUTO(lpo_counters_normal) n = lpo_counters_normal_create(2, 1);
    const struct lpo_prior priors[] = { { 30, 30 }, { 10, 10 } };
    struct lpo_solution x;

    (void)unused;
    for (int i = 0; i < 400; i++) {
        double f = 0.5 + uniform(), value = 40 * f + 4 * (uniform() - 0.5);
        const struct lpo_term terms[] = { { 0, f }, { 1, f } };

        lpo_counters_normal_add(n, terms, 2, &value);
    }
    x = lpo_counters_normal_solve(n, 0, priors);
    assert_float_equal(x.value[0], 30, 1);
    assert_float_equal(x.value[1], 10, 1);
    assert_true(x.error[0] > 5 && x.error[1] > 5); /* and the errors say that it did */
    assert_float_equal(x.value[0] + x.value[1], 40, 0.2);
    lpo_counters_solution_free(&x);
}

/* A class is the same as its members where they do the same. */
static void merged_groups(void **unused)
{
    LPO_AUTO(lpo_counters_normal) n = lpo_counters_normal_create(3, 1);
    LPO_AUTO(lpo_counters_normal) merged = NULL;
    const uint32_t group[] = { 0, 1, 0 };
    const double scale[] = { 2, 1, 4 };
    struct lpo_solution x;

    (void)unused;
    for (int i = 0; i < 60; i++) {
        double a = uniform(), b = uniform(), c = uniform();
        double value = a * 2 * 9 + b * 5 + c * 4 * 9; /* 9 for each of the scale */
        const struct lpo_term terms[] = { { 0, a }, { 1, b }, { 2, c } };

        lpo_counters_normal_add(n, terms, 3, &value);
    }
    merged = lpo_counters_normal_merge(n, group, scale, 2);
    x = lpo_counters_normal_solve(merged, 0, NULL);
    assert_float_equal(x.value[0], 9, 1e-6);
    assert_float_equal(x.value[1], 5, 1e-6);
    lpo_counters_solution_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_without_noise),
        cmocka_unit_test(best_under_noise),
        cmocka_unit_test(prior_decides_what_data_cannot),
        cmocka_unit_test(merged_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
