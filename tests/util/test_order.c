/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in order, against qsort(). */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "util/order.h"

enum { MOST = 3000 };

static const struct order_case {
    const char *name;
    size_t count;
    uint64_t mask; /* of the bits in which they differ */
    int64_t from;
} cases[] = {
    { "none", 0, 0, 0 },
    { "one", 1, UINT64_MAX, 0 },
    { "few, of both signs", 63, UINT64_MAX, 0 },
    { "many, of both signs", 64, UINT64_MAX, 0 },
    { "all equal", MOST, 0, -7 },
    { "one byte of them", MOST, 0xff, 1 },
    { "around zero", MOST, 0xfff, -2048 },
    { "moments of a trace", MOST, 0xffffffffff, 1732000000000000000 },
    { "bytes that are equal between others", MOST, 0xff0000ff00ff00, INT64_MIN },
};

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void check(void **state)
{
    const struct order_case *c = *state;
    int64_t at[MOST], want[MOST];
    uint64_t random = 1;

    for (size_t i = 0; i < c->count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        want[i] = at[i] = (int64_t)((uint64_t)c->from + ((random ^ random >> 29) & c->mask));
    }
    qsort(want, c->count, sizeof *want, by_value);
    lpo_order_sort_ns(at, c->count);
    assert_memory_equal(at, want, c->count * sizeof *at);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    return unit_run(&u);
}
