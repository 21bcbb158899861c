/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: the whole document with exact values; docs/report-json.md is its page. */
#include "report/doc/doc.h"
#include "util/arena.h"
#include "util/json_write.h"
#include "util/str.h"
#include "writer/writer.h"

static void write_cell(struct lpo_json_writer *w, const char *key, enum lpo_cell_type type,
                       const struct lpo_doc_cell *cell)
{
    if (cell->how == LPO_UNKNOWN) {
        lpo_jw_null(w, key);
        return;
    }
    switch (type) {
    case LPO_CELL_TEXT:
        if (cell->full)
            lpo_jw_text(w, key, cell->full);
        else
            lpo_jw_textn(w, key, cell->text, cell->len);
        break;
    case LPO_CELL_COUNT:
    case LPO_CELL_NS:
        lpo_jw_int(w, key, cell->whole);
        break;
    case LPO_CELL_BYTES:
        lpo_jw_whole(w, key, (struct lpo_measure){ cell->real, cell->how });
        break;
    case LPO_CELL_FLAG:
        lpo_jw_bool(w, key, cell->whole != 0);
        break;
    default:
        lpo_jw_real(w, key, cell->real);
    }
}

static void write_columns(struct lpo_json_writer *w, const struct lpo_table *t)
{
    lpo_jw_array(w, "columns");
    for (size_t c = 0; c < t->ncolumns; c++) {
        lpo_jw_object(w, NULL);
        lpo_jw_text(w, "key", t->columns[c].key);
        lpo_jw_text(w, "title", t->columns[c].title);
        lpo_jw_text(w, "type", lpo_doc_cell_type_name(t->columns[c].type));
        if (t->columns[c].unit)
            lpo_jw_text(w, "unit", t->columns[c].unit);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

/* Which cells are estimates travels beside the row, so that values stay plain numbers. */
static void write_estimated(struct lpo_json_writer *w, const struct lpo_table *t, size_t row)
{
    bool any = false;

    for (size_t c = 0; c < t->ncolumns; c++) {
        if (lpo_doc_table_cell(t, row, c)->how != LPO_ESTIMATED)
            continue;
        if (!any)
            lpo_jw_array(w, "_estimated");
        any = true;
        lpo_jw_text(w, NULL, t->columns[c].key);
    }
    if (any)
        lpo_jw_end(w);
}

static void write_table(struct lpo_json_writer *w, const struct lpo_table *t)
{
    lpo_jw_text(w, "id", t->id);
    lpo_jw_text(w, "title", t->title);
    write_columns(w, t);
    lpo_jw_array(w, "rows");
    for (size_t r = 0; r < lpo_doc_table_rows(t); r++) {
        lpo_jw_object(w, NULL);
        for (size_t c = 0; c < t->ncolumns; c++) {
            const struct lpo_doc_cell *cell = lpo_doc_table_cell(t, r, c);

            write_cell(w, t->columns[c].key, t->columns[c].type, cell);
            if (cell->indent)
                lpo_jw_uint(w, "_depth", cell->indent);
        }
        write_estimated(w, t, r);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    if (t->total_rows)
        lpo_jw_uint(w, "total_rows", t->total_rows);
}

static void write_lanes(struct lpo_json_writer *w, const struct lpo_figure *f)
{
    lpo_jw_array(w, "lanes");
    for (size_t i = 0; i < f->lanes.len; i++) {
        lpo_jw_object(w, NULL);
        lpo_jw_text(w, "group", f->lanes.at[i].group);
        lpo_jw_text(w, "name", f->lanes.at[i].name);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_jw_array(w, "spans");
    for (size_t i = 0; i < f->spans.len; i++) {
        const struct lpo_span *s = &f->spans.at[i];

        lpo_jw_object(w, NULL);
        lpo_jw_uint(w, "lane", s->lane);
        lpo_jw_text(w, "name", s->name);
        lpo_jw_int(w, "start_ns", s->start_ns);
        lpo_jw_int(w, "end_ns", s->end_ns);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_figure(struct lpo_json_writer *w, const struct lpo_figure *f)
{
    static const char *const kinds[] = { "bars", "scatter", "lanes", "stacked", "lines", "heat" };

    lpo_jw_text(w, "id", f->id);
    lpo_jw_text(w, "title", f->title);
    lpo_jw_text(w, "kind", kinds[f->kind]);
    if (f->kind == LPO_FIG_LANES) {
        write_lanes(w, f);
        return;
    }
    lpo_jw_text(w, "x", f->x_title);
    lpo_jw_text(w, "y", f->y_title);
    lpo_jw_array(w, "points");
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *p = &f->points.at[i];

        lpo_jw_object(w, NULL);
        lpo_jw_text(w, "series", p->series);
        lpo_jw_text(w, "label", p->label);
        lpo_jw_real(w, "x", p->x);
        lpo_jw_real(w, "y", p->y);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_item(struct lpo_json_writer *w, const struct lpo_item *item)
{
    static const char *const types[] = { "paragraph", "note", "fact", "table", "figure" };

    lpo_jw_object(w, NULL);
    lpo_jw_text(w, "type", types[item->kind]);
    switch (item->kind) {
    case LPO_ITEM_NOTE:
        lpo_jw_text(w, "level", item->level == LPO_NOTE_WARNING ? "warning" : "info");
        lpo_jw_text(w, "text", item->text);
        break;
    case LPO_ITEM_PARAGRAPH:
        lpo_jw_text(w, "text", item->text);
        break;
    case LPO_ITEM_FACT:
        lpo_jw_text(w, "key", item->key);
        lpo_jw_text(w, "title", item->column.title);
        lpo_jw_text(w, "value_type", lpo_doc_cell_type_name(item->column.type));
        if (item->column.unit)
            lpo_jw_text(w, "unit", item->column.unit);
        write_cell(w, "value", item->column.type, &item->cell);
        if (item->cell.how == LPO_ESTIMATED)
            lpo_jw_bool(w, "estimated", true);
        break;
    case LPO_ITEM_TABLE:
        write_table(w, item->table);
        break;
    case LPO_ITEM_FIGURE:
        write_figure(w, item->figure);
        break;
    }
    lpo_jw_end(w);
}

static void write_value(struct lpo_json_writer *w, const struct lpo_doc_value *v, bool one_line);

static void write_members(struct lpo_json_writer *w, const struct lpo_record *r, bool one_line)
{
    for (const struct lpo_doc_value *m = r->first; m; m = m->next)
        write_value(w, m, one_line);
}

/* The memory of a few records at a time: one arena for each would cost more than it holds. */
static void write_stream(struct lpo_json_writer *w, const struct lpo_doc_stream *s, bool one_line)
{
    enum { TOGETHER = 32 };

    for (size_t i = 0; i < s->count;) {
        LPO_AUTO(lpo_arena) arena = lpo_arena_create();

        for (size_t end = i + TOGETHER; i < end && i < s->count; i++) {
            struct lpo_record *r = lpo_doc_record_create(arena);

            s->make(s->ctx, i, r);
            lpo_jw_object(w, NULL);
            write_members(w, r, one_line);
            lpo_jw_end(w);
        }
    }
}

static void write_value(struct lpo_json_writer *w, const struct lpo_doc_value *v, bool one_line)
{
    int indent = w->indent;

    switch ((enum lpo_value_kind)v->kind) {
    case LPO_IS_NULL:
        lpo_jw_null(w, v->key);
        break;
    case LPO_IS_FLAG:
        lpo_jw_bool(w, v->key, v->integer != 0);
        break;
    case LPO_IS_INT:
        lpo_jw_int(w, v->key, v->integer);
        break;
    case LPO_IS_UINT:
        lpo_jw_uint(w, v->key, v->count);
        break;
    case LPO_IS_REAL:
        lpo_jw_real(w, v->key, v->real);
        break;
    case LPO_IS_WHOLE:
        lpo_jw_whole(w, v->key, lpo_measure_computed(v->real));
        break;
    case LPO_IS_TEXT:
        lpo_jw_textn(w, v->key, v->text, v->len);
        break;
    case LPO_IS_LIST:
    case LPO_IS_STREAM:
    case LPO_IS_RECORD:
        if (v->kind == LPO_IS_RECORD)
            lpo_jw_object(w, v->key);
        else
            lpo_jw_array(w, v->key);
        if (one_line)
            w->indent = 0;
        if (v->kind == LPO_IS_STREAM)
            write_stream(w, v->stream, one_line);
        else
            write_members(w, v->record, one_line);
        lpo_jw_end(w);
        w->indent = indent;
        break;
    }
}

void lpo_writer_record_json(struct lpo_json_writer *w, const struct lpo_record *r)
{
    write_members(w, r, true);
}

static void write_sections(struct lpo_json_writer *w, const struct lpo_doc *doc)
{
    lpo_jw_array(w, "sections");
    for (size_t i = 0; i < doc->sections.len; i++) {
        const struct lpo_section *s = doc->sections.at[i];

        lpo_jw_object(w, NULL);
        lpo_jw_text(w, "id", s->id);
        lpo_jw_text(w, "title", s->title);
        lpo_jw_int(w, "level", s->level);
        lpo_jw_array(w, "items");
        for (size_t k = 0; k < s->items.len; k++)
            write_item(w, &s->items.at[k]);
        lpo_jw_end(w);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

/* The data of a report is large and stands beside what people read: one line for each member keeps
 * the file at a third of its size. Where the data is all there is, it is laid out in full. */
static void json_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 1);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", doc->schema);
    if (!doc->data_only) {
        lpo_jw_text(&w, "kind", doc->kind);
        lpo_jw_text(&w, "title", doc->title);
        write_sections(&w, doc);
    }
    for (const struct lpo_doc_value *v = doc->data->first; v; v = v->next)
        write_value(&w, v, !doc->data_only);
    lpo_jw_end(&w);
}

const struct lpo_writer lpo_writer_json = {
    .name = "json",
    .summary = "the whole document with exact values",
    .kind = "run",
    .file = "report.json",
    .records = true,
    .write = json_write,
};
