/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/for_people.h"

#include "report/doc/doc.h"
#include "writer/layout.h"

void lpo_writer_add_cell(const struct lpo_writer_style *style, struct lpo_str *out,
                         const struct lpo_column *column, const struct lpo_doc_cell *cell,
                         size_t width)
{
    unsigned indent = lpo_writer_layout_indent(cell, width);

    if (column->type != LPO_CELL_TEXT || cell->how == LPO_UNKNOWN) {
        style->number(column, cell, out);
        return;
    }
    for (unsigned i = 0; i < indent; i++)
        lpo_str_add(out, style->indent);
    style->name(out, cell->text, cell->len, width - 2 * indent);
}

/* A fact that is not known is left to machines. */
static bool is_unknown(const struct lpo_item *item)
{
    return item->kind == LPO_ITEM_FACT && item->cell.how == LPO_UNKNOWN;
}

void lpo_writer_add_sections(const struct lpo_writer_style *style, const void *writer,
                             const struct lpo_doc *doc, struct lpo_str *out)
{
    for (size_t i = 0; i < doc->sections.len; i++) {
        const struct lpo_section *s = doc->sections.at[i];

        if (style->skip && style->skip(writer, s))
            continue;
        if (s->title[0])
            style->heading(writer, s);
        for (size_t k = 0; k < s->items.len; k++) {
            size_t next = k + 1;

            while (next < s->items.len && is_unknown(&s->items.at[next]))
                next++;
            if (!is_unknown(&s->items.at[k]))
                style->item(writer, &s->items.at[k],
                            next == s->items.len || s->items.at[next].kind != LPO_ITEM_FACT);
        }
    }
    while (out->len > 1 && out->at[out->len - 1] == '\n' && out->at[out->len - 2] == '\n')
        out->at[--out->len] = '\0';
}
