/* SPDX-License-Identifier: Apache-2.0 */
/* table/table.h - typed rows with described columns.
 *
 * Events and results are tables. A table is a description (name, columns, what each means) and rows
 * that are read where they lie: nothing is copied until someone prints it. JSON, documents, SQL,
 * databases and docs/tables.md are views of the same description, so a new number is one row of it:
 *
 *     CELL(calls, struct lpo_operator, lpo_cell_count(r->calls))
 *     static const struct lpo_column columns[] = {
 *         { "calls", "Calls", LPO_CELL_COUNT, .meaning = "calls of it", .get = calls },
 *     };
 *     const struct lpo_table_kind lpo_table_operators = { "operators", "…", columns, 1 };
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/measure.h"

struct lpo_arena;
struct lpo_rows;
struct lpo_str;

enum lpo_cell_type {
    LPO_CELL_TEXT,
    LPO_CELL_COUNT,   /* a whole number of things */
    LPO_CELL_NS,      /* a duration or a moment in integer nanoseconds */
    LPO_CELL_BYTES,   /* printed with binary prefixes */
    LPO_CELL_PERCENT, /* 0 … 100 for people; a share of 0 … 1 in JSON, CSV and SQL */
    LPO_CELL_MEASURE, /* a number with the column's unit */
    LPO_CELL_FLAG,    /* yes or no */
    LPO_CELL_LIST,    /* JSON: a list as text for people, SQL and CSV, as itself in JSON */
};

/* A value of one row. Text lives until the next cell with text is read of the same rows. */
struct lpo_cell {
    const char *text; /* TEXT, LIST */
    size_t len;
    int64_t whole;    /* COUNT, NS, FLAG */
    double real;      /* BYTES, MEASURE; PERCENT: the share */
    enum lpo_how how; /* LPO_UNKNOWN: null, which is not 0 */
};

typedef struct lpo_cell lpo_cell_get(const struct lpo_rows *rows, size_t row);

/* What is done with a column where rows are put together or compared. */
enum lpo_column_role {
    LPO_COLUMN_FACT, /* nothing: it describes its row */
    LPO_COLUMN_KEY,  /* says which row it is, and joins tables: region, kernel, operator, rank */
    LPO_COLUMN_ADDS, /* the sum of two rows is the sum of its values */
    LPO_COLUMN_LEAST,
    LPO_COLUMN_MOST,
};

struct lpo_column {
    const char *key;   /* field name in JSON, CSV and SQL: lower case, digits, '_' */
    const char *title; /* for people */
    enum lpo_cell_type type;
    const char *unit; /* LPO_CELL_MEASURE: "FLOP/s"; else NULL */
    unsigned minor;   /* above 0: left out for people where the table is too wide, highest first */
    unsigned width;   /* TEXT: characters below which minor columns are left out; 0: 28 */
    const char *meaning; /* docs/tables.md: half a sentence */
    lpo_cell_get *get;
    enum lpo_column_role role;
    bool rare; /* JSON leaves it out where it is unknown, instead of null */
};

struct lpo_table_kind {
    const char *name; /* in SQL */
    const char *meaning;
    const struct lpo_column *columns;
    size_t ncolumns;
};

/* The rows of one table, as they lie in `of`. */
struct lpo_rows {
    const struct lpo_table_kind *kind;
    size_t count;
    const void *of, *at;     /* what the getters of this kind read */
    struct lpo_str *scratch; /* for text that a getter makes */
};

struct lpo_cell lpo_table_cell(const struct lpo_rows *rows, const struct lpo_column *c, size_t row);
/* NULL: the table has no such column. */
const struct lpo_column *lpo_table_column(const struct lpo_table_kind *kind, const char *key);
/* The type of a column as SQLite knows it: "INTEGER", "REAL", "TEXT". */
const char *lpo_table_sql_type(enum lpo_cell_type type);

/* One getter: CELL(name, type of a row, its value), with `r` the row and `rows` the table, where
 * the rows are an array at `at`. */
#define LPO_CELL(name, type, value)                                                                \
    static struct lpo_cell name(const struct lpo_rows *rows, size_t row)                           \
    {                                                                                              \
        const type *r = (const type *)rows->at + row;                                              \
        (void)r;                                                                                   \
        return value;                                                                              \
    }

static inline struct lpo_cell lpo_cell_unknown(void)
{
    return (struct lpo_cell){ 0 };
}

static inline struct lpo_cell lpo_cell_whole(int64_t v)
{
    return (struct lpo_cell){ .whole = v, .real = (double)v, .how = LPO_COMPUTED };
}

static inline struct lpo_cell lpo_cell_count(uint64_t v)
{
    return lpo_cell_whole(v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

static inline struct lpo_cell lpo_cell_whole_if(bool known, int64_t v)
{
    return known ? lpo_cell_whole(v) : lpo_cell_unknown();
}

struct lpo_cell lpo_cell_measure(struct lpo_measure m);    /* not finite: unknown */
struct lpo_cell lpo_cell_share(double part, double whole); /* of nothing: unknown */
struct lpo_cell lpo_cell_text(const char *text);           /* NULL: unknown */
struct lpo_cell lpo_cell_textn(const char *text, size_t len);
/* What is in the scratch of the rows. */
struct lpo_cell lpo_cell_scratch(const struct lpo_rows *rows);
/* The scratch, emptied. */
struct lpo_str *lpo_table_scratch(const struct lpo_rows *rows);
