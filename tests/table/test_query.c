/* SPDX-License-Identifier: Apache-2.0 */
/* Queries that have no end. */
#include "../unit.h"
#include "table/sql.h"
#include "util/budget.h"
#include "util/err.h"

static bool take_row(void *ctx, const struct lpo_table_result *row)
{
    (void)ctx, (void)row;
    return true;
}

static void an_endless_query_is_stopped(void **state)
{
    static const struct lpo_table_source none[] = { { NULL } };
    LPO_AUTO(lpo_table_sql) sql = NULL;
    struct lpo_budget ordinary = *lpo_budget(), small = ordinary;
    struct lpo_err err = { 0 };

    (void)state;
    small.query_seconds = 0.05;
    lpo_budget_use(&small);
    assert_int_equal(lpo_table_sql_open(none, NULL, &sql, &err), 0);
    assert_int_equal(lpo_table_sql_query(sql,
                                         "with recursive c(x) as (select 1 union all select x + 1 "
                                         "from c) select count(*) from c",
                                         take_row, NULL, &err),
                     LPO_E_LIMIT);
    err = (struct lpo_err){ 0 };
    assert_int_equal(lpo_table_sql_query(sql, "select 1", take_row, NULL, &err), 0);
    lpo_budget_use(&ordinary);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, an_endless_query_is_stopped);
    return unit_run(&u);
}
