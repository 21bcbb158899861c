/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown: GitHub's tables, with everything that came from a program escaped. */
#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "report/doc/doc.h"
#include "util/str.h"
#include "util/visible.h"
#include "writer/for_people.h"
#include "writer/layout.h"
#include "writer/writer.h"

enum { LONGEST_NAME = 160, FEW_ROWS = 6 };

/* GitHub gives a page 1,012 px, 948 px of them to a table. A character takes about 8 px and each
 * cell 27 px more: within 120 characters, of which a column takes 4, no row wraps. */
static const struct lpo_writer_room page = { .total = 120, .between = 4, .longest = LONGEST_NAME };

/* How the document is written. */
struct md {
    struct lpo_str *out;
    const struct lpo_writer_room *room;
    long rows;      /* of each table, more than its least */
    bool half;      /* a table keeps half of its least */
    unsigned minor; /* sections of a higher one are left out */
};

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
    LPO_STR cut = { 0 };

    lpo_writer_add_name(&cut, text, len, longest);
    lpo_writer_bind_numbers(&shown, lpo_str_text(&cut), cut.len);
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

static void add_number(const struct lpo_column *column, const struct lpo_doc_cell *cell,
                       struct lpo_str *out)
{
    LPO_STR text = { 0 };

    lpo_writer_cell(column, cell, &text);
    lpo_writer_bind_numbers(out, lpo_str_text(&text), text.len);
}

static const struct lpo_writer_style style;

static void write_title(const char *title, struct lpo_str *out)
{
    if (!title[0])
        return;
    lpo_str_add(out, "**");
    add_escaped(out, title, strlen(title), LONGEST_NAME);
    lpo_str_add(out, "**\n\n");
}

static void write_head(const struct lpo_table *t, const struct lpo_writer_layout *l,
                       struct lpo_str *out)
{
    for (size_t c = 0; c < t->ncolumns; c++)
        if (l->widths[c])
            lpo_str_addf(out, "| %s ", t->columns[c].title);
    lpo_str_add(out, "|\n");
    for (size_t c = 0; c < t->ncolumns; c++)
        if (l->widths[c])
            lpo_str_add(out, t->columns[c].type == LPO_CELL_TEXT ? "|---" : "|---:");
    lpo_str_add(out, "|\n");
}

static size_t rows_shown(const struct md *w, const struct lpo_table *t)
{
    size_t rows = lpo_doc_table_rows(t), least = t->least_rows ? t->least_rows : FEW_ROWS;
    long most, fewest;

    if (t->least_rows == SIZE_MAX || w->rows == LONG_MAX)
        return rows;
    most = (long)least + w->rows;
    fewest = w->half && least > 1 ? (long)least / 2 : 1;
    most = most < fewest ? fewest : most;
    /* the line that says what was left out, and the empty one before it, take as much as two rows
     */
    return rows <= (size_t)most + 2 ? rows : (size_t)most;
}

static void write_table(const struct md *w, const struct lpo_table *t)
{
    struct lpo_str *out = w->out;
    size_t rows = rows_shown(w, t), all = lpo_doc_table_rows(t);
    struct lpo_writer_layout l;

    write_title(t->title, out);
    if (rows == 0) {
        lpo_str_add(out, "(none)\n\n");
        return;
    }
    l = lpo_writer_layout(t, rows, w->room);
    write_head(t, &l, out);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < t->ncolumns; c++) {
            if (!l.widths[c])
                continue;
            lpo_str_add(out, "| ");
            lpo_writer_add_cell(&style, out, &t->columns[c], lpo_doc_table_cell(t, r, c),
                                l.widths[c]);
            lpo_str_addc(out, ' ');
        }
        lpo_str_add(out, "|\n");
    }
    lpo_writer_layout_free(&l);
    all = t->total_rows > all ? t->total_rows : all;
    if (all > rows)
        lpo_str_addf(out, "\n%zu of %zu rows are shown; the JSON report has all.\n", rows, all);
    lpo_str_addc(out, '\n');
}

/* Bars become a small table; plots are pictures beside the page (writer/svg.c); lanes are left to
 * other writers. */
