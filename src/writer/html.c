/* SPDX-License-Identifier: Apache-2.0 */
/* HTML: one file that needs nothing else. The text of the report is in it as it stands, so that it
 * reads without JavaScript; the script (web/) draws the views over it from the document's data.
 *
 * Every text of the profiled program is escaped; the data stands in a script element that no
 * browser runs, where '<' is escaped too. The policy in the head forbids every request. */

#include "report/doc/doc.h"
#include "writer/markup.h"
#include "writer/page_assets.h"
#include "writer/svg_plots.h"
#include "writer/writer.h"

enum { LONGEST_NAME = 400, MOST_REST_BYTES = 200 << 10 };

static void add_line(struct lpo_str *out, const char *before, const char *text, const char *after)
{
    lpo_str_add(out, before);
    lpo_writer_markup_add(out, text, strlen(text), 0);
    lpo_str_add(out, after);
}

/* The exact value of a number, for copying; nothing for text and for what is unknown. */
static void add_exact(struct lpo_str *out, const struct lpo_column *column,
                      const struct lpo_doc_cell *cell)
{
    if (cell->how == LPO_UNKNOWN || column->type == LPO_CELL_TEXT || column->type == LPO_CELL_FLAG)
        return;
    lpo_str_add(out, " data-v=\"");
    if (column->type == LPO_CELL_COUNT || column->type == LPO_CELL_NS)
        lpo_str_addf(out, "%lld", (long long)cell->whole);
    else
        lpo_json_add_real(out, cell->real);
    lpo_str_addc(out, '"');
}

static void add_cell(struct lpo_str *out, const struct lpo_column *column,
                     const struct lpo_doc_cell *cell)
{
    LPO_STR text = { 0 };

    if (column->type == LPO_CELL_TEXT && cell->how != LPO_UNKNOWN) {
        lpo_writer_markup_add(out, cell->text, cell->len, LONGEST_NAME);
        return;
    }
    lpo_writer_cell(column, cell, &text);
    lpo_writer_markup_add(out, lpo_str_text(&text), text.len, 0);
}

/* In text, numbers stand first and a long name last; here the name leads, with its shapes. Returns
 * the column that is drawn as the `k`th. */
static size_t column_at(const struct lpo_table *t, size_t k)
{
    static const char *const names[] = { "kernel", "operator", "name" };
    size_t first = 0, lead;

    if (t->columns[0].type == LPO_CELL_TEXT)
        return k;
    for (size_t c = 0; c < t->ncolumns && !first; c++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strcmp(t->columns[c].key, names[i]) == 0)
                first = c;
    lead = first + 1 < t->ncolumns && strcmp(t->columns[first + 1].key, "shapes") == 0 ? 2 : 1;
    if (!first)
        return k;
    return k < lead ? first + k : k - lead < first ? k - lead : k;
}

static void write_row(const struct lpo_table *t, const struct lpo_doc_cell *cells,
                      struct lpo_str *out)
{
    lpo_str_add(out, "<tr>");
    for (size_t k = 0; k < t->ncolumns; k++) {
        size_t c = column_at(t, k);
        const struct lpo_doc_cell *cell = &cells[c];
        bool text = t->columns[c].type == LPO_CELL_TEXT;

        lpo_str_add(out, k == 0 ? "<th scope=\"row\"" : "<td");
        add_exact(out, &t->columns[c], cell);
        if (!text && cell->how == LPO_UNKNOWN) /* it stands under the numbers of its column */
            lpo_str_add(out, " class=\"n\"");
        if (text && cell->full) {
            lpo_str_add(out, " title=\"");
            lpo_writer_markup_add(out, cell->full, strlen(cell->full), LONGEST_NAME);
            lpo_str_addc(out, '"');
        }
        if (text && cell->indent)
            lpo_str_addf(out, " style=\"padding-left:%.1fem\"",
                         0.6 + 1.2 * (cell->indent < 32 ? cell->indent : 32));
        lpo_str_addc(out, '>');
        add_cell(out, &t->columns[c], cell);
        lpo_str_add(out, k == 0 ? "</th>" : "</td>");
    }
    lpo_str_add(out, "</tr>\n");
}

/* The rows that were cut, as what no browser draws: the script takes them from there. */
static void write_rest(const struct lpo_table *t, struct lpo_str *out)
{
    size_t begin = out->len;

    if (!t->rest.len)
        return;
    lpo_str_add(out, "<template>");
    for (size_t i = 0; i < t->rest.len && out->len - begin < MOST_REST_BYTES; i += t->ncolumns)
        write_row(t, &t->rest.at[i], out);
    lpo_str_add(out, "</template>\n");
}

static void write_table(const struct lpo_table *t, struct lpo_str *out)
{
    size_t rows = lpo_doc_table_rows(t);

    lpo_str_addf(out, "<div class=\"scroll\" tabindex=\"0\"><table id=\"table-%s\">", t->id);
    if (t->title[0])
        add_line(out, "<caption>", t->title, "</caption>");
    lpo_str_add(out, "<thead><tr>");
    for (size_t k = 0; k < t->ncolumns; k++) {
        size_t c = column_at(t, k);

        lpo_str_addf(out, "<th scope=\"col\" data-key=\"%s\"%s>", t->columns[c].key,
                     t->columns[c].type == LPO_CELL_TEXT ? "" : " class=\"n\"");
        add_line(out, "", t->columns[c].title, "</th>");
    }
    lpo_str_add(out, "</tr></thead><tbody>\n");
    for (size_t r = 0; r < rows; r++)
        write_row(t, lpo_doc_table_cell(t, r, 0), out);
    lpo_str_add(out, "</tbody></table></div>\n");
    write_rest(t, out);
    if (rows == 0)
        lpo_str_add(out, "<p>(none)</p>\n");
    if (t->total_rows > rows)
        lpo_str_addf(out,
                     "<p class=\"note cut\" data-rows=\"%zu\">%zu of %zu rows are shown; the JSON "
                     "report has all.</p>\n",
                     t->total_rows, rows, t->total_rows);
}

