/* SPDX-License-Identifier: Apache-2.0 */
/* report/doc/doc.h - one typed document for people and machines, written in many formats.
 *
 * For people a document is a list of sections; a section holds paragraphs, notes, facts, tables and
 * figures in the order in which they were added. Cells keep their type (nanoseconds stay integers),
 * so that Markdown can print "1.234 ms" where JSON prints 1234000. For machines it holds one
 * record, `data` (report/doc/record.h). Text may come from the profiled program and is data
 * everywhere: writers escape it.
 *
 *     static const struct lpo_column columns[] = {
 *         { "kernel", "Kernel", LPO_CELL_TEXT, NULL }, { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
 *     };
 *     struct lpo_doc *doc = lpo_doc_create("top", "Top kernels");
 *     struct lpo_table *t;
 *     lpo_doc_section(doc, "top", "Top kernels", 1);
 *     t = lpo_doc_table(doc, "kernels", "By GPU time", columns, 2);
 *     lpo_doc_row(t, name, ns);        cells fill a row from the left; a full row starts the next
 *     lpo_doc_note(doc, LPO_NOTE_INFO, "%zu kernels were not shown", n);
 *
 * The document owns copies of everything but `columns`, which must outlive it (static tables do).
 */
#pragma once

#include "report/doc/record.h"
#include "table/table.h"
#include "util/each.h"

#define LPO_REPORT_SCHEMA "lpo.report/3"

const char *lpo_doc_cell_type_name(enum lpo_cell_type type); /* "text", "count", "ns", … */

struct lpo_doc_cell {
    const char *text; /* LPO_CELL_TEXT; NUL-terminated */
    size_t len;
    int64_t whole;    /* COUNT, NS, FLAG */
    double real;      /* BYTES, MEASURE; PERCENT: the share of 1 */
    enum lpo_how how; /* LPO_UNKNOWN: prints as n/a and null */
    unsigned indent;  /* TEXT: level in a tree */
    const char *full; /* TEXT: what machines get instead, the whole path; or NULL */
};

enum { LPO_DOC_REST = 2000 }; /* rows that are kept of those that were cut */

struct lpo_table {
    const char *id, *title; /* title may be "" */
    const struct lpo_column *columns;
    size_t ncolumns;
    LPO_VEC(struct lpo_doc_cell) cells; /* row-major */
    LPO_VEC(struct lpo_doc_cell) rest;  /* rows that were cut, for who can draw them as needed */
    struct lpo_arena *arena;            /* the document's */
    size_t total_rows;                  /* when only the first were shown; 0: all are here */
    /* Of a short page, which cuts tables where their rows stop mattering. */
    size_t least_rows; /* rows that stay in any case; 0: a few; SIZE_MAX: all */
    bool detail;       /* it stands on the page of its chapter alone */
};

size_t lpo_doc_table_rows(const struct lpo_table *t);
const struct lpo_doc_cell *lpo_doc_table_cell(const struct lpo_table *t, size_t row, size_t column);

/* The next cells of the table, values by their type (LPO_CELL in table/table.h); one of the wrong
 * type for its column is a mistake of the builder (checked). */
#define lpo_doc_row(t, ...)                                                                        \
    lpo_doc_row_cells(t, (const struct lpo_cell[]){ LPO_EACH(LPO_CELL, __VA_ARGS__) },             \
                      sizeof((const struct lpo_cell[]){ LPO_EACH(LPO_CELL, __VA_ARGS__) }) /       \
                          sizeof(struct lpo_cell))
struct lpo_doc_cell lpo_doc_shown_cell(struct lpo_arena *a, enum lpo_cell_type type,
                                       const struct lpo_cell *cell);
void lpo_doc_row_cells(struct lpo_table *t, const struct lpo_cell *cells, size_t count);

enum lpo_note_level { LPO_NOTE_INFO, LPO_NOTE_WARNING };

