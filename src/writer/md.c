/* SPDX-License-Identifier: Apache-2.0 */
/* Markdown: GitHub's tables, with everything that came from a program escaped. */
#include <ctype.h>

#include "report/doc/doc.h"
#include "writer/for_people.h"
#include "writer/layout.h"
#include "writer/shorten.h"
#include "writer/writer.h"

enum { LONGEST_NAME = 160 };

/* GitHub gives a page 1,012 px, 948 px of them to a table. A character takes about 8 px and each
 * cell 27 px more: within 120 characters, of which a column takes 4, no row wraps. */
static const struct lpo_writer_room page = { .total = 120, .between = 4, .longest = LONGEST_NAME };

/* How the document is written. */
struct md {
    struct lpo_str *out;
    struct lpo_writer_room room;
    bool is_short;       /* tables are cut, details are left out */
    const char *to_top;  /* from this page to the folder of the report: "" or "../" */
    const char *chapter; /* the page of the chapter at hand */
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

/* Below a table: what it leaves out, and where that is. */
static void write_rest(const struct md *w, const struct lpo_table *t,
                       const struct lpo_writer_short *cut)
{
    size_t rows = lpo_doc_table_rows(t), all = t->total_rows > rows ? t->total_rows : rows;

    if (cut->left_out) {
        lpo_str_addf(w->out, "\n%zu of %zu rows", rows - cut->left_out, all);
        if (cut->rest >= 0 && all == rows)
            lpo_str_addf(w->out, "; the others are %s%.1f\xc2\xa0%% together",
                         cut->rest < 0.0005 ? "below " : "",
                         cut->rest < 0.0005 ? 0.1 : 100 * cut->rest);
        lpo_str_addf(w->out, ": [%s](%s)\n", w->chapter, w->chapter);
    } else if (all > rows && w->is_short && w->chapter && strncmp(w->chapter, "details/", 8) != 0) {
        lpo_str_addf(w->out, "\n%zu of %zu rows: [%s](%s)\n", rows, all, w->chapter, w->chapter);
    } else if (all > rows) {
        lpo_str_addf(w->out, "\n%zu of %zu rows are shown; the JSON report has all.\n", rows, all);
    }
}

static void write_rows(const struct md *w, const struct lpo_table *t)
{
    size_t rows = lpo_doc_table_rows(t);
    struct lpo_writer_layout l = lpo_writer_layout(t, rows, &w->room);
    struct lpo_table fit;

    lpo_writer_fit_names(t, &l, &fit);
    write_head(t, &l, w->out);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < t->ncolumns; c++) {
            if (!l.widths[c])
                continue;
            lpo_str_add(w->out, "| ");
            lpo_writer_add_cell(&style, w->out, &t->columns[c], lpo_doc_table_cell(&fit, r, c),
                                l.widths[c]);
            lpo_str_addc(w->out, ' ');
        }
        lpo_str_add(w->out, "|\n");
    }
    lpo_vec_free(&fit.cells);
    lpo_writer_layout_free(&l);
}

static void write_table(const struct md *w, const struct lpo_table *t)
{
    struct lpo_writer_short cut = { 0 };
    struct lpo_table shown;

    if (w->is_short && t->detail)
        return;
    write_title(t->title, w->out);
    if (!lpo_doc_table_rows(t)) {
        lpo_str_add(w->out, "(none)\n\n");
        return;
    }
    if (w->is_short && t->least_rows != SIZE_MAX) {
        cut = lpo_writer_shorten(t, &shown);
        write_rows(w, &shown);
        lpo_vec_free(&shown.cells);
    } else {
        write_rows(w, t);
    }
    write_rest(w, t, &cut);
    lpo_str_addc(w->out, '\n');
}

/* Bars become a small table; plots are pictures beside the page (writer/svg.c); lanes are left to
 * other writers. */
