/* SPDX-License-Identifier: Apache-2.0 */
/* table/sql.h - tables as those of an SQLite database, read where they lie.
 *
 * Rows are made when a query asks for them. `id` of a table is the number of its row, so joins on
 * ids are look-ups; a query may read and nothing else. */
#pragma once

#include "table/table.h"

struct lpo_table_sql;

/* A table that can be had: its rows are asked for when a query first reads it. */
struct lpo_table_source {
    const struct lpo_table_kind *kind;
    struct lpo_rows (*open)(const void *of);
};

/* Borrows `sources`, which end with a kind of NULL, and `of`. */
int lpo_table_sql_open(const struct lpo_table_source *sources, const void *of,
                       struct lpo_table_sql **out, struct lpo_err *err);
void lpo_table_sql_destroy(struct lpo_table_sql *sql); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_table_sql);

/* What a query gives, row by row. Cells are TEXT, COUNT or MEASURE. */
struct lpo_table_result {
    size_t ncolumns;
    const char *const *names;
    struct lpo_cell *cells;    /* of the row; text lives until the next one */
    enum lpo_cell_type *types; /* of the cells of the row */
};

/* `each` is called for every row, and once before the first with `cells` NULL; it ends the query by
 * returning false. */
typedef bool lpo_table_each(void *ctx, const struct lpo_table_result *row);
int lpo_table_sql_query(struct lpo_table_sql *sql, const char *query, lpo_table_each *each,
                        void *ctx, struct lpo_err *err);
/* All tables as a database of their own at `path`, which must not be there. */
int lpo_table_sql_export(struct lpo_table_sql *sql, const char *path, struct lpo_err *err);
