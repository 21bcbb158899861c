/* SPDX-License-Identifier: Apache-2.0 */
/* writer/for_people.h - what the writers for people share: the way through a document, and cells.
 *
 * Markdown and the terminal differ in how they show a name, a number and a heading; in which order
 * things come, and where the last empty line goes, they do not. */
#pragma once

#include "util/base.h"

struct lpo_column;
struct lpo_doc;
struct lpo_doc_cell;
struct lpo_item;
struct lpo_section;

struct lpo_writer_style {
    const char *indent; /* one level of a tree */
    /* NULL: every section is written. */
    bool (*skip)(const void *writer, const struct lpo_section *s);
    void (*name)(struct lpo_str *out, const char *text, size_t len, size_t width);
    void (*number)(const struct lpo_column *column, const struct lpo_doc_cell *cell,
                   struct lpo_str *out);
    void (*heading)(const void *writer, const struct lpo_section *s); /* of one with a title */
    void (*item)(const void *writer, const struct lpo_item *item, bool last_fact);
};

/* A name in `width` characters with its indentation, or a number. */
void lpo_writer_add_cell(const struct lpo_writer_style *style, struct lpo_str *out,
                         const struct lpo_column *column, const struct lpo_doc_cell *cell,
                         size_t width);
/* Sections and items in their order; `out`, where they go, ends with one line end. `last_fact`: no
 * other fact follows, so the list ends. */
void lpo_writer_add_sections(const struct lpo_writer_style *style, const void *writer,
                             const struct lpo_doc *doc, struct lpo_str *out);
