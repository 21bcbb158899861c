/* SPDX-License-Identifier: Apache-2.0 */
/* Filling and reading the tables of report/doc.h. */
#include <assert.h>

#include "report/doc/doc.h"

size_t lpo_doc_table_rows(const struct lpo_table *t)
{
    return t->cells.len / t->ncolumns;
}

const struct lpo_doc_cell *lpo_doc_table_cell(const struct lpo_table *t, size_t row, size_t column)
{
    return &t->cells.at[row * t->ncolumns + column];
}

struct lpo_doc_cell lpo_doc_shown_cell(struct lpo_arena *a, enum lpo_cell_type type,
                                       const struct lpo_cell *cell)
{
    struct lpo_doc_cell c = { .whole = cell->whole, .real = cell->real, .how = cell->how };

    /* 2^63 and beyond do not fit a whole number, and no count or duration is that large */
    if ((type == LPO_CELL_COUNT || type == LPO_CELL_NS) && cell->real > 0x1p63)
        c.how = LPO_UNKNOWN;
    assert(!c.how || (cell->text != NULL) == (type == LPO_CELL_TEXT));
    if (c.how && type == LPO_CELL_TEXT) {
        const char *text = cell->shown ? cell->shown : cell->text;

        c.len = cell->shown ? strlen(text) : cell->len;
        c.text = lpo_arena_strndup(a, text, c.len);
        c.indent = cell->indent;
        if (cell->shown)
            c.full = lpo_arena_strndup(a, cell->text, cell->len);
    }
    return c;
}

void lpo_doc_row_cells(struct lpo_table *t, const struct lpo_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum lpo_cell_type type = t->columns[t->cells.len % t->ncolumns].type;

        lpo_vec_push(&t->cells, lpo_doc_shown_cell(t->arena, type, &cells[i]));
    }
}
