/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: the whole document with exact values; docs/report-json.md is its page. */
#include "report/doc/doc.h"
#include "writer/writer.h"

static struct lpo_jv cell_value(enum lpo_cell_type type, const struct lpo_doc_cell *cell)
{
    if (cell->how == LPO_UNKNOWN)
        return lpo_jv_null();
    switch (type) {
    case LPO_CELL_TEXT:
        return cell->full ? lpo_jv_text(cell->full) : lpo_jv_textn(cell->text, cell->len);
    case LPO_CELL_COUNT:
    case LPO_CELL_NS:
        return lpo_jv_int(cell->whole);
    case LPO_CELL_BYTES:
        return lpo_jv_whole((struct lpo_measure){ cell->real, cell->how });
    case LPO_CELL_FLAG:
        return lpo_jv_flag(cell->whole != 0);
    default:
        return lpo_jv_real(cell->real);
    }
}

static void write_columns(struct lpo_json_writer *w, const struct lpo_table *t)
{
    lpo_jw_array(w, "columns");
    for (size_t c = 0; c < t->ncolumns; c++) {
        const struct lpo_column *column = &t->columns[c];

        lpo_jw_record(w, NULL, LPO_KV("key", column->key), LPO_KV("title", column->title),
                      LPO_KV("type", lpo_doc_cell_type_name(column->type)),
                      LPO_KV_IF(column->unit, "unit", column->unit));
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
        lpo_jw_put(w, LPO_V(t->columns[c].key));
    }
    if (any)
        lpo_jw_end(w);
}

static void write_table(struct lpo_json_writer *w, const struct lpo_table *t)
{
    lpo_jw_put(w, LPO_KV("id", t->id), LPO_KV("title", t->title));
    write_columns(w, t);
    lpo_jw_array(w, "rows");
    for (size_t r = 0; r < lpo_doc_table_rows(t); r++) {
        lpo_jw_object(w, NULL);
        for (size_t c = 0; c < t->ncolumns; c++) {
            const struct lpo_doc_cell *cell = lpo_doc_table_cell(t, r, c);

            lpo_jw_put(w, LPO_KV(t->columns[c].key, cell_value(t->columns[c].type, cell)),
                       LPO_KV_IF(cell->indent, "_depth", cell->indent));
        }
        write_estimated(w, t, r);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    if (t->total_rows)
        lpo_jw_put(w, LPO_KV("total_rows", t->total_rows));
}

static void write_lanes(struct lpo_json_writer *w, const struct lpo_figure *f)
{
    lpo_jw_array(w, "lanes");
    for (size_t i = 0; i < f->lanes.len; i++)
        lpo_jw_record(w, NULL, LPO_KV("group", f->lanes.at[i].group),
                      LPO_KV("name", f->lanes.at[i].name));
    lpo_jw_end(w);
    lpo_jw_array(w, "spans");
    for (size_t i = 0; i < f->spans.len; i++) {
        const struct lpo_span *s = &f->spans.at[i];

        lpo_jw_record(w, NULL, LPO_KV("lane", s->lane), LPO_KV("name", s->name),
                      LPO_KV("start_ns", s->start_ns), LPO_KV("end_ns", s->end_ns));
    }
    lpo_jw_end(w);
}

static void write_figure(struct lpo_json_writer *w, const struct lpo_figure *f)
{
    static const char *const kinds[] = { "bars", "scatter", "lanes", "stacked", "lines", "heat" };

    lpo_jw_put(w, LPO_KV("id", f->id), LPO_KV("title", f->title), LPO_KV("kind", kinds[f->kind]));
    if (f->kind == LPO_FIG_LANES) {
        write_lanes(w, f);
        return;
    }
    lpo_jw_put(w, LPO_KV("x", f->x_title), LPO_KV("y", f->y_title));
    lpo_jw_array(w, "points");
    for (size_t i = 0; i < f->points.len; i++) {
        const struct lpo_point *p = &f->points.at[i];

        lpo_jw_record(w, NULL, LPO_KV("series", p->series), LPO_KV("label", p->label),
                      LPO_KV("x", p->x), LPO_KV("y", p->y));
    }
    lpo_jw_end(w);
}

static void write_item(struct lpo_json_writer *w, const struct lpo_item *item)
{
    static const char *const types[] = { "paragraph", "note", "fact", "table", "figure" };

    lpo_jw_object(w, NULL);
    lpo_jw_put(w, LPO_KV("type", types[item->kind]));
    switch (item->kind) {
    case LPO_ITEM_NOTE:
        lpo_jw_put(w, LPO_KV("level", item->level == LPO_NOTE_WARNING ? "warning" : "info"),
                   LPO_KV("text", item->text));
        break;
    case LPO_ITEM_PARAGRAPH:
        lpo_jw_put(w, LPO_KV("text", item->text));
        break;
    case LPO_ITEM_FACT:
        lpo_jw_put(w, LPO_KV("key", item->key), LPO_KV("title", item->column.title),
                   LPO_KV("value_type", lpo_doc_cell_type_name(item->column.type)),
                   LPO_KV_IF(item->column.unit, "unit", item->column.unit),
                   LPO_KV("value", cell_value(item->column.type, &item->cell)),
                   LPO_KV_IF(item->cell.how == LPO_ESTIMATED, "estimated", lpo_jv_flag(true)));
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

static void write_value(struct lpo_json_writer *w, const struct lpo_doc_value *value, bool one_line)
{
    const struct lpo_jv *v = &value->v;
    int indent = w->indent;

    if (v->kind < LPO_IS_LIST) {
        lpo_jw_values(w, v, 1);
        return;
    }
    if (v->kind == LPO_IS_RECORD)
        lpo_jw_object(w, v->key);
    else
        lpo_jw_array(w, v->key);
    if (one_line)
        w->indent = 0;
    if (v->kind == LPO_IS_STREAM)
        write_stream(w, v->inner, one_line);
    else
        write_members(w, v->inner, one_line);
    lpo_jw_end(w);
    w->indent = indent;
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
        lpo_jw_put(w, LPO_KV("id", s->id), LPO_KV("title", s->title), LPO_KV("level", s->level));
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
    lpo_jw_put(&w, LPO_KV("schema", doc->schema));
    if (!doc->data_only) {
        lpo_jw_put(&w, LPO_KV("kind", doc->kind), LPO_KV("title", doc->title));
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
