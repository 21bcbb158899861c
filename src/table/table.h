/* SPDX-License-Identifier: Apache-2.0 */
/* table/table.h - typed rows with described columns.
 *
 * Events and results are tables. A table is a description (name, columns, what each means) and rows
 * that are read where they lie: nothing is copied until someone prints it. JSON, documents, SQL,
 * databases and docs/tables.md are views of the same description, so a new number is one row of it:
 *
 *     typedef struct lpo_operator operator_row;
 *     #define OPERATOR(X) \
 *         X(operator, calls, "Calls", COUNT, ADDS, "with these shapes", r->calls) \
 *         X(operator, gpu_ns, "GPU time", NS, ADDS, "of all of them", r->ns, .minor = 2)
 *     LPO_TABLE(operator, OPERATOR)
 *     const struct lpo_table_kind k = LPO_TABLE_KIND(operator, "operators", "What was called");
 */
#pragma once

#include "util/base.h"

struct lpo_rows;

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

/* A value of one row. Text in the scratch of the rows lives until the next cell with text is read.
 */
struct lpo_cell {
    const char *text; /* TEXT, LIST */
    size_t len;
    const char *shown; /* TEXT: what people get instead, a short name; NULL: the same */
    unsigned indent;   /* TEXT: level in a tree */
    int64_t whole;     /* COUNT, NS, FLAG */
    double real;       /* BYTES, MEASURE; PERCENT: the share */
    enum lpo_how how;  /* LPO_UNKNOWN: null, which is not 0 */
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

/* A list of columns becomes getters and a static array <t>_columns. Each line of the list is
 *
 *     X(t, key, title, type, role, meaning, value, …)
 *
 * with the table's word, an enum lpo_cell_type and an enum lpo_column_role without their prefixes
 * (MEASURE("B/s") with its unit), the value of row `i` of `rows` (a number, a text, a measure, or a
 * struct lpo_cell where it may be unknown), and further members of struct lpo_column. In the value
 * `r` is the row: an element of the array at `at` of type <t>_row, or what the function
 * <t>_of(rows, i) returns in tables made by LPO_TABLE_OF. */
#define LPO_TABLE(t, list)                                                                         \
    LPO_TABLE_ROWS(t)                                                                              \
    LPO_TABLE_OF(t, list)
#define LPO_TABLE_ROWS(t)                                                                          \
    static inline const t##_row *t##_of(const struct lpo_rows *rows, size_t i)                     \
    {                                                                                              \
        return (const t##_row *)rows->at + i;                                                      \
    }
#define LPO_TABLE_OF(t, list)                                                                      \
    list(LPO_TABLE_GETTER) static const struct lpo_column t##_columns[] = { list(                  \
        LPO_TABLE_COLUMN) };
#define LPO_TABLE_KIND(t, name, meaning)                                                           \
    {                                                                                              \
        name, meaning, t##_columns, sizeof t##_columns / sizeof *t##_columns                       \
    }

#define LPO_TABLE_GETTER(t, key, title, type, role, meaning, value, ...)                           \
    static struct lpo_cell t##_get_##key(const struct lpo_rows *rows, size_t i)                    \
    {                                                                                              \
        const __typeof__(t##_of(rows, i)) r = t##_of(rows, i);                                     \
        (void)r;                                                                                   \
        return LPO_CELL(value);                                                                    \
    }
#define LPO_TABLE_COLUMN(t, key, title, type, role_, meaning_, value, ...)                         \
    { #key,                                                                                        \
      title,                                                                                       \
      LPO_TYPE_##type,                                                                             \
      .meaning = meaning_,                                                                         \
      .get = t##_get_##key,                                                                        \
      .role = LPO_COLUMN_##role_,                                                                  \
      __VA_ARGS__ },

#define LPO_TYPE_TEXT          LPO_CELL_TEXT, NULL
#define LPO_TYPE_COUNT         LPO_CELL_COUNT, NULL
#define LPO_TYPE_NS            LPO_CELL_NS, NULL
#define LPO_TYPE_BYTES         LPO_CELL_BYTES, NULL
#define LPO_TYPE_PERCENT       LPO_CELL_PERCENT, NULL
#define LPO_TYPE_MEASURE(unit) LPO_CELL_MEASURE, unit
#define LPO_TYPE_FLAG          LPO_CELL_FLAG, NULL
#define LPO_TYPE_LIST          LPO_CELL_LIST, NULL

static inline struct lpo_cell lpo_cell_unknown(void)
{
    return (struct lpo_cell){ 0 };
}

static inline struct lpo_cell lpo_cell_same(struct lpo_cell c)
{
    return c;
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

static inline struct lpo_cell lpo_cell_flag(bool yes)
{
    return lpo_cell_whole(yes);
}

struct lpo_cell lpo_cell_measure(struct lpo_measure m);    /* not finite: unknown */
struct lpo_cell lpo_cell_real(double v);                   /* the same of a number */
struct lpo_cell lpo_cell_share(double part, double whole); /* of nothing: unknown */
struct lpo_cell lpo_cell_percent(struct lpo_measure m);    /* 0 … 100 */
struct lpo_cell lpo_cell_text(const char *text);           /* NULL: unknown */
struct lpo_cell lpo_cell_textn(const char *text, size_t len);
struct lpo_cell lpo_cell_tree(const char *text, unsigned indent); /* on this level */
/* `name` on this level for people (NULL: the same), `path` for machines. */
struct lpo_cell lpo_cell_path(const char *path, const char *name, unsigned indent);
/* What is in the scratch of the rows. */
struct lpo_cell lpo_cell_scratch(const struct lpo_rows *rows);
/* A value as a cell, by its type. */
#define LPO_CELL(v)                                                                                \
    _Generic((v),                                                                                  \
        struct lpo_cell: lpo_cell_same,                                                            \
        struct lpo_measure: lpo_cell_measure,                                                      \
        const char *: lpo_cell_text,                                                               \
        char *: lpo_cell_text,                                                                     \
        float: lpo_cell_real, \
        double: lpo_cell_real,                                                                     \
        size_t: lpo_cell_count,                                                                    \
        unsigned long long: lpo_cell_count,                                                        \
        default: lpo_cell_whole)(v)
/* The scratch, emptied. */
struct lpo_str *lpo_table_scratch(const struct lpo_rows *rows);
