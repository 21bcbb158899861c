/* SPDX-License-Identifier: Apache-2.0 */
#include "report/doc/doc.h"

LPO_NAMES(lpo_doc_cell_type_name, enum lpo_cell_type, "text", "count", "ns", "bytes", "share",
          "measure", "flag");

struct lpo_doc *lpo_doc_create(const char *kind, const char *title)
{
    struct lpo_doc *doc = lpo_xcalloc(1, sizeof *doc);

    doc->schema = LPO_REPORT_SCHEMA;
    doc->arena = lpo_arena_create();
    doc->kind = lpo_arena_strdup(doc->arena, kind);
    doc->title = lpo_arena_strdup(doc->arena, title);
    doc->data = lpo_doc_record_create(doc->arena);
    return doc;
}

struct lpo_doc *lpo_doc_create_data(const char *schema, const char *kind, const char *title)
{
    struct lpo_doc *doc = lpo_doc_create(kind, title);

    doc->schema = schema;
    doc->data_only = true;
    return doc;
}

static void free_item(struct lpo_item *item)
{
    if (item->table) {
        lpo_vec_free(&item->table->cells);
        lpo_vec_free(&item->table->rest);
    }
    if (item->figure) {
        lpo_vec_free(&item->figure->points);
        lpo_vec_free(&item->figure->lanes);
        lpo_vec_free(&item->figure->spans);
        lpo_vec_free(&item->figure->arrows);
        lpo_vec_free(&item->figure->counts);
        lpo_vec_free(&item->figure->span_notes);
    }
}

void lpo_doc_destroy(struct lpo_doc *doc)
{
    if (!doc)
        return;
    for (size_t i = 0; i < doc->sections.len; i++) {
        struct lpo_section *s = doc->sections.at[i];

        for (size_t k = 0; k < s->items.len; k++)
            free_item(&s->items.at[k]);
        lpo_vec_free(&s->items);
    }
    lpo_vec_free(&doc->sections);
    lpo_arena_destroy(doc->arena);
    free(doc);
}

const char *lpo_doc_keep(struct lpo_doc *doc, const char *text, size_t len)
{
    return lpo_arena_strndup(doc->arena, text, len);
}

void lpo_doc_section(struct lpo_doc *doc, const char *id, const char *title, int level)
{
    struct lpo_section *s = LPO_NEW(doc->arena, struct lpo_section);

    s->id = lpo_arena_strdup(doc->arena, id);
    s->title = lpo_arena_strdup(doc->arena, title);
    s->level = level;
    lpo_vec_push(&doc->sections, s);
}

void lpo_doc_section_is_detail(struct lpo_doc *doc)
{
    doc->sections.at[doc->sections.len - 1]->detail = true;
}

void lpo_doc_section_page(struct lpo_doc *doc, const char *page)
{
    doc->sections.at[doc->sections.len - 1]->page = page;
}

/* A document whose builder named no section yet gets one without a heading. */
/* Valid until the next item is added: the items of a section move when their vector grows. */
static struct lpo_item *add_item(struct lpo_doc *doc, enum lpo_item_kind kind)
{
    struct lpo_section *s;

    if (doc->sections.len == 0)
        lpo_doc_section(doc, "main", "", 1);
    s = doc->sections.at[doc->sections.len - 1];
    lpo_vec_push(&s->items, (struct lpo_item){ .kind = kind });
    return &s->items.at[s->items.len - 1];
}

static const char *keep_formatted(struct lpo_arena *a, const char *fmt, va_list ap)
{
    LPO_STR text = { 0 };

    lpo_str_addv(&text, fmt, ap);
    return lpo_arena_strdup(a, lpo_str_text(&text));
}

void lpo_doc_paragraph(struct lpo_doc *doc, const char *fmt, ...)
{
    struct lpo_item *item = add_item(doc, LPO_ITEM_PARAGRAPH);
    va_list ap;

    va_start(ap, fmt);
    item->text = keep_formatted(doc->arena, fmt, ap);
    va_end(ap);
}

void lpo_doc_note(struct lpo_doc *doc, enum lpo_note_level level, const char *fmt, ...)
{
    struct lpo_item *item = add_item(doc, LPO_ITEM_NOTE);
    va_list ap;

    va_start(ap, fmt);
    item->level = level;
    item->text = keep_formatted(doc->arena, fmt, ap);
    va_end(ap);
}

struct lpo_table *lpo_doc_table(struct lpo_doc *doc, const char *id, const char *title,
                                const struct lpo_column *columns, size_t ncolumns)
{
    struct lpo_table *t = LPO_NEW(doc->arena, struct lpo_table);

    t->id = lpo_arena_strdup(doc->arena, id);
    t->title = lpo_arena_strdup(doc->arena, title);
    t->columns = columns;
    t->ncolumns = ncolumns;
    t->arena = doc->arena;
    add_item(doc, LPO_ITEM_TABLE)->table = t;
    return t;
}

struct lpo_figure *lpo_doc_figure(struct lpo_doc *doc, const char *id, const char *title,
                                  enum lpo_figure_kind kind)
{
    struct lpo_figure *f = LPO_NEW(doc->arena, struct lpo_figure);

    f->id = lpo_arena_strdup(doc->arena, id);
    f->title = lpo_arena_strdup(doc->arena, title);
    f->kind = kind;
    f->arena = doc->arena;
    add_item(doc, LPO_ITEM_FIGURE)->figure = f;
    return f;
}

void lpo_doc_figure_point(struct lpo_figure *f, const char *series, const char *label, double x,
                          double y)
{
    lpo_vec_push(&f->points, (struct lpo_point){ lpo_arena_strdup(f->arena, series),
                                                 lpo_arena_strdup(f->arena, label), x, y });
}

uint32_t lpo_doc_figure_lane(struct lpo_figure *f, const char *group, const char *name)
{
    lpo_vec_push(&f->lanes, (struct lpo_lane){ lpo_arena_strdup(f->arena, group),
                                               lpo_arena_strdup(f->arena, name) });
    return (uint32_t)f->lanes.len - 1;
}

void lpo_doc_figure_span(struct lpo_figure *f, uint32_t lane, const char *name, int64_t start_ns,
                         int64_t end_ns)
{
    lpo_vec_push(&f->spans, (struct lpo_span){ start_ns, end_ns, name, lane });
}

void lpo_doc_figure_note(struct lpo_figure *f, const char *key, const char *text)
{
    if (text)
        lpo_vec_push(&f->span_notes, (struct lpo_span_note){ f->spans.len - 1, key, text });
}

void lpo_doc_add_fact(struct lpo_doc *doc, const char *key, const char *label,
                      enum lpo_cell_type type, const char *unit, struct lpo_cell cell)
{
    struct lpo_item *item = add_item(doc, LPO_ITEM_FACT);

    item->key = lpo_arena_strdup(doc->arena, key);
    item->column = (struct lpo_column){ item->key, lpo_arena_strdup(doc->arena, label), type,
                                        unit ? lpo_arena_strdup(doc->arena, unit) : NULL };
    item->cell = lpo_doc_shown_cell(doc->arena, type, &cell);
}