/* STACKED: points with one label are one bar, laid end to end. LINES: y over x as a curve. HEAT: a
 * cell at column x of the row `label`, as dark as y; `series` is the name of its column. */
enum lpo_figure_kind {
    LPO_FIG_BARS,
    LPO_FIG_SCATTER,
    LPO_FIG_LANES,
    LPO_FIG_STACKED,
    LPO_FIG_LINES,
    LPO_FIG_HEAT
};

struct lpo_point {
    const char *series, *label;
    double x, y;
};

/* A row of a timeline, "GPU 0 / stream 7". */
struct lpo_lane {
    const char *group, *name;
};

struct lpo_span {
    int64_t start_ns, end_ns;
    const char *name; /* owned by the document; equal names may share */
    uint32_t lane;
};

/* From a span of one lane to a span of another: a launch and what it started. */
struct lpo_arrow {
    int64_t from_ns, to_ns; /* inside the two spans */
    uint32_t from, to;      /* lanes */
};

/* A value from this moment on, drawn beside the lanes of a group. */
struct lpo_count {
    int64_t ns;
    double value;
    uint32_t lane;     /* any of the group */
    const char *title; /* what is counted; owned by the document, shared by all of one counter */
};

/* More about a span, shown when it is chosen. */
struct lpo_span_note {
    size_t span; /* into spans; notes stand in the order of their spans */
    const char *key, *text;
};

/* A picture as data: who draws it is the writer's business. */
struct lpo_figure {
    const char *id, *title;
    enum lpo_figure_kind kind;
    const char *x_title, *y_title; /* with units; may be NULL */
    bool percent;                  /* SCATTER: both axes are linear, 0 to 100; else logarithmic */
    LPO_VEC(struct lpo_point) points;
    LPO_VEC(struct lpo_lane) lanes;
    LPO_VEC(struct lpo_span) spans;
    LPO_VEC(struct lpo_arrow) arrows;
    LPO_VEC(struct lpo_count) counts;
    LPO_VEC(struct lpo_span_note) span_notes;
    struct lpo_arena *arena;
};

void lpo_doc_figure_point(struct lpo_figure *f, const char *series, const char *label, double x,
                          double y);
uint32_t lpo_doc_figure_lane(struct lpo_figure *f, const char *group, const char *name);
/* `name` is not copied: give text that lives as long as the document (lpo_doc_keep). */
void lpo_doc_figure_span(struct lpo_figure *f, uint32_t lane, const char *name, int64_t start_ns,
                         int64_t end_ns);

/* About the span that was added last; neither text is copied. NULL: nothing to say. */
void lpo_doc_figure_note(struct lpo_figure *f, const char *key, const char *text);

enum lpo_item_kind {
    LPO_ITEM_PARAGRAPH,
    LPO_ITEM_NOTE,
    LPO_ITEM_FACT,
    LPO_ITEM_TABLE,
    LPO_ITEM_FIGURE
};

struct lpo_item {
    enum lpo_item_kind kind;
    enum lpo_note_level level; /* NOTE */
    const char *text;          /* PARAGRAPH, NOTE */
    const char *key;           /* FACT: for machines */
    struct lpo_column column;  /* FACT: how to print the cell; title is its label */
    struct lpo_doc_cell cell;  /* FACT */
    struct lpo_table *table;
    struct lpo_figure *figure;
};

struct lpo_section {
    const char *id, *title;
    int level;        /* 1 is a chapter */
    bool detail;      /* of a short page: a page of its own, linked */
    const char *page; /* a page that has all of it anyway, "kernels.md"; NULL: none */
    LPO_VEC(struct lpo_item) items;
};

