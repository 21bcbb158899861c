/* SPDX-License-Identifier: Apache-2.0 */
/* Plain text for a terminal: aligned columns, trees by indentation. */

#include "report/doc/doc.h"
#include "util/visible.h"
#include "writer/for_people.h"
#include "writer/layout.h"
#include "writer/writer.h"

/* PROSE: the least room for a sentence in a column. */
enum { USUAL = 100, BAR = 8, PROSE = 30 };

struct text {
    struct lpo_str *out;
    const struct lpo_writer_room *room;
    bool bars, colour;
    bool whole;   /* nothing is cut */
    size_t prose; /* the column that is wrapped; SIZE_MAX: none */
};

static const struct lpo_writer_style style;

static void pad(struct lpo_str *out, size_t n)
{
    while (n--)
        lpo_str_addc(out, ' ');
}

static void mark(const struct text *w, enum lpo_writer_mark m)
{
    if (w->colour)
        lpo_str_addc(w->out, (char)m);
}

/* A share as a bar of eighths of a character. */
static void add_bar(const struct text *w, const struct lpo_doc_cell *cell)
{
    static const char *const parts[] = { " ",
                                         "\xe2\x96\x8f",
                                         "\xe2\x96\x8e",
                                         "\xe2\x96\x8d",
                                         "\xe2\x96\x8c",
                                         "\xe2\x96\x8b",
                                         "\xe2\x96\x8a",
                                         "\xe2\x96\x89",
                                         "\xe2\x96\x88" };
    double share = cell->how == LPO_UNKNOWN || !(cell->real > 0) ? 0 : cell->real;
    int eighths = share >= 1 ? 8 * BAR : (int)(share * 8 * BAR + 0.5);

    lpo_str_addc(w->out, ' ');
    mark(w, LPO_MARK_BAR);
    for (int i = 0; i < BAR; i++, eighths -= 8)
        lpo_str_add(w->out, parts[eighths <= 0 ? 0 : eighths < 8 ? eighths : 8]);
    mark(w, LPO_MARK_END);
}

/* The column beside which there is room for a bar; SIZE_MAX: none. */
static size_t find_bar(const struct text *w, const struct lpo_table *t,
                       const struct lpo_writer_layout *l)
{
    size_t used = 0, column = SIZE_MAX;

    for (size_t c = 0; c < t->ncolumns; c++) {
        used += l->widths[c] ? l->widths[c] + w->room->between : 0;
        if (l->widths[c] && column == SIZE_MAX && strcmp(t->columns[c].key, "share") == 0)
            column = c;
    }
    return w->bars && used + BAR + 1 <= w->room->total ? column : SIZE_MAX;
}

/* `row` NULL: the titles. */
static void write_row(const struct text *w, const struct lpo_writer_layout *l,
                      const struct lpo_table *t, const size_t *row, size_t bar)
{
    const char *between = "";
    size_t at = 0;

    for (size_t c = 0; c < t->ncolumns; c++) {
        bool left = t->columns[c].type == LPO_CELL_TEXT;
        LPO_STR cell = { 0 };
        size_t room;

        if (!l->widths[c])
            continue;
        if (row)
            lpo_writer_add_cell(&style, &cell, &t->columns[c], lpo_doc_table_cell(t, *row, c),
                                l->widths[c]);
        else
            lpo_visible_add(&cell, t->columns[c].title, strlen(t->columns[c].title), l->widths[c]);
        if (c == w->prose && w->room->total) {
            lpo_str_add(w->out, between);
            lpo_writer_add_wrapped(w->out, lpo_str_text(&cell), at, at, w->room->total);
            continue;
        }
        at += l->widths[c] + w->room->between;
        room = lpo_visible_width(lpo_str_text(&cell), cell.len);
        room = room < l->widths[c] ? l->widths[c] - room : 0;
        lpo_str_add(w->out, between);
        between = "  ";
        if (!left)
            pad(w->out, room);
        lpo_str_addn(w->out, lpo_str_text(&cell), cell.len);
        if (left && !lpo_writer_layout_last(l, c))
            pad(w->out, room);
        if (c == bar && row)
            add_bar(w, lpo_doc_table_cell(t, *row, c));
        else if (c == bar)
            pad(w->out, BAR + 1);
    }
    lpo_str_addc(w->out, '\n');
}

static void add_wrapped(const struct text *w, const char *text, size_t column)
{
    lpo_writer_add_wrapped(w->out, text, column, 0, w->room->total);
}

/* --- tables that are shown whole, on a terminal ----------------------------------------------- */

/* Text of a cell that nothing may be left out of: in lines of `room` characters, those after the
 * first beginning at `column`. */
static void add_broken(const struct text *w, const struct lpo_str *cell, size_t column, size_t room)
{
    size_t left = room;

    for (size_t i = 0; i < cell->len; i++) {
        if (((unsigned char)cell->at[i] & 0xc0) != 0x80 && left-- == 0) {
            lpo_str_addc(w->out, '\n');
            pad(w->out, column);
            left = room - 1;
        }
        lpo_str_addc(w->out, cell->at[i]);
    }
}

static size_t longest_title(const struct lpo_table *t)
{
    size_t longest = 0;

    for (size_t c = 0; c < t->ncolumns; c++) {
        size_t width = lpo_visible_width(t->columns[c].title, strlen(t->columns[c].title));

        longest = width > longest ? width : longest;
    }
    return longest;
}

