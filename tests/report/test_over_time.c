/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of charts: fewer points, the same extremes. */
#include "../unit.h"

#include <math.h>

#include "report/over_time.h"

static lpo_chart_points line(size_t count)
{
    lpo_chart_points p = { 0 };

    for (size_t i = 0; i < count; i++)
        lpo_vec_push(&p, (struct lpo_series_point){ (int64_t)i, (double)(i % 97) });
    return p;
}

static void the_least_and_the_most_stay(void **state)
{
    lpo_chart_points p = line(10000);
    bool least = false, most = false;

    (void)state;
    p.at[5003].value = -1;
    p.at[7777].value = 1000;
    lpo_report_chart_thin(&p, 200);
    assert_true(p.len <= 200);
    for (size_t i = 0; i < p.len; i++) {
        least |= p.at[i].ns == 5003 && p.at[i].value == -1;
        most |= p.at[i].ns == 7777 && p.at[i].value == 1000;
        assert_true(i == 0 || p.at[i - 1].ns < p.at[i].ns);
    }
    assert_true(least && most);
    lpo_vec_free(&p);
}

static void few_points_stay_as_they_are(void **state)
{
    lpo_chart_points p = line(200);

    (void)state;
    lpo_report_chart_thin(&p, 200);
    assert_int_equal(p.len, 200);
    lpo_vec_free(&p);
}

/* A hole of many points is still a hole; a single unknown one among others is none. */
static void unknown_stays_where_nothing_else_is(void **state)
{
    lpo_chart_points p = line(10000);
    size_t holes = 0;

    (void)state;
    p.at[10].value = (double)NAN;
    for (size_t i = 4000; i < 5000; i++)
        p.at[i].value = (double)NAN;
    lpo_report_chart_thin(&p, 200);
    for (size_t i = 0; i < p.len; i++) {
        holes += isnan(p.at[i].value);
        assert_true(!isnan(p.at[i].value) || (p.at[i].ns >= 4000 && p.at[i].ns < 5000));
    }
    assert_true(holes > 0);
    lpo_vec_free(&p);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, the_least_and_the_most_stay);
    UNIT_TEST(&u, few_points_stay_as_they_are);
    UNIT_TEST(&u, unknown_stays_where_nothing_else_is);
    return unit_run(&u);
}
