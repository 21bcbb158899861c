/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsys/tables.h - what nsys recorded, as tables: those of its SQLite export.
 *
 * Two sources give them: the export itself (nsys/db.h) and the report that it was made of
 * (nsysrep/), so that both become one and the same trace. Tables and columns come and go with the
 * tool's version, and a lazy export leaves empty tables out; so nothing is assumed: ask for a table
 * by its oldest name and for columns by name, and a missing one reads as NULL. */
#pragma once

#include <sqlite3.h>

#include "trace/trace.h"

struct lpo_nsys_rows;

enum { LPO_NSYS_COLUMNS = 24 };

/* A table whose rows may come while another is walked: a report has all events in one stream. */
struct lpo_nsys_beside {
    const char *table;
    const char *const *names; /* as for lpo_nsys_begin() */
    void (*row)(void *ctx, const struct lpo_nsys_rows *rows);
    void *ctx;
    bool done; /* the source has given all of them */
};

/* How one source gives its tables: see the functions below, which call these. */
struct lpo_nsys_source {
    int (*begin)(void *source, struct lpo_nsys_rows *rows, const char *table,
                 const char *const *names, struct lpo_err *err);
    int (*step)(struct lpo_nsys_rows *rows, struct lpo_trace *t);
    void (*end)(struct lpo_nsys_rows *rows);
    uint32_t (*string)(void *source, struct lpo_trace *t, int64_t id);
    uint32_t (*text)(void *source, struct lpo_trace *t, const char *text, size_t len);
    /* Of the next table that is walked: gives `side` in passing. NULL: this source does not. */
    void (*beside)(void *source, struct lpo_nsys_beside *side);
};

struct lpo_nsys_tables {
    const struct lpo_nsys_source *calls;
    void *source;
};

/* One pass over a table. Column i of a row is the i-th name asked for. */
struct lpo_nsys_rows {
    const struct lpo_nsys_tables *of;
    sqlite3_stmt *stmt;         /* of an export, which holds the row; NULL: it is in `cells` */
    uint64_t seen, limit;       /* a damaged file can loop: no more rows than bytes */
    bool has[LPO_NSYS_COLUMNS]; /* false: every value is NULL */
    void *walk;                 /* of a report: private to it */
    const int64_t *cells;       /* 0 where NULL; of a text: where it is in `texts` << 32 | length */
    uint32_t given, is_text;    /* bit c: cell c is not NULL; is one */
    const char *texts;
};

/* 1: begun; 0: no such table; negative: error. `names` ends with NULL. */
static inline int lpo_nsys_begin(const struct lpo_nsys_tables *from, struct lpo_nsys_rows *rows,
                                 const char *table, const char *const *names, struct lpo_err *err)
{
    *rows = (struct lpo_nsys_rows){ .of = from };
    return from->calls->begin(from->source, rows, table, names, err);
}

/* 1: a row; 0: the end. Damage ends the pass early, with a note in `t`. */
static inline int lpo_nsys_step(struct lpo_nsys_rows *rows, struct lpo_trace *t)
{
    return rows->of->calls->step(rows, t);
}

static inline void lpo_nsys_end(struct lpo_nsys_rows *rows) /* also where nothing was begun */
{
    rows->of->calls->end(rows);
}

static inline int64_t lpo_nsys_int(const struct lpo_nsys_rows *rows, int column)
{
    if (rows->stmt)
        return sqlite3_column_int64(rows->stmt, column);
    return rows->cells[column];
}

/* SQLITE_NULL, SQLITE_INTEGER or SQLITE_TEXT; others count as texts. */
static inline int lpo_nsys_type(const struct lpo_nsys_rows *rows, int column)
{
    if (rows->stmt)
        return sqlite3_column_type(rows->stmt, column);
    if (!(rows->given >> column & 1))
        return SQLITE_NULL;
    return rows->is_text >> column & 1 ? SQLITE_TEXT : SQLITE_INTEGER;
}

static inline bool lpo_nsys_null(const struct lpo_nsys_rows *rows, int column)
{
    return lpo_nsys_type(rows, column) == SQLITE_NULL;
}

/* The same for a column that was read: `v` is what lpo_nsys_int() gave. NULL reads as 0, so only a
 * 0 needs the second look; each look costs as much as a column, millions of times. */
static inline bool lpo_nsys_was_null(const struct lpo_nsys_rows *rows, int column, int64_t v)
{
    return v == 0 && lpo_nsys_null(rows, column);
}

/* The text behind an id of StringIds as a name of `t`; LPO_NONE when there is none. Only strings
 * that are asked for are read: the table also holds paths and environment. */
static inline uint32_t lpo_nsys_string(const struct lpo_nsys_tables *from, struct lpo_trace *t,
                                       int64_t id)
{
    return from->calls->string(from->source, t, id);
}

/* A column that holds text; *len is 0 for NULL. Good until the next row. */
static inline const char *lpo_nsys_chars(const struct lpo_nsys_rows *rows, int column, size_t *len)
{
    const char *text;

    if (!rows->stmt) {
        bool is = rows->is_text >> column & 1;

        *len = is ? (uint32_t)rows->cells[column] : 0;
        return is ? rows->texts + ((uint64_t)rows->cells[column] >> 32) : NULL;
    }
    text = (const char *)sqlite3_column_text(rows->stmt, column);
    *len = text ? (size_t)sqlite3_column_bytes(rows->stmt, column) : 0;
    return text;
}

/* The same as a name of `t`; LPO_NONE for NULL and "". */
static inline uint32_t lpo_nsys_text(const struct lpo_nsys_rows *rows, struct lpo_trace *t,
                                     int column)
{
    size_t len;
    const char *text = lpo_nsys_chars(rows, column, &len);

    return len ? rows->of->calls->text(rows->of->source, t, text, len) : LPO_NONE;
}

/* Reads everything that a trace has of these tables. */
int lpo_nsys_read_tables(const struct lpo_nsys_tables *from, struct lpo_trace *into,
                         struct lpo_err *err);
