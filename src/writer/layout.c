/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/layout.h"

#include <ctype.h>

#include "report/doc/doc.h"
#include "util/visible.h"
#include "writer/writer.h"

/* A name of 28 characters is still a name; below that, a minor column is worth less than it. */
enum { COMFORTABLE = 28, SHORT = 16, LEAST = 8, INDENT = 2 };

static size_t cell_width(const struct lpo_column *column, const struct lpo_doc_cell *cell,
                         size_t longest)
{
    LPO_STR text = { 0 };
    size_t width;

    if (column->type == LPO_CELL_TEXT && cell->how != LPO_UNKNOWN) {
        lpo_visible_add(&text, cell->text, cell->len, longest);
        width = lpo_visible_width(lpo_str_text(&text), text.len) + (size_t)INDENT * cell->indent;
    } else {
        lpo_writer_cell(column, cell, &text);
        width = lpo_visible_width(lpo_str_text(&text), text.len);
    }
    return width;
}

static bool is_text(const struct lpo_table *t, size_t c)
{
    return t->columns[c].type == LPO_CELL_TEXT;
}

/* What names may have, when everything else has its place. Each that is shorter than its part
 * leaves the rest to the others. */
static void share_out(const struct lpo_table *t, struct lpo_writer_layout *l, size_t room)
{
    size_t *wanted = lpo_xcalloc(l->columns, sizeof *wanted), left = 0;

    for (size_t c = 0; c < l->columns; c++)
        if (is_text(t, c) && l->widths[c]) {
            wanted[c] = l->widths[c];
            left++;
        }
    for (bool again = true; again && left;) {
        size_t part = room / left;

        again = false;
        for (size_t c = 0; c < l->columns; c++)
            if (wanted[c] && wanted[c] <= part) {
                room -= wanted[c];
                wanted[c] = 0;
                left--;
                again = true;
            }
    }
    for (size_t c = 0; left && c < l->columns; c++)
        if (wanted[c])
            l->widths[c] = room / left > LEAST ? room / left : LEAST;
    free(wanted);
}

static size_t comfortable(const struct lpo_column *column, size_t width)
{
    size_t most = column->width ? column->width : COMFORTABLE;

    return width < most ? width : most;
}

static bool fits(const struct lpo_table *t, const struct lpo_writer_layout *l,
                 const struct lpo_writer_room *room, size_t *for_names)
{
    size_t numbers = 0, names = 0;

    for (size_t c = 0; c < l->columns; c++) {
        if (!l->widths[c])
            continue;
        numbers += room->between;
        if (!is_text(t, c))
            numbers += l->widths[c];
        else
            names += comfortable(&t->columns[c], l->widths[c]);
    }
    *for_names = numbers < room->total ? room->total - numbers : 0;
    return names <= *for_names;
}

/* Columns without a value in any row say nothing. */
static void leave_out_empty(const struct lpo_table *t, size_t rows, struct lpo_writer_layout *l)
{
    size_t left = l->columns;

    for (size_t c = 0; rows && left > 1 && c < l->columns; c++) {
        bool empty = true;

        for (size_t r = 0; r < rows && empty; r++) {
            const struct lpo_doc_cell *cell = lpo_doc_table_cell(t, r, c);

            empty = cell->how == LPO_UNKNOWN || (is_text(t, c) && !cell->len);
        }
        l->widths[c] = empty ? 0 : l->widths[c];
        left -= empty;
    }
}

/* Numbers are not cut: where they and short names are wider than the page, columns go from the
 * right. The first two stay. */
static void drop_what_is_too_wide(const struct lpo_table *t, struct lpo_writer_layout *l,
                                  const struct lpo_writer_room *room)
{
    for (size_t c = l->columns; c-- > 2;) {
        size_t used = 0;

        for (size_t i = 0; i < l->columns; i++)
            if (l->widths[i])
                used +=
                    room->between + (is_text(t, i) && l->widths[i] > SHORT ? SHORT : l->widths[i]);
        if (used <= room->total)
            return;
        if (!is_text(t, c))
            l->widths[c] = 0;
    }
}

