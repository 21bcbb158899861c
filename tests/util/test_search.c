/* SPDX-License-Identifier: Apache-2.0 */
/* Where a value belongs in sorted rows. */
#include "../unit.h"

#include "util/search.h"

static const struct search_case {
    const char *name;
    int rows[5];
    size_t count;
    int value;
    size_t want; /* first row that is not less */
} cases[] = {
    { "none at all", { 0 }, 0, 3, 0 },
    { "before the first", { 2, 4, 6 }, 3, 1, 0 },
    { "the first", { 2, 4, 6 }, 3, 2, 0 },
    { "between two", { 2, 4, 6 }, 3, 5, 2 },
    { "the last", { 2, 4, 6 }, 3, 6, 2 },
    { "behind the last", { 2, 4, 6 }, 3, 7, 3 },
    { "the first of equals", { 2, 4, 4, 4, 6 }, 5, 4, 1 },
    { "all equal", { 4, 4, 4, 4, 4 }, 5, 4, 0 },
    { "all less", { 4, 4, 4, 4, 4 }, 5, 5, 5 },
};

static void check(void **state)
{
    const struct search_case *c = *state;
    size_t low = 0, high = c->count;

    lpo_search(low, high, i, c->rows[i] < c->value);
    assert_int_equal(low, c->want);
    assert_int_equal(high, c->want);
}

/* Only rows in [low, high) are looked at. */
static void a_part_of_the_rows(void **state)
{
    static const int rows[] = { 9, 1, 2, 3, 0 };
    size_t low = 1, high = 4;

    (void)state;
    lpo_search(low, high, i, rows[i] < 3);
    assert_int_equal(low, 3);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, a_part_of_the_rows);
    return unit_run(&u);
}
