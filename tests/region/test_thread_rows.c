/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by thread. */
#include "../unit.h"
#include "build.h"

#include "region/thread_rows.h"

static void rows_are_gathered_by_thread(void **state)
{
    LPO_AUTO(lpo_trace) t = build_trace("A 0-9 @2 B 1-3 @1 C 4-5 S:S 2-3 @2 k 5-6=1");
    struct lpo_group ranges = lpo_region_group_ranges(t, LPO_PUSH_POP);
    struct lpo_group launches = lpo_region_group_launches(t);

    (void)state;
    assert_int_equal(ranges.starts[1] - ranges.starts[0], 2);
    assert_true(ranges.rows[0] == 0 && ranges.rows[1] == 2); /* A and C */
    assert_int_equal(ranges.starts[2] - ranges.starts[1], 1);
    assert_int_equal(launches.starts[1], 0);
    assert_int_equal(launches.starts[2], 1);
    lpo_region_group_free(&ranges);
    lpo_region_group_free(&launches);
}

/* What was never closed ends with the last moment of its process. */
static const struct ends_case {
    const char *name, *trace;
    int64_t want_ns;
} ends[] = {
    { "the last range ends it", "A 0-0... B 1-70", 70 },
    { "the last call ends it", "A 0-0... k 80-90=1", 1000001 }, /* its kernel ends later */
    { "an open range counts with its start", "A 0-0... B 40-40...", 40 },
};

static void check_ends(void **state)
{
    const struct ends_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace(c->trace);
    struct lpo_process_ends e = lpo_region_ends_find(t);

    assert_int_equal(lpo_region_range_end(&e, t, &t->ranges.at[0]), c->want_ns);
    lpo_region_ends_free(&e);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, ends, check_ends);
    UNIT_TEST(&u, rows_are_gathered_by_thread);
    return unit_run(&u);
}