static void write_figure(const struct lpo_figure *f, struct lpo_str *out)
{
    if ((f->kind == LPO_FIG_SCATTER || f->kind == LPO_FIG_STACKED || f->kind == LPO_FIG_HEAT) &&
        f->points.len) {
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

static void write_item(const void *writer, const struct lpo_item *item, bool last_fact)
{
    const struct md *w = writer;
    struct lpo_str *out = w->out;

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
        lpo_writer_add_cell(&style, out, &item->column, &item->cell, LONGEST_NAME);
        lpo_str_add(out, last_fact ? "\n\n" : "\n");
        break;
    case LPO_ITEM_TABLE:
        write_table(w, item->table);
        break;
    case LPO_ITEM_FIGURE:
        write_figure(item->figure, out);
        break;
    }
}

static void write_heading(const void *writer, const struct lpo_section *s)
{
    const struct md *w = writer;

    for (int k = 0; k <= s->level && k < 6; k++)
        lpo_str_addc(w->out, '#');
    lpo_str_addc(w->out, ' ');
    add_escaped(w->out, s->title, strlen(s->title), LONGEST_NAME);
    lpo_str_add(w->out, "\n\n");
}

static bool left_out(const void *writer, const struct lpo_section *s)
{
    return s->minor > ((const struct md *)writer)->minor;
}

static const struct lpo_writer_style style = {
    .indent = "&emsp;",
    .skip = left_out,
    .name = add_escaped,
    .number = add_number,
    .heading = write_heading,
    .item = write_item,
};

static void write_left_out(const struct md *w, const struct lpo_doc *doc)
{
    const char *before = "\nLeft out, to keep this page short: ";

    for (size_t i = 0; i < doc->sections.len; i++)
        if (left_out(w, doc->sections.at[i])) {
            lpo_str_addf(w->out, "%s%s", before, doc->sections.at[i]->title);
            before = ", ";
        }
    if (before[0] == ',')
        lpo_str_add(w->out, ". The JSON report has all.\n");
}

static void write_doc(const struct md *w, const struct lpo_doc *doc)
{
    if (doc->title[0]) {
        lpo_str_add(w->out, "# ");
        add_escaped(w->out, doc->title, strlen(doc->title), LONGEST_NAME);
        lpo_str_add(w->out, "\n\n");
    }
    lpo_writer_add_sections(&style, w, doc, w->out);
    write_left_out(w, doc);
}

static size_t count_lines(const struct lpo_str *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->len; i++)
        n += text->at[i] == '\n';
    return n;
}

static size_t most_rows(const struct lpo_doc *doc)
{
    size_t most = 0;

    for (size_t i = 0; i < doc->sections.len; i++)
        for (size_t k = 0; k < doc->sections.at[i]->items.len; k++) {
            const struct lpo_item *item = &doc->sections.at[i]->items.at[k];
            size_t rows = item->kind == LPO_ITEM_TABLE ? lpo_doc_table_rows(item->table) : 0;

            most = rows > most ? rows : most;
        }
    return most;
}

static unsigned most_minor(const struct lpo_doc *doc)
{
    unsigned most = 0;

    for (size_t i = 0; i < doc->sections.len; i++)
        most = doc->sections.at[i]->minor > most ? doc->sections.at[i]->minor : most;
    return most;
}

static bool fits(struct md *w, const struct lpo_doc *doc, size_t before, long rows)
{
    w->out->len = before;
    w->rows = rows;
    write_doc(w, doc);
    return count_lines(w->out) <= doc->most_lines;
}

/* Where the page is too long, tables give up rows, all alike. One row of a table says little:
 * before they have fewer than half of their least, sections of details are left out. */
static void md_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    static const struct lpo_writer_room whole = { .longest = 0 };
    struct md w = { out, doc->whole ? &whole : &page, LONG_MAX, true, most_minor(doc) };
    long low = -(long)most_rows(doc), high = -low;
    size_t before = out->len;

    write_doc(&w, doc);
    if (!doc->most_lines || count_lines(out) <= doc->most_lines)
        return;
    while (!fits(&w, doc, before, low) && w.minor)
        w.minor--;
    w.half = count_lines(out) <= doc->most_lines;
    while (low < high) {
        long middle = low + (high - low + 1) / 2;

        if (fits(&w, doc, before, middle))
            low = middle;
        else
            high = middle - 1;
    }
    fits(&w, doc, before, low);
}

const struct lpo_writer lpo_writer_md = {
    .name = "md",
    .summary = "Markdown with GitHub's tables",
    .kind = "run",
    .file = "report.md",
    .write = md_write,
};