struct lpo_writer_layout lpo_writer_layout(const struct lpo_table *t, size_t rows,
                                           const struct lpo_writer_room *room)
{
    struct lpo_writer_layout l = { .columns = t->ncolumns };
    unsigned minor = 0;
    size_t for_names = 0;

    l.widths = lpo_xcalloc(l.columns + 1, sizeof *l.widths);
    for (size_t c = 0; c < l.columns; c++) {
        const char *title = t->columns[c].title;

        l.widths[c] = lpo_visible_width(title, strlen(title));
        minor = t->columns[c].minor > minor ? t->columns[c].minor : minor;
        for (size_t r = 0; r < rows; r++) {
            size_t w = cell_width(&t->columns[c], lpo_doc_table_cell(t, r, c), room->longest);

            l.widths[c] = w > l.widths[c] ? w : l.widths[c];
        }
    }
    leave_out_empty(t, rows, &l);
    if (!room->total)
        return l;
    for (; !fits(t, &l, room, &for_names) && minor; minor--)
        for (size_t c = 0; c < l.columns; c++)
            if (t->columns[c].minor == minor)
                l.widths[c] = 0;
    drop_what_is_too_wide(t, &l, room);
    fits(t, &l, room, &for_names);
    share_out(t, &l, for_names);
    return l;
}

void lpo_writer_layout_free(struct lpo_writer_layout *l)
{
    free(l->widths);
    l->widths = NULL;
}

bool lpo_writer_layout_last(const struct lpo_writer_layout *l, size_t column)
{
    while (++column < l->columns)
        if (l->widths[column])
            return false;
    return true;
}

/* --- names that are too long for their column --- */

/* Bytes of the first `n` characters. */
static size_t bytes_of(const char *text, size_t len, size_t n)
{
    size_t at = 0;

    for (; at < len; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && n-- == 0)
            break;
    return at;
}

/* Its beginning and its end, `room` characters with the mark between them. `head` of 4: how much of
 * that is beginning. */
static const char *cut_name(struct lpo_arena *a, const struct lpo_doc_cell *cell, size_t room,
                            size_t head)
{
    size_t width = lpo_visible_width(cell->text, cell->len);
    size_t first = (room - 1) * head / 4, last = width - (room - 1 - first);
    size_t from = bytes_of(cell->text, cell->len, first);
    size_t to = bytes_of(cell->text, cell->len, last);

    return lpo_arena_printf(a, "%.*s\xe2\x80\xa6%.*s", (int)from, cell->text, (int)(cell->len - to),
                            cell->text + to);
}

/* 0: it is not too long. */
static size_t room_for(const struct lpo_doc_cell *cell, size_t width)
{
    size_t indent, room;

    if (cell->how == LPO_UNKNOWN || !cell->len)
        return 0;
    indent = (size_t)INDENT * lpo_writer_layout_indent(cell, width);
    room = width > indent + LEAST ? width - indent : LEAST;
    return lpo_visible_width(cell->text, cell->len) <= room ? 0 : room;
}

LPO_COMPARE(by_text, char *const, strcmp(*a, *b));

static size_t count_distinct(const char *const *names, size_t n)
{
    LPO_FREED const char **sorted = lpo_xcalloc(n + 1, sizeof *sorted);
    size_t distinct = n > 0;

    for (size_t i = 0; i < n; i++)
        sorted[i] = names[i];
    qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t i = 1; i < n; i++)
        distinct += strcmp(sorted[i - 1], sorted[i]) != 0;
    return distinct;
}

/* Names of one column, cut where they do not differ: at the end, unless that makes two the same. */
static void cut_column(struct lpo_table *t, size_t column, size_t width)
{
    static const size_t heads[] = { 4, 2, 3, 1 };
    size_t rows = lpo_doc_table_rows(t), best = 0;
    LPO_FREED const char **names = lpo_xcalloc(rows + 1, sizeof *names);

    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
        size_t distinct;

        for (size_t r = 0; r < rows; r++) {
            const struct lpo_doc_cell *cell = lpo_doc_table_cell(t, r, column);
            size_t room = room_for(cell, width);

            names[r] = room        ? cut_name(t->arena, cell, room, heads[h])
                       : cell->len ? cell->text
                                   : "";
        }
        distinct = count_distinct(names, rows);
        if (distinct <= best)
            continue;
        best = distinct;
        for (size_t r = 0; r < rows; r++)
            t->cells.at[r * t->ncolumns + column].full = names[r];
    }
    for (size_t r = 0; r < rows; r++) {
        struct lpo_doc_cell *cell = &t->cells.at[r * t->ncolumns + column];

        if (!room_for(cell, width))
            continue;
        cell->text = cell->full;
        cell->len = strlen(cell->text);
    }
}

