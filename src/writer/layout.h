/* SPDX-License-Identifier: Apache-2.0 */
/* writer/layout.h - how a table fits the width that people have.
 *
 * Columns without any value are left out, and long names are cut; where that is not enough, columns
 * that are marked as minor are left out, too. Numbers are never cut. JSON and CSV have everything.
 */
#pragma once

#include "util/base.h"

struct lpo_doc_cell;
struct lpo_table;

/* In characters. */
struct lpo_writer_room {
    size_t total;   /* 0: no limit */
    size_t between; /* what each column takes besides its text */
    size_t longest; /* of a name, however much room there is */
};

struct lpo_writer_layout {
    size_t *widths; /* per column; 0: left out */
    size_t columns;
};

/* Of the first `rows` rows. The caller frees it. */
struct lpo_writer_layout lpo_writer_layout(const struct lpo_table *t, size_t rows,
                                           const struct lpo_writer_room *room);
void lpo_writer_layout_free(struct lpo_writer_layout *l);
bool lpo_writer_layout_last(const struct lpo_writer_layout *l, size_t column);

/* The table with names that are too wide for the layout cut in the middle, where they do not
 * differ. `out` borrows all but its cells: lpo_vec_free(). */
void lpo_writer_fit_names(const struct lpo_table *t, const struct lpo_writer_layout *l,
                          struct lpo_table *out);
/* A name made safe, in `width` characters; 0: whole. */
void lpo_writer_add_name(struct lpo_str *out, const char *text, size_t len, size_t width);
/* Lines of whole words for text that begins in `column`, those after the first begin in `indent`; a
 * number stays with its unit. A word that is longer than a line of `total` (0: no end) stands
 * alone. */
void lpo_writer_add_wrapped(struct lpo_str *out, const char *text, size_t column, size_t indent,
                            size_t total);
/* Levels of indentation that leave room for a name in `width` characters. */
unsigned lpo_writer_layout_indent(const struct lpo_doc_cell *cell, size_t width);
/* "12 ms" must not be parted at the end of a line: with a space that does not break. Only between a
 * number and a unit, as in sentences. */
void lpo_writer_bind_numbers(struct lpo_str *out, const char *text, size_t len);
