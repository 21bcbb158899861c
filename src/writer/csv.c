/* SPDX-License-Identifier: Apache-2.0 */
/* CSV: the tables alone, exact values. A report has a file for each, with one header row. Where
 * several have to go into one stream they are set apart by a mark, which is a line of one field
 * that begins with '#'. No row of a table is that. */

#include "report/doc/doc.h"
#include "util/visible.h"
#include "writer/writer.h"

/* Quoted where RFC 4180 asks for it, where a spreadsheet would take the text for a formula, and
 * where a reader of lines would take it for a mark. */
void lpo_writer_add_csv_field(struct lpo_str *out, const char *text, size_t len)
{
    bool formula = len > 0 && strchr("=+-@\t\r", text[0]);
    bool mark = len > 0 && text[0] == '#';
    bool quote = formula || mark || memchr(text, ',', len) || memchr(text, '"', len) ||
                 memchr(text, '\n', len) || memchr(text, '\r', len);

    if (!quote) {
        lpo_str_addn(out, text, len);
        return;
    }
    lpo_str_addc(out, '"');
    if (formula)
        lpo_str_addc(out, '\'');
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"')
            lpo_str_addc(out, '"');
        lpo_str_addc(out, text[i]);
    }
    lpo_str_addc(out, '"');
}

static void add_cell(struct lpo_str *out, enum lpo_cell_type type, const struct lpo_doc_cell *cell)
{
    if (cell->how == LPO_UNKNOWN)
        return;
    if (type == LPO_CELL_TEXT)
        lpo_writer_add_csv_field(out, cell->full ? cell->full : cell->text,
                                 cell->full ? strlen(cell->full) : cell->len);
    else if (type == LPO_CELL_COUNT || type == LPO_CELL_NS || type == LPO_CELL_FLAG)
        lpo_str_addf(out, "%lld", (long long)cell->whole);
    else if (type == LPO_CELL_BYTES)
        lpo_json_add_whole(out, cell->real);
    else
        lpo_json_add_real(out, cell->real);
}

static bool any_estimated(const struct lpo_table *t)
{
    for (size_t r = 0; r < lpo_doc_table_rows(t); r++)
        for (size_t c = 0; c < t->ncolumns; c++)
            if (lpo_doc_table_cell(t, r, c)->how == LPO_ESTIMATED)
                return true;
    return false;
}

/* The keys of a row's cells that are estimates, a space between them. */
static void add_estimated(struct lpo_str *out, const struct lpo_table *t, size_t row)
{
    const char *between = "";

    for (size_t c = 0; c < t->ncolumns; c++)
        if (lpo_doc_table_cell(t, row, c)->how == LPO_ESTIMATED) {
            lpo_str_addf(out, "%s%s", between, t->columns[c].key);
            between = " ";
        }
}

/* A table with estimates has one column more, which names them row by row: values stay numbers. */
static void write_table(const struct lpo_table *t, struct lpo_str *out)
{
    bool marked = any_estimated(t);

    for (size_t c = 0; c < t->ncolumns; c++)
        lpo_str_addf(out, "%s%s", c ? "," : "", t->columns[c].key);
    lpo_str_add(out, marked ? ",_estimated\r\n" : "\r\n");
    for (size_t r = 0; r < lpo_doc_table_rows(t); r++) {
        for (size_t c = 0; c < t->ncolumns; c++) {
            if (c)
                lpo_str_addc(out, ',');
            add_cell(out, t->columns[c].type, lpo_doc_table_cell(t, r, c));
        }
        if (marked) {
            lpo_str_addc(out, ',');
            add_estimated(out, t, r);
        }
        lpo_str_add(out, "\r\n");
    }
}

/* "# regions/coverage process:1046": section and table, and the section's title, which names the
 * scope. One field and one line, whatever the title holds. */
static void add_mark(struct lpo_str *out, const struct lpo_section *s, const struct lpo_table *t)
{
    LPO_STR title = { 0 };

    lpo_str_addf(out, "%s# %s/%s", out->len ? "\r\n" : "", s->id, t->id);
    lpo_visible_add(&title, s->title, strlen(s->title), 0);
    if (title.len)
        lpo_str_addc(out, ' ');
    for (size_t i = 0; i < title.len; i++)
        lpo_str_addc(out, strchr(",\"", title.at[i]) ? ' ' : title.at[i]);
    lpo_str_add(out, "\r\n");
}

static size_t count_tables(const struct lpo_doc *doc)
{
    size_t n = 0;

    for (size_t i = 0; i < doc->sections.len; i++)
        for (size_t k = 0; k < doc->sections.at[i]->items.len; k++)
            n += doc->sections.at[i]->items.at[k].kind == LPO_ITEM_TABLE;
    return n;
}

static void csv_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    bool several = count_tables(doc) > 1;

    for (size_t i = 0; i < doc->sections.len; i++) {
        const struct lpo_section *s = doc->sections.at[i];

        for (size_t k = 0; k < s->items.len; k++) {
            if (s->items.at[k].kind != LPO_ITEM_TABLE)
                continue;
            if (several)
                add_mark(out, s, s->items.at[k].table);
            write_table(s->items.at[k].table, out);
        }
    }
}

const struct lpo_writer lpo_writer_csv = {
    .name = "csv",
    .summary = "the tables alone, exact values",
    .kind = "run",
    .file = "csv/%s.csv",
    .write = csv_write,
    .print = write_table,
};