struct lpo_doc {
    const char *schema; /* first member of its JSON: "lpo.report/3" */
    const char *kind;   /* "run", "regions", "top", "static" */
    const char *title;
    bool data_only;    /* its JSON is `data` alone; the sections say the same to people */
    bool whole;        /* nothing is cut for people, neither long names nor wide tables */
    size_t width;      /* in characters; 0: 100 on a terminal, 120 on a page */
    bool bars, colour; /* beside shares; marks for them (writer/writer.h) */
    bool is_short;     /* its Markdown has what matters; the rest is on pages that it links */
    LPO_VEC(struct lpo_section *) sections;
    bool served; /* its page may ask who served it for more (`lpo view`) */
    struct lpo_record *data;
    struct lpo_record *page; /* what the views of its page are drawn from; NULL: no page is made */
    struct lpo_arena *arena;
};

/* A report: its JSON has the sections, then the members of `data`. */
struct lpo_doc *lpo_doc_create(const char *kind, const char *title);
/* A document whose JSON has the members of `data` alone, under this schema (not copied). */
struct lpo_doc *lpo_doc_create_data(const char *schema, const char *kind, const char *title);
void lpo_doc_destroy(struct lpo_doc *doc); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_doc);

/* A copy of text that lives as long as the document. */
const char *lpo_doc_keep(struct lpo_doc *doc, const char *text, size_t len);

/* What follows goes into this section. */
void lpo_doc_section(struct lpo_doc *doc, const char *id, const char *title, int level);
/* The section begun last is a detail; all of it is on that page. */
void lpo_doc_section_is_detail(struct lpo_doc *doc);
void lpo_doc_section_page(struct lpo_doc *doc, const char *page);
void lpo_doc_paragraph(struct lpo_doc *doc, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void lpo_doc_note(struct lpo_doc *doc, enum lpo_note_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
struct lpo_table *lpo_doc_table(struct lpo_doc *doc, const char *id, const char *title,
                                const struct lpo_column *columns, size_t ncolumns);
/* A table of described rows: the first `most` of them (0: all), and the columns in `columns`, words
 * between spaces: "launches gpu_ns kernel=name:GPU_operation min_ns~2 sm_share?". Before a '='
 * stands another key than the column's own, after a ':' another title with '_' for spaces, after a
 * '~' another rank among the columns that are left out first. A column with a '?' at the end is
 * there where some row has a value for it, with a '+' where some value is above 0. NULL: all
 * columns. */
struct lpo_table *lpo_doc_table_of(struct lpo_doc *doc, const char *id, const char *title,
                                   const struct lpo_rows *rows, const char *columns, size_t most);
struct lpo_figure *lpo_doc_figure(struct lpo_doc *doc, const char *id, const char *title,
                                  enum lpo_figure_kind kind);
/* A "label: value" line: lpo_doc_fact(doc, "energy_j", "Energy", MEASURE("J"), joules). */
#define lpo_doc_fact(doc, key, label, type, value)                                                 \
    lpo_doc_add_fact(doc, key, label, LPO_TYPE_##type, LPO_CELL(value))
void lpo_doc_add_fact(struct lpo_doc *doc, const char *key, const char *label,
                      enum lpo_cell_type type, const char *unit, struct lpo_cell cell);

/* Described rows for machines: a list of records with the columns in `members`, in the words of
 * lpo_doc_table_of(), '?' and '+' of one row. "idle.host_ns=host_ns" is a member of a record "idle"
 * in it: members of one record stand together, and it is there where the first of them is. What
 * `rows` reads must live as long as the document. */
void lpo_doc_put_rows(struct lpo_record *to, const char *key, const struct lpo_rows *rows,
                      const char *members);
/* Adds to the record of row `i` what is no value of one column. */
typedef void lpo_doc_also(const struct lpo_rows *rows, size_t i, struct lpo_record *out);
void lpo_doc_put_rows_and(struct lpo_record *to, const char *key, const struct lpo_rows *rows,
                          const char *members, lpo_doc_also *also);
/* One row: its members in a record that is there. */
void lpo_doc_put_row(struct lpo_record *r, const struct lpo_rows *rows, size_t row,
                     const char *members);