void lpo_writer_fit_names(const struct lpo_table *t, const struct lpo_writer_layout *l,
                          struct lpo_table *out)
{
    *out = *t;
    out->cells.at = NULL;
    out->cells.len = out->cells.cap = 0;
    for (size_t i = 0; i < t->cells.len; i++)
        lpo_vec_push(&out->cells, t->cells.at[i]);
    for (size_t c = 0; c < t->ncolumns; c++)
        if (is_text(t, c) && l->widths[c])
            cut_column(out, c, l->widths[c]);
}

void lpo_writer_add_name(struct lpo_str *out, const char *text, size_t len, size_t width)
{
    LPO_STR shown = { 0 };
    size_t is;

    lpo_visible_add(&shown, text, len, width);
    is = lpo_visible_width(lpo_str_text(&shown), shown.len);
    if (width && is > width) { /* it says how many bytes were cut */
        shown.len = 0;
        lpo_visible_add(&shown, text, len, 2 * width > is ? 2 * width - is : 1);
    }
    lpo_str_addn(out, lpo_str_text(&shown), shown.len);
}

unsigned lpo_writer_layout_indent(const struct lpo_doc_cell *cell, size_t width)
{
    size_t most = width > COMFORTABLE ? (width - COMFORTABLE / 2) / INDENT : width / (2 * INDENT);
    LPO_STR name = { 0 };

    /* a name is cut before its depth is, and neither where both fit */
    lpo_visible_add(&name, cell->text, cell->len, width ? width : 1);
    if (lpo_visible_width(lpo_str_text(&name), name.len) + (size_t)INDENT * cell->indent <= width)
        most = cell->indent;
    most = most < 32 ? most : 32;
    return cell->indent < most ? cell->indent : (unsigned)most;
}

static bool is_unit(const char *at, size_t len)
{
    static const char *const units[] = { "ns",  "us",  "ms",  "s",    "%",      "B",   "KiB",
                                         "MiB", "GiB", "TiB", "FLOP", "FLOP/s", "J",   "W",
                                         "B/s", "/s",  "x",   "°C",   "Hz",     "min", "h" };

    if (len > 1 && strchr("kKMGTPE", *at) && is_unit(at + 1, len - 1))
        return true;
    return lpo_any(i, sizeof units / sizeof *units,
                   strlen(units[i]) == len && memcmp(units[i], at, len) == 0);
}

static size_t unit_len(const char *at, size_t len)
{
    size_t n = 0;

    while (n < len && !strchr(" ,.;:)(|\n", at[n]))
        n++;
    return n;
}

void lpo_writer_bind_numbers(struct lpo_str *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool between = text[i] == ' ' && i > 0 && isdigit((unsigned char)text[i - 1]) &&
                       is_unit(text + i + 1, unit_len(text + i + 1, len - i - 1));

        if (between)
            lpo_str_add(out, "\xc2\xa0");
        else
            lpo_str_addc(out, text[i]);
    }
}

void lpo_writer_add_wrapped(struct lpo_str *out, const char *text, size_t column, size_t indent,
                            size_t total)
{
    LPO_STR shown = { 0 };
    LPO_STR bound = { 0 };
    const char *at, *end;

    lpo_visible_add(&shown, text, strlen(text), 0);
    lpo_writer_bind_numbers(&bound, lpo_str_text(&shown), shown.len);
    for (at = lpo_str_text(&bound); *at; at = end + (*end == ' ')) {
        size_t width;

        end = at + strcspn(at, " ");
        width = lpo_visible_width(at, (size_t)(end - at));
        if (at != bound.at && total && column + 1 + width > total) {
            lpo_str_addc(out, '\n');
            for (column = 0; column < indent; column++)
                lpo_str_addc(out, ' ');
        } else if (at != bound.at) {
            lpo_str_addc(out, ' ');
            column++;
        }
        for (const char *p = at; p < end; p++) {
            bool nbsp = p[0] == '\xc2' && p + 1 < end && p[1] == '\xa0';

            lpo_str_addc(out, nbsp ? ' ' : *p);
            p += nbsp;
        }
        column += width;
    }
}
