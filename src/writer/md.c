/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown: GitHub's tables, with everything that came from a program escaped. */
#include <ctype.h>
#include <string.h>

#include "report/doc/doc.h"
#include "util/str.h"
#include "util/visible.h"
#include "writer/writer.h"

enum { LONGEST_NAME = 160 };

static bool word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Underscores inside words (most kernel names) mean nothing in Markdown and stay readable. */
static bool needs_backslash(const char *at, size_t i, size_t len)
{
    if (at[i] == '_')
        return !(i > 0 && i + 1 < len && word(at[i - 1]) && word(at[i + 1]));
    return strchr("\\`*[]|~$", at[i]) != NULL;
}

static void add_escaped(struct lpo_str *out, const char *text, size_t len, size_t longest)
{
    LPO_STR shown = { 0 };

    lpo_visible_add(&shown, text, len, longest);
    for (size_t i = 0; i < shown.len; i++) {
        char c = shown.at[i];

        if (c == '<')
            lpo_str_add(out, "&lt;");
        else if (c == '&')
            lpo_str_add(out, "&amp;");
        else {
            if (needs_backslash(shown.at, i, shown.len))
                lpo_str_addc(out, '\\');
            lpo_str_addc(out, c);
        }
    }
}

static void add_cell(struct lpo_str *out, const struct lpo_column *column,
                     const struct lpo_doc_cell *cell)
{
    if (column->type != LPO_CELL_TEXT || cell->how == LPO_UNKNOWN) {
        lpo_writer_cell(column, cell, out);
        return;
    }
    for (unsigned i = 0; i < cell->indent && i < 32; i++)
        lpo_str_add(out, "&emsp;");
    add_escaped(out, cell->text, cell->len, LONGEST_NAME);
}

static void write_table(const struct lpo_table *t, struct lpo_str *out)
{
    size_t rows = lpo_doc_table_rows(t);

    if (t->title[0]) {
        lpo_str_add(out, "**");
        add_escaped(out, t->title, strlen(t->title), 0);
        lpo_str_add(out, "**\n\n");
    }
    if (rows == 0) {
        lpo_str_add(out, "(none)\n\n");
        return;
    }
    for (size_t c = 0; c < t->ncolumns; c++)
        lpo_str_addf(out, "| %s ", t->columns[c].title);
    lpo_str_add(out, "|\n");
    for (size_t c = 0; c < t->ncolumns; c++)
        lpo_str_add(out, t->columns[c].type == LPO_CELL_TEXT ? "|---" : "|---:");
    lpo_str_add(out, "|\n");
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < t->ncolumns; c++) {
            lpo_str_add(out, "| ");
            add_cell(out, &t->columns[c], lpo_doc_table_cell(t, r, c));
            lpo_str_addc(out, ' ');
        }
        lpo_str_add(out, "|\n");
    }
    if (t->total_rows > rows)
        lpo_str_addf(out, "\n%zu of %zu rows are shown; the JSON report has all.\n", rows,
                     t->total_rows);
    lpo_str_addc(out, '\n');
}

/* Bars become a small table; plots are pictures beside the page (writer/svg.h); lanes are left to
 * other writers. */
static void write_figure(const struct lpo_figure *f, struct lpo_str *out)
{
    if ((f->kind == LPO_FIG_SCATTER || f->kind == LPO_FIG_STACKED) && f->points.len) {
        lpo_str_add(out, "![");
        add_escaped(out, f->title, strlen(f->title), 0);
        lpo_str_addf(out, "](figures/%s.svg)\n\n", f->id);
    }
    if (f->kind != LPO_FIG_BARS || f->points.len == 0)
        return;
    lpo_str_add(out, "**");
    add_escaped(out, f->title, strlen(f->title), 0);
    lpo_str_add(out, "**\n\n");
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *p = &f->points.at[i];
        int bar = (int)(p->y / 2.5 + 0.5); /* bars are shares in percent: 40 characters are all */

        lpo_str_add(out, "- ");
        add_escaped(out, p->label, strlen(p->label), LONGEST_NAME);
        lpo_str_addf(out, " %.1f %% ", p->y);
        for (int k = 0; k < bar && k < 40; k++)
            lpo_str_add(out, "\xe2\x96\x88");
        lpo_str_addc(out, '\n');
    }
    lpo_str_addc(out, '\n');
}

static void write_item(const struct lpo_item *item, bool last_fact, struct lpo_str *out)
{
    switch (item->kind) {
    case LPO_ITEM_PARAGRAPH:
        add_escaped(out, item->text, strlen(item->text), 0);
        lpo_str_add(out, "\n\n");
        break;
    case LPO_ITEM_NOTE:
        lpo_str_add(out, item->level == LPO_NOTE_WARNING ? "> **Warning:** " : "> Note: ");
        add_escaped(out, item->text, strlen(item->text), 0);
        lpo_str_add(out, "\n\n");
        break;
    case LPO_ITEM_FACT:
        lpo_str_addf(out, "- %s: ", item->column.title);
        add_cell(out, &item->column, &item->cell);
        lpo_str_add(out, last_fact ? "\n\n" : "\n");
        break;
    case LPO_ITEM_TABLE:
        write_table(item->table, out);
        break;
    case LPO_ITEM_FIGURE:
        write_figure(item->figure, out);
        break;
    }
}

static void md_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    if (doc->title[0]) {
        lpo_str_add(out, "# ");
        add_escaped(out, doc->title, strlen(doc->title), LONGEST_NAME);
        lpo_str_add(out, "\n\n");
    }
    for (size_t i = 0; i < doc->sections.len; i++) {
        const struct lpo_section *s = doc->sections.at[i];

        if (s->title[0]) {
            for (int k = 0; k <= s->level && k < 6; k++)
                lpo_str_addc(out, '#');
            lpo_str_addc(out, ' ');
            add_escaped(out, s->title, strlen(s->title), LONGEST_NAME);
            lpo_str_add(out, "\n\n");
        }
        for (size_t k = 0; k < s->items.len; k++)
            write_item(&s->items.at[k],
                       k + 1 == s->items.len || s->items.at[k + 1].kind != LPO_ITEM_FACT, out);
    }
    while (out->len > 1 && out->at[out->len - 1] == '\n' && out->at[out->len - 2] == '\n')
        out->at[--out->len] = '\0';
}

const struct lpo_writer lpo_writer_md = {
    .name = "md",
    .summary = "Markdown with GitHub's tables",
    .kind = "run",
    .file = "report.md",
    .write = md_write,
};
