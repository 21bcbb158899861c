/* SPDX-License-Identifier: Apache-2.0 */
/* writer/writer.h - the formats a document can be written in: a row each.
 *
 * To add one: write <format>.c with a `const struct lpo_writer lpo_writer_<format>`, name it in the
 * table of writer.c, and say in docs/report.md what it leaves out. */
#pragma once

#include "util/base.h"

struct lpo_column;
struct lpo_doc;
struct lpo_doc_cell;
struct lpo_figure;
struct lpo_file_queue;
struct lpo_json_writer;
struct lpo_record;
struct lpo_table;

struct lpo_writer {
    const char *name;    /* "md": the word of report.formats and --format */
    const char *summary; /* for people */
    const char *kind;    /* the document of a run that it writes: "run", "page" or "timeline";
                          * "diff": it writes none of them */
    const char *file; /* what it makes of it: "report.md"; "figures/%s.svg", of a figure or table */
    bool records;     /* shows the records of a document; the others show its sections alone */
    bool streams;     /* only adds to what it wrote, so that it can go out in pieces */
    bool always;      /* made with every report, whatever report.formats says */
    /* The whole document as bytes; NULL where `draw` makes a file of each figure. */
    void (*write)(const struct lpo_doc *doc, struct lpo_str *out);
    /* One figure as bytes; false where this kind of figure is left to other writers. */
    bool (*draw)(const struct lpo_figure *f, struct lpo_str *out);
    /* One table as bytes, for a format whose files hold one each; `write` is then for a stream. */
    void (*print)(const struct lpo_table *t, struct lpo_str *out);
    /* Beside `write`: a page for the chapter that begins at this section, and its file; NULL: none.
     */
    const char *(*chapter)(const struct lpo_doc *doc, size_t first, struct lpo_str *out);
};

extern const struct lpo_writer lpo_writer_md, lpo_writer_json, lpo_writer_csv, lpo_writer_text,
    lpo_writer_perfetto, lpo_writer_svg, lpo_writer_html, lpo_writer_junit, lpo_writer_github;

const struct lpo_writer *lpo_writer_find(const char *name); /* NULL: no such format */
const struct lpo_writer *lpo_writer_at(size_t i);           /* NULL past the last */

/* What the text of a document with colour has before and after a part of it. Names cannot hold
 * these: they are control characters, which every writer shows as escapes. */
enum lpo_writer_mark { LPO_MARK_BOLD = 1, LPO_MARK_DIM, LPO_MARK_WARN, LPO_MARK_BAR, LPO_MARK_END };

/* Writes the document to a file, replacing it atomically. */
int lpo_writer_write(const struct lpo_doc *doc, const struct lpo_writer *writer, const char *path,
                     struct lpo_err *err);
/* <dir>/<name>.md and <dir>/<name>.json; the folder is made. */
int lpo_writer_write_pair(const struct lpo_doc *doc, const char *dir, const char *name,
                          struct lpo_err *err);

/* The same, left to a queue (util/file_queue.h) that writes them while the next is made. */
void lpo_writer_queue(const struct lpo_doc *doc, const struct lpo_writer *writer, const char *path,
                      struct lpo_file_queue *queue);
/* The writer's own file, or a file for each figure, below `dir`. */
int lpo_writer_queue_into(const struct lpo_doc *doc, const struct lpo_writer *writer,
                          const char *dir, struct lpo_file_queue *queue, struct lpo_err *err);

/* The file of the `i`th table of a document, below the folder of the report; NULL past the last.
 * Tables of the same name are numbered. */
const char *lpo_writer_table_file(const struct lpo_doc *doc, const struct lpo_writer *writer,
                                  size_t i, struct lpo_arena *arena, const struct lpo_table **t);

/* The members of a record, inside an object that is open. */
void lpo_writer_record_json(struct lpo_json_writer *w, const struct lpo_record *r);

/* A cell as people read it: "1.234 ms", "12.3 %", "n/a"; a '~' before what is estimated. Text comes
 * out unescaped. */
void lpo_writer_cell(const struct lpo_column *column, const struct lpo_doc_cell *cell,
                     struct lpo_str *out);
/* One field of CSV, quoted where it has to be. */
void lpo_writer_add_csv_field(struct lpo_str *out, const char *text, size_t len);