static void write_figure(const struct md *w, const struct lpo_figure *f)
{
    struct lpo_str *out = w->out;

    if ((f->kind == LPO_FIG_SCATTER || f->kind == LPO_FIG_STACKED || f->kind == LPO_FIG_HEAT) &&
        f->points.len) {
        lpo_str_add(out, "![");
        add_escaped(out, f->title, strlen(f->title), 0);
        lpo_str_addf(out, "](%sfigures/%s.svg)\n\n", w->to_top, f->id);
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
        write_figure(w, item->figure);
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
    return s->detail && ((const struct md *)writer)->is_short;
}

static const struct lpo_writer_style style = {
    .indent = "&emsp;",
    .skip = left_out,
    .name = add_escaped,
    .number = add_number,
    .heading = write_heading,
    .item = write_item,
};

/* A chapter: the section at `first` and those below it. One past its last. */
static size_t chapter_end(const struct lpo_doc *doc, size_t first)
{
    size_t end = first + 1;

    while (end < doc->sections.len && doc->sections.at[end]->level > 1)
        end++;
    return end;
}

static bool has_more(const struct lpo_section *s)
{
    bool more = s->detail;

    for (size_t i = 0; i < s->items.len && !more; i++) {
        const struct lpo_table *t = s->items.at[i].table;
        struct lpo_table shown;

        if (!t || t->least_rows == SIZE_MAX)
            continue;
        more = t->detail || lpo_writer_shorten(t, &shown).left_out > 0 ||
               (s->page && t->total_rows > lpo_doc_table_rows(t));
        if (!t->detail)
            lpo_vec_free(&shown.cells);
    }
    return more;
}

/* The page of a chapter; NULL: the report has all of it. */
static const char *chapter_page(const struct lpo_doc *doc, size_t first)
{
    const struct lpo_section *s = doc->sections.at[first];
    size_t same = 1;
    bool more = false;

    for (size_t i = first; i < chapter_end(doc, first); i++)
        more |= has_more(doc->sections.at[i]);
    if (!doc->is_short || !more)
        return NULL;
    if (s->page)
        return s->page;
    for (size_t i = 0; i < first; i++)
        same += doc->sections.at[i]->level == 1 && strcmp(doc->sections.at[i]->id, s->id) == 0;
    return lpo_arena_printf(doc->arena, same > 1 ? "details/%s-%zu.md" : "details/%s.md", s->id,
                            same);
}

/* What other pages have. */
static void write_links(const struct md *w, const struct lpo_doc *doc)
{
    const char *before = "\nMore: ";

    for (size_t i = 0; i < doc->sections.len; i = chapter_end(doc, i)) {
        const char *path = doc->is_short ? chapter_page(doc, i) : NULL;

        if (!path)
            continue;
        lpo_str_addf(w->out, "%s[%s](%s)", before, doc->sections.at[i]->title, path);
        before = ", ";
    }
    if (before[0] == ',')
        lpo_str_add(w->out, ".\n");
}

/* Chapters from `first` to before `end`. */
static void write_chapters(struct md *w, const struct lpo_doc *doc, size_t first, size_t end)
{
    for (size_t i = first, next; i < end; i = next) {
        struct lpo_doc part = *doc;

        next = i + 1;
        while (next < end && doc->sections.at[next]->level > 1)
            next++;
        w->chapter = w->is_short ? chapter_page(doc, i) : NULL;
        part.sections.at = doc->sections.at + i;
        part.sections.len = next - i;
        lpo_writer_add_sections(&style, w, &part, w->out);
        if (next < end)
            lpo_str_addc(w->out, '\n');
    }
}

static struct md writer_for(const struct lpo_doc *doc, struct lpo_str *out)
{
    struct md w = { .out = out, .is_short = doc->is_short, .to_top = "" };

    if (!doc->whole)
        w.room = page;
    if (!doc->whole && doc->width > page.total)
        w.room.total = doc->width;
    return w;
}

static void md_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    struct md w = writer_for(doc, out);

    if (doc->title[0]) {
        lpo_str_add(out, "# ");
        add_escaped(out, doc->title, strlen(doc->title), LONGEST_NAME);
        lpo_str_add(out, "\n\n");
    }
    write_chapters(&w, doc, 0, doc->sections.len);
    write_links(&w, doc);
}

/* A chapter alone and whole. */
static const char *md_write_chapter(const struct lpo_doc *doc, size_t first, struct lpo_str *out)
{
    struct md w = writer_for(doc, out);
    const struct lpo_section *s = doc->sections.at[first];
    const char *path = s->level == 1 && !s->page ? chapter_page(doc, first) : NULL;

    if (!path)
        return NULL;
    w.is_short = false;
    w.to_top = "../";
    lpo_str_add(out, "[");
    add_escaped(out, doc->title, strlen(doc->title), LONGEST_NAME);
    lpo_str_add(out, "](../report.md)\n\n");
    write_chapters(&w, doc, first, chapter_end(doc, first));
    return path;
}

const struct lpo_writer lpo_writer_md = {
    .name = "md",
    .summary = "Markdown with GitHub's tables",
    .kind = "run",
    .file = "report.md",
    .write = md_write,
    .chapter = md_write_chapter,
};
