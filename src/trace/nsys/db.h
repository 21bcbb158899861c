/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsys/db.h - an nsys export as tables that may or may not be there.
 *
 * The export's tables and columns come and go with the tool's version, and a lazy export leaves
 * empty tables out; so nothing is assumed: ask for a table by its oldest name and for columns by
 * name, and a missing one reads as NULL. A file may be made to hurt: processor time, rows and text
 * are bounded (util/budget.h), and nothing that the file brings along is run. Private to the nsys
 * reader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "util/auto.h"

struct lpo_err;
struct lpo_trace;

struct lpo_nsys;

/* Read-only, without locks or journals: the file may lie on a read-only disk. */
int lpo_nsys_open(const char *path, struct lpo_nsys **out, struct lpo_err *err);
void lpo_nsys_destroy(struct lpo_nsys *db); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_nsys);

bool lpo_nsys_cut(const struct lpo_nsys *db);
/* The name in this file of `table`: itself or with a suffix _V2, _V3, …; NULL when absent. */
const char *lpo_nsys_table(struct lpo_nsys *db, const char *table);
size_t lpo_nsys_count_tables(const struct lpo_nsys *db); /* of nsys; 0: another SQLite file */

enum { LPO_NSYS_COLUMNS = 24 };

/* One pass over a table. Column i of the query is the i-th name asked for. */
struct lpo_nsys_rows {
    struct lpo_nsys *db;
    sqlite3_stmt *stmt;
    uint64_t seen, limit;       /* a damaged file can loop: no more rows than bytes */
    bool has[LPO_NSYS_COLUMNS]; /* false: every value is NULL */
};

/* 1: begun; 0: no such table; negative: error. `names` ends with NULL; `where` may be NULL. */
int lpo_nsys_begin(struct lpo_nsys *db, struct lpo_nsys_rows *rows, const char *table,
                   const char *const *names, const char *where, struct lpo_err *err);
/* 1: a row; 0: the end. A damaged page ends the pass early, with a note in `t`. */
int lpo_nsys_step(struct lpo_nsys *db, struct lpo_nsys_rows *rows, struct lpo_trace *t);
void lpo_nsys_end(struct lpo_nsys_rows *rows);

static inline int64_t lpo_nsys_int(const struct lpo_nsys_rows *rows, int column)
{
    return sqlite3_column_int64(rows->stmt, column);
}

static inline bool lpo_nsys_null(const struct lpo_nsys_rows *rows, int column)
{
    return sqlite3_column_type(rows->stmt, column) == SQLITE_NULL;
}

/* The same for a column that was read: `v` is what lpo_nsys_int() gave. NULL reads as 0, so only a
 * 0 needs the second look; each look costs as much as a column, millions of times. */
static inline bool lpo_nsys_was_null(const struct lpo_nsys_rows *rows, int column, int64_t v)
{
    return v == 0 && lpo_nsys_null(rows, column);
}

/* The text behind an id of StringIds as a name of `t`; LPO_NONE when there is none. Only strings
 * that are asked for are read: the table also holds paths and environment. */
uint32_t lpo_nsys_string(struct lpo_nsys *db, struct lpo_trace *t, int64_t id);
/* A column that holds text, interned; LPO_NONE for NULL and "". */
uint32_t lpo_nsys_text(const struct lpo_nsys_rows *rows, struct lpo_trace *t, int column);