static void write_bars(const struct lpo_figure *f, struct lpo_str *out)
{
    add_line(out, "<table class=\"bars\"><caption>", f->title, "</caption><tbody>\n");
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *p = &f->points.at[i];

        add_line(out, "<tr><th scope=\"row\">", p->label, "</th>");
        lpo_str_addf(out,
                     "<td data-v=\"%.17g\">%.1f\xc2\xa0%%</td><td><i style=\"width:%.2f%%\"></i>"
                     "</td></tr>\n",
                     p->y, p->y, p->y > 0 && p->y <= 100 ? p->y : 0);
    }
    lpo_str_add(out, "</tbody></table>\n");
}

static void write_figure(const struct lpo_figure *f, struct lpo_str *out)
{
    if (f->kind == LPO_FIG_LANES && f->spans.len) {
        lpo_str_addf(out, "<figure id=\"figure-%s\">", f->id);
        lpo_writer_svg_lanes(f, out);
        lpo_str_add(out, "</figure>\n");
        return;
    }
    if (f->points.len == 0)
        return;
    if (f->kind == LPO_FIG_BARS) {
        write_bars(f, out);
        return;
    }
    lpo_str_addf(out, "<figure id=\"figure-%s\">", f->id);
    lpo_writer_svg.draw(f, out);
    lpo_str_add(out, "</figure>\n");
}

static void write_item(const struct lpo_item *item, struct lpo_str *out)
{
    switch (item->kind) {
    case LPO_ITEM_PARAGRAPH:
        add_line(out, "<p>", item->text, "</p>\n");
        break;
    case LPO_ITEM_NOTE:
        add_line(out,
                 item->level == LPO_NOTE_WARNING ? "<p class=\"warning\"><b>Warning:</b> "
                                                 : "<p class=\"note\"><b>Note:</b> ",
                 item->text, "</p>\n");
        break;
    case LPO_ITEM_FACT:
        add_line(out, "<div class=\"fact\"><span>", item->column.title, "</span> <b");
        add_exact(out, &item->column, &item->cell);
        lpo_str_addc(out, '>');
        add_cell(out, &item->column, &item->cell);
        lpo_str_add(out, "</b></div>\n");
        break;
    case LPO_ITEM_TABLE:
        write_table(item->table, out);
        break;
    case LPO_ITEM_FIGURE:
        write_figure(item->figure, out);
        break;
    }
}

/* Sections of level 2 and more lie inside the chapter before them. */
static void write_sections(const struct lpo_doc *doc, struct lpo_str *out)
{
    bool open = false;

    for (size_t i = 0; i < doc->sections.len; i++) {
        const struct lpo_section *s = doc->sections.at[i];
        int level = s->level < 5 ? s->level + 1 : 6;

        if (s->level <= 1) {
            lpo_str_addf(out, "%s<section id=\"%s\">\n", open ? "</section>\n" : "",
                         s->id[0] ? s->id : "top");
            open = true;
        }
        if (s->title[0]) {
            lpo_str_addf(out, "<h%d>", level);
            add_line(out, "", s->title, "");
            lpo_str_addf(out, "</h%d>\n", level);
        }
        for (size_t k = 0; k < s->items.len; k++)
            write_item(&s->items.at[k], out);
    }
    lpo_str_add(out, open ? "</section>\n" : "");
}

/* Are views drawn from its data? */
static bool has_script(const struct lpo_doc *doc)
{
    return doc->page || !doc->data_only;
}

static void write_head(const struct lpo_doc *doc, struct lpo_str *out)
{
    lpo_str_add(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta name=\"generator\" content=\"llm-perf-opt " LPO_VERSION "\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; img-src data:; script-src '");
    /* The one script that is ours: whatever a name brings into the page, no other runs. */
    lpo_str_addf(out, "%s'%s\">\n", has_script(doc) ? lpo_page_script_sha256 : "none",
                 doc->served ? "; connect-src 'self'" : "");
    add_line(out, "<title>", doc->title, "</title>\n<style>\n");
    lpo_str_addn(out, lpo_page_style, lpo_page_style_len);
    lpo_str_add(out, "</style>\n</head>\n");
}

static void html_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 0);

    write_head(doc, out);
    add_line(out, "<body>\n<header><h1>", doc->title, "</h1></header>\n<main>\n");
    write_sections(doc, out);
    if (!has_script(doc)) {
        lpo_str_add(out, "</main>\n</body>\n</html>\n");
        return;
    }
    lpo_str_add(out, "</main>\n<script type=\"application/json\" id=\"lpo-data\">");
    w.html = true;
    lpo_jw_object(&w, NULL);
    lpo_writer_record_json(&w, doc->page ? doc->page : doc->data);
    lpo_jw_end(&w);
    lpo_str_add(out, "</script>\n<script>");
    lpo_str_addn(out, lpo_page_script, lpo_page_script_len);
    lpo_str_add(out, "</script>\n</body>\n</html>\n");
}

const struct lpo_writer lpo_writer_html = {
    .name = "html",
    .summary = "one page for a browser: text, pictures and views that can be searched and zoomed",
    .kind = "page",
    .file = "report.html",
    .records = true,
    .write = html_write,
};
