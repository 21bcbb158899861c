/* SPDX-License-Identifier: Apache-2.0 */
/* Plain text for a terminal: aligned columns, trees by indentation. */
#include <string.h>

#include "report/doc/doc.h"
#include "util/str.h"
#include "util/visible.h"
#include "writer/writer.h"

enum { LONGEST_NAME = 100 };

/* Every cell as text, and the width of every column. */
struct grid {
    struct lpo_str *cells;
    size_t *widths;
    size_t rows, columns;
};

static void add_cell(struct lpo_str *out, const struct lpo_column *column,
                     const struct lpo_doc_cell *cell)
{
    if (column->type != LPO_CELL_TEXT || cell->how == LPO_UNKNOWN) {
        lpo_writer_cell(column, cell, out);
        return;
    }
    for (unsigned i = 0; i < cell->indent && i < 32; i++)
        lpo_str_add(out, "  ");
    lpo_visible_add(out, cell->text, cell->len, LONGEST_NAME);
}

/* Two passes: a column is as wide as its widest cell, which is known only after all are printed. */
static void grid_fill(struct grid *g, const struct lpo_table *t)
{
    g->rows = lpo_doc_table_rows(t) + 1;
    g->columns = t->ncolumns;
    g->cells = lpo_xcalloc(g->rows * g->columns, sizeof *g->cells);
    g->widths = lpo_xcalloc(g->columns, sizeof *g->widths);
    for (size_t i = 0; i < g->rows * g->columns; i++) {
        size_t c = i % g->columns, width;

        if (i < g->columns)
            lpo_str_add(&g->cells[i], t->columns[c].title);
        else
            add_cell(&g->cells[i], &t->columns[c], &t->cells.at[i - g->columns]);
        width = lpo_visible_width(lpo_str_text(&g->cells[i]), g->cells[i].len);
        if (width > g->widths[c])
            g->widths[c] = width;
    }
}

static void grid_free(struct grid *g)
{
    for (size_t i = 0; i < g->rows * g->columns; i++)
        lpo_str_free(&g->cells[i]);
    free(g->cells);
    free(g->widths);
}

static void pad(struct lpo_str *out, size_t n)
{
    while (n--)
        lpo_str_addc(out, ' ');
}

static void write_row(const struct grid *g, const struct lpo_table *t, size_t r,
                      struct lpo_str *out)
{
    for (size_t c = 0; c < g->columns; c++) {
        const struct lpo_str *cell = &g->cells[r * g->columns + c];
        size_t room = g->widths[c] - lpo_visible_width(lpo_str_text(cell), cell->len);
        bool left = t->columns[c].type == LPO_CELL_TEXT;

        if (c)
            lpo_str_add(out, "  ");
        if (!left)
            pad(out, room);
        lpo_str_addn(out, lpo_str_text(cell), cell->len);
        if (left && c + 1 < g->columns)
            pad(out, room);
    }
    lpo_str_addc(out, '\n');
}

static void write_table(const struct lpo_table *t, struct lpo_str *out)
{
    struct grid g = { 0 };

    if (t->title[0])
        lpo_str_addf(out, "%s\n", t->title);
    if (lpo_doc_table_rows(t) == 0) {
        lpo_str_add(out, "(none)\n\n");
        return;
    }
    grid_fill(&g, t);
    for (size_t r = 0; r < g.rows; r++)
        write_row(&g, t, r, out);
    grid_free(&g);
    if (t->total_rows > lpo_doc_table_rows(t))
        lpo_str_addf(out, "… %zu more\n", t->total_rows - lpo_doc_table_rows(t));
    lpo_str_addc(out, '\n');
}

static void write_item(const struct lpo_item *item, bool last_fact, struct lpo_str *out)
{
    if (item->kind == LPO_ITEM_TABLE) {
        write_table(item->table, out);
    } else if (item->kind == LPO_ITEM_FACT) {
        lpo_str_addf(out, "%s: ", item->column.title);
        add_cell(out, &item->column, &item->cell);
        lpo_str_add(out, last_fact ? "\n\n" : "\n");
    } else if (item->kind == LPO_ITEM_NOTE || item->kind == LPO_ITEM_PARAGRAPH) {
        if (item->kind == LPO_ITEM_NOTE)
            lpo_str_add(out, item->level == LPO_NOTE_WARNING ? "warning: " : "note: ");
        lpo_visible_add(out, item->text, strlen(item->text), 0);
        lpo_str_add(out, item->kind == LPO_ITEM_NOTE ? "\n" : "\n\n");
    }
}

static void text_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    for (size_t i = 0; i < doc->sections.len; i++) {
        const struct lpo_section *s = doc->sections.at[i];

        if (s->title[0])
            lpo_str_addf(out, "%s\n\n", s->title);
        for (size_t k = 0; k < s->items.len; k++)
            write_item(&s->items.at[k],
                       k + 1 == s->items.len || s->items.at[k + 1].kind != LPO_ITEM_FACT, out);
    }
    while (out->len > 1 && out->at[out->len - 1] == '\n' && out->at[out->len - 2] == '\n')
        out->at[--out->len] = '\0';
}

const struct lpo_writer lpo_writer_text = {
    .name = "text",
    .summary = "aligned columns for a terminal",
    .kind = "run",
    .file = "report.txt",
    .write = text_write,
};
