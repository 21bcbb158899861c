/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the program and sizes of all-to-alls over ranks. */
#include <math.h>

#include "../region/build.h"
#include "../unit.h"
#include "analysis/ranks/balance.h"
#include "region/scope.h"
#include "region/tree.h"
#include "util/str.h"

/* Two ranks of one thread each, in a region `moe` from 10 to 20, 30 to 40, 50 to 60. */
static struct lpo_trace *two_ranks(void)
{
    struct lpo_trace *t = build_trace("#1 moe 10-20 moe 30-40 moe 50-60 k 11-12=5 "
                                      "#2 moe 10-20 moe 30-40 moe 50-60 k 11-12=5");

    for (size_t i = 0; i < t->processes.len; i++)
        t->processes.at[i].rank = (int32_t)i;
    return t;
}

static void give(struct lpo_trace *t, uint16_t process, int64_t ns, double value, uint64_t count)
{
    uint32_t thread = 0;

    while (t->threads.at[thread].process != process)
        thread++;
    lpo_vec_push(&t->captures, (struct lpo_capture){ .ns = ns, .thread = thread });
    lpo_vec_push(&t->numbers, (struct lpo_number){ .name = lpo_trace_name(t, "tokens"),
                                                   .capture = (uint32_t)t->captures.len - 1,
                                                   .count = count,
                                                   .sum = value,
                                                   .least = value,
                                                   .most = value });
}

static void check_path(const struct lpo_region_tree *tree, const struct lpo_rank_balance *r,
                       const char *want)
{
    LPO_STR path = { 0 };

    lpo_region_add_path(tree, r->node, &path);
    assert_string_equal(lpo_str_text(&path), want);
}

/* Sums are equal, and yet one rank waits for the other in each call. */
static void ranks_take_turns(void **state)
{
    LPO_AUTO(lpo_trace) t = two_ranks();
    struct lpo_region_tree *tree;
    struct lpo_ranks_balance *b;

    (void)state;
    give(t, 0, 35, 30, 1); /* the order of the file is not that of time */
    give(t, 0, 15, 10, 1);
    give(t, 1, 15, 30, 1);
    give(t, 1, 35, 10, 1);
    tree = lpo_region_tree_create(t);
    b = lpo_ranks_balance_create(tree);
    assert_non_null(b);
    assert_int_equal(b->rows.len, 1);
    check_path(tree, &b->rows.at[0], "moe");
    assert_int_equal(b->rows.at[0].ranks, 2);
    assert_int_equal(b->rows.at[0].calls, 2);
    assert_true(b->rows.at[0].mean == 40 && b->rows.at[0].ratio == 1);
    assert_true(b->rows.at[0].call_ratio.value == 60.0 / 40.0);
    lpo_ranks_balance_destroy(b);
    lpo_region_tree_destroy(tree);
}

static void counts_that_differ_compare_means(void **state)
{
    LPO_AUTO(lpo_trace) t = two_ranks();
    struct lpo_region_tree *tree;
    struct lpo_ranks_balance *b;

    (void)state;
    give(t, 0, 15, 10, 1);
    give(t, 0, 35, 10, 1);
    give(t, 0, 55, 10, 1);
    give(t, 1, 15, 30, 1);
    tree = lpo_region_tree_create(t);
    b = lpo_ranks_balance_create(tree);
    assert_true(b->rows.at[0].per_call && b->rows.at[0].calls == 3);
    assert_true(b->rows.at[0].mean == 20 && b->rows.at[0].most == 30 && b->rows.at[0].ratio == 1.5);
    assert_int_equal(b->rows.at[0].most_rank, 1);
    assert_int_equal(b->rows.at[0].least_rank, 0);
    assert_false(lpo_measure_known(b->rows.at[0].call_ratio));
    lpo_ranks_balance_destroy(b);
    lpo_region_tree_destroy(tree);
}

/* A trace whose ranges were summed has no single calls. */
static void sums_of_a_path(void **state)
{
    LPO_AUTO(lpo_trace) t = two_ranks();
    struct lpo_region_tree *tree;
    struct lpo_ranks_balance *b;

    (void)state;
    give(t, 0, 15, 100, 4);
    give(t, 1, 15, 300, 4);
    tree = lpo_region_tree_create(t);
    b = lpo_ranks_balance_create(tree);
    assert_true(b->rows.at[0].ratio == 1.5 && !b->rows.at[0].per_call);
    assert_false(lpo_measure_known(b->rows.at[0].call_ratio));
    lpo_ranks_balance_destroy(b);
    lpo_region_tree_destroy(tree);
}

static const struct silent_case {
    const char *name;
    double first, second; /* NAN: not given */
} silent[] = {
    { "one rank alone", 10, NAN },
    { "nothing", 0, 0 },
    { "numbers below 0", -10, 30 },
    { "no numbers", NAN, NAN },
};

static void nothing_is_said(void **state)
{
    const struct silent_case *c = *state;
    LPO_AUTO(lpo_trace) t = two_ranks();
    struct lpo_region_tree *tree;

    if (!isnan(c->first))
        give(t, 0, 15, c->first, 1);
    if (!isnan(c->second))
        give(t, 1, 15, c->second, 1);
    tree = lpo_region_tree_create(t);
    assert_null(lpo_ranks_balance_create(tree));
    lpo_region_tree_destroy(tree);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, ranks_take_turns);
    UNIT_TEST(&u, counts_that_differ_compare_means);
    UNIT_TEST(&u, sums_of_a_path);
    UNIT_ROWS(&u, silent, nothing_is_said);
    return unit_run(&u);
}
