/* writer/writer.h - the formats a document can be written in.
 *
 * To add one: write <format>.c with a `const struct lpo_writer lpo_writer_<format>`, name it in the
 * table of writer.c, and say in docs/report.md what it leaves out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_doc_cell;
struct lpo_column;
struct lpo_doc;
struct lpo_err;
struct lpo_str;
struct lpo_table;

struct lpo_writer {
    const char *name; /* "md" */
    const char *ext;
    const char *summary;
    void (*write)(const struct lpo_doc *doc, struct lpo_str *out);
};

extern const struct lpo_writer lpo_writer_md, lpo_writer_json, lpo_writer_csv, lpo_writer_text,
    lpo_writer_perfetto;

const struct lpo_writer *lpo_writer_find(const char *name); /* NULL: no such format */
const struct lpo_writer *lpo_writer_at(size_t i);           /* NULL past the last */

/* Writes the document to a file, replacing it atomically. */
int lpo_writer_write(const struct lpo_doc *doc, const struct lpo_writer *writer, const char *path,
                     struct lpo_err *err);

/* A cell as people read it: "1.234 ms", "12.3 %", "n/a"; a '~' before what is estimated. Text comes
 * out unescaped. */
void lpo_writer_cell(const struct lpo_column *column, const struct lpo_doc_cell *cell,
                     struct lpo_str *out);
