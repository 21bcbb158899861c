/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities over time: bounded, with exact extremes. */
#include "../unit.h"

#include <math.h>

#include "trace/series.h"
#include "trace/trace.h"

/* Two hundred thousand points of which one is least and one is most. */
static void extremes_outlive_thinning(void **state)
{
    struct lpo_series s = { 0 };
    bool least = false, most = false;

    (void)state;
    for (int64_t i = 0; i < 200000; i++)
        lpo_trace_series_add(&s, i, i == 70001 ? -5 : i == 130003 ? 5000 : (double)(i % 1000));
    assert_int_equal(s.seen, 200000);
    assert_true(s.points.len <= 1 << 14);
    for (size_t i = 0; i < s.points.len; i++) {
        least |= s.points.at[i].value == -5 && s.points.at[i].ns == 70001;
        most |= s.points.at[i].value == 5000 && s.points.at[i].ns == 130003;
        assert_true(i == 0 || s.points.at[i - 1].ns < s.points.at[i].ns);
    }
    assert_true(least && most);
    lpo_vec_free(&s.points);
}

static void what_is_no_number_is_passed_over(void **state)
{
    struct lpo_series s = { 0 };

    (void)state;
    lpo_trace_series_add(&s, 2, NAN);
    lpo_trace_series_add(&s, 3, INFINITY);
    lpo_trace_series_add(&s, 1, 1);
    assert_int_equal(s.points.len, 1);
    lpo_vec_free(&s.points);
}

static void one_series_for_each_name_and_device(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    uint32_t a = lpo_trace_series(t, LPO_SERIES_COUNTER, "DRAM read", "B/s", 0);

    (void)state;
    assert_int_equal(lpo_trace_series(t, LPO_SERIES_COUNTER, "DRAM read", "B/s", 0), a);
    assert_int_not_equal(lpo_trace_series(t, LPO_SERIES_COUNTER, "DRAM read", "B/s", 1), a);
    assert_int_not_equal(lpo_trace_series(t, LPO_SERIES_MEMORY, "DRAM read", "B/s", 0), a);
    lpo_trace_series_add(&t->series.at[a], 20, 2);
    lpo_trace_series_add(&t->series.at[a], 10, 1);
    lpo_trace_series_sort(&t->series.at[a]);
    assert_int_equal(t->series.at[a].points.at[0].ns, 10);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, extremes_outlive_thinning);
    UNIT_TEST(&u, what_is_no_number_is_passed_over);
    UNIT_TEST(&u, one_series_for_each_name_and_device);
    return unit_run(&u);
}