/* A line for each value, as psql's \\x: the rows are wider than the screen. */
static void write_records(const struct text *w, const struct lpo_table *t,
                          const struct lpo_writer_layout *l, size_t rows)
{
    size_t longest = longest_title(t), column = longest + w->room->between;

    for (size_t r = 0; r < rows; r++) {
        mark(w, LPO_MARK_DIM);
        lpo_str_addf(w->out, "row %zu\n", r + 1);
        mark(w, LPO_MARK_END);
        for (size_t c = 0; c < t->ncolumns; c++) {
            const char *title = t->columns[c].title;
            LPO_STR cell = { 0 };

            if (!l->widths[c])
                continue;
            lpo_writer_add_cell(&style, &cell, &t->columns[c], lpo_doc_table_cell(t, r, c), 0);
            lpo_str_add(w->out, title);
            pad(w->out, column - lpo_visible_width(title, strlen(title)));
            add_broken(w, &cell, column,
                       w->room->total > 2 * column ? w->room->total - column : column);
            lpo_str_addc(w->out, '\n');
        }
    }
}

/* Nothing is cut: where the rows are too wide, and the last column is prose that the others leave
 * room for, that is wrapped; else every value has a line. */
static void write_whole(const struct text *whole, const struct lpo_table *t, size_t rows)
{
    struct text at = *whole, *w = &at;
    const struct lpo_writer_room any = { .between = w->room->between };
    struct lpo_writer_layout l = lpo_writer_layout(t, rows, &any);
    size_t last = t->ncolumns - 1, before = 0, width;

    for (size_t c = 0; c < last; c++)
        before += l.widths[c] ? l.widths[c] + w->room->between : 0;
    width = before + l.widths[last];
    w->prose = before + PROSE <= w->room->total ? last : SIZE_MAX;
    if (w->room->total && width > w->room->total &&
        (t->columns[last].type != LPO_CELL_TEXT || w->prose == SIZE_MAX)) {
        write_records(w, t, &l, rows);
    } else {
        mark(w, LPO_MARK_DIM);
        write_row(w, &l, t, NULL, SIZE_MAX);
        mark(w, LPO_MARK_END);
        for (size_t r = 0; r < rows; r++)
            write_row(w, &l, t, &r, SIZE_MAX);
    }
    lpo_writer_layout_free(&l);
    lpo_str_addc(w->out, '\n');
}

static void write_table(const struct text *w, const struct lpo_table *t)
{
    size_t rows = lpo_doc_table_rows(t), bar;
    struct lpo_writer_layout l;
    struct lpo_table fit;

    if (t->title[0]) {
        add_wrapped(w, t->title, 0);
        lpo_str_addc(w->out, '\n');
    }
    if (rows == 0) {
        lpo_str_add(w->out, "(none)\n\n");
        return;
    }
    if (w->whole) {
        write_whole(w, t, rows);
        return;
    }
    l = lpo_writer_layout(t, rows, w->room);
    lpo_writer_fit_names(t, &l, &fit);
    bar = find_bar(w, t, &l);
    mark(w, LPO_MARK_DIM);
    write_row(w, &l, t, NULL, bar);
    mark(w, LPO_MARK_END);
    for (size_t r = 0; r < rows; r++)
        write_row(w, &l, &fit, &r, bar);
    lpo_vec_free(&fit.cells);
    lpo_writer_layout_free(&l);
    if (t->total_rows > rows)
        lpo_str_addf(w->out, "… %zu more\n", t->total_rows - rows);
    lpo_str_addc(w->out, '\n');
}

static void write_item(const void *writer, const struct lpo_item *item, bool last_fact)
{
    const struct text *w = writer;

    if (item->kind == LPO_ITEM_TABLE) {
        write_table(w, item->table);
    } else if (item->kind == LPO_ITEM_FACT) {
        size_t label = strlen(item->column.title) + 2, longest = w->room->longest;

        lpo_str_addf(w->out, "%s: ", item->column.title);
        lpo_writer_add_cell(&style, w->out, &item->column, &item->cell,
                            longest > label ? longest - label : longest);
        lpo_str_add(w->out, last_fact ? "\n\n" : "\n");
    } else if (item->kind == LPO_ITEM_NOTE || item->kind == LPO_ITEM_PARAGRAPH) {
        const char *what = item->kind == LPO_ITEM_PARAGRAPH  ? ""
                           : item->level == LPO_NOTE_WARNING ? "warning: "
                                                             : "note: ";

        if (what[0])
            mark(w, LPO_MARK_WARN);
        lpo_str_add(w->out, what);
        if (what[0])
            mark(w, LPO_MARK_END);
        add_wrapped(w, item->text, strlen(what));
        lpo_str_add(w->out, item->kind == LPO_ITEM_NOTE ? "\n" : "\n\n");
    }
}

static void write_heading(const void *writer, const struct lpo_section *s)
{
    const struct text *w = writer;

    /* notes stand line by line; the last of them must not look like part of the next section */
    if (w->out->len > 1 && strcmp(w->out->at + w->out->len - 2, "\n\n") != 0)
        lpo_str_addc(w->out, '\n');
    mark(w, LPO_MARK_BOLD);
    add_wrapped(w, s->title, 0);
    mark(w, LPO_MARK_END);
    lpo_str_add(w->out, "\n\n");
}

static const struct lpo_writer_style style = {
    .indent = "  ",
    .name = lpo_writer_add_name,
    .number = lpo_writer_cell,
    .heading = write_heading,
    .item = write_item,
};

static void text_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    size_t width = doc->width ? doc->width : doc->whole ? 0 : USUAL;
    const struct lpo_writer_room room = { .total = width, .between = 2, .longest = width };
    struct text w = { out, &room, doc->bars, doc->colour, doc->whole, SIZE_MAX };

    lpo_writer_add_sections(&style, &w, doc, out);
}

const struct lpo_writer lpo_writer_text = {
    .name = "text",
    .summary = "aligned columns for a terminal",
    .kind = "run",
    .file = "report.txt",
    .write = text_write,
};
