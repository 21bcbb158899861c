/* SPDX-License-Identifier: Apache-2.0 */
/* Filling and reading the tables of report/doc.h. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/doc/doc.h"
#include "util/arena.h"

size_t lpo_doc_table_rows(const struct lpo_table *t)
{
    return t->cells.len / t->ncolumns;
}

const struct lpo_doc_cell *lpo_doc_table_cell(const struct lpo_table *t, size_t row, size_t column)
{
    return &t->cells.at[row * t->ncolumns + column];
}

/* A cell of the wrong type is a mistake of the builder, never of the input. */
static struct lpo_doc_cell *next_cell(struct lpo_table *t, unsigned types)
{
    size_t column = t->cells.len % t->ncolumns;

    assert(types & 1u << t->columns[column].type);
    (void)column;
    (void)types;
    lpo_vec_push(&t->cells, (struct lpo_doc_cell){ .how = LPO_MEASURED });
    return &t->cells.at[t->cells.len - 1];
}

#define ONLY(type) (1u << (type))

void lpo_doc_row_tree(struct lpo_table *t, const char *text, size_t len, unsigned indent)
{
    struct lpo_doc_cell *c = next_cell(t, ONLY(LPO_CELL_TEXT));

    c->text = lpo_arena_strndup(t->arena, text, len);
    c->len = len;
    c->indent = indent;
}

void lpo_doc_row_path(struct lpo_table *t, const char *name, const char *path, unsigned indent)
{
    lpo_doc_row_tree(t, name, strlen(name), indent);
    t->cells.at[t->cells.len - 1].full = lpo_arena_strdup(t->arena, path);
}

void lpo_doc_row_textn(struct lpo_table *t, const char *text, size_t len)
{
    lpo_doc_row_tree(t, text, len, 0);
}

void lpo_doc_row_text(struct lpo_table *t, const char *text)
{
    if (text)
        lpo_doc_row_textn(t, text, strlen(text));
    else
        lpo_doc_row_unknown(t);
}

void lpo_doc_row_textf(struct lpo_table *t, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    lpo_doc_row_text(t, text);
}

void lpo_doc_row_count(struct lpo_table *t, uint64_t n)
{
    next_cell(t, ONLY(LPO_CELL_COUNT))->whole = (int64_t)n;
}

void lpo_doc_row_ns(struct lpo_table *t, int64_t ns)
{
    next_cell(t, ONLY(LPO_CELL_NS))->whole = ns;
}

void lpo_doc_row_bytes(struct lpo_table *t, double bytes)
{
    next_cell(t, ONLY(LPO_CELL_BYTES))->real = bytes;
}

void lpo_doc_row_percent(struct lpo_table *t, double percent)
{
    next_cell(t, ONLY(LPO_CELL_PERCENT))->real = percent / 100;
}

void lpo_doc_row_share(struct lpo_table *t, double part, double whole)
{
    if (whole != 0 && isfinite(part / whole))
        next_cell(t, ONLY(LPO_CELL_PERCENT))->real = part / whole;
    else
        lpo_doc_row_unknown(t);
}

void lpo_doc_row_measure(struct lpo_table *t, struct lpo_measure m)
{
    enum lpo_cell_type type = t->columns[t->cells.len % t->ncolumns].type;
    bool whole = type == LPO_CELL_COUNT || type == LPO_CELL_NS;
    struct lpo_doc_cell *c =
        next_cell(t, ONLY(LPO_CELL_COUNT) | ONLY(LPO_CELL_NS) | ONLY(LPO_CELL_BYTES) |
                         ONLY(LPO_CELL_PERCENT) | ONLY(LPO_CELL_MEASURE));

    c->how = isfinite(m.value) ? m.how : LPO_UNKNOWN;
    c->real = type == LPO_CELL_PERCENT ? m.value / 100 : m.value;
    if (c->how == LPO_UNKNOWN)
        return;
    /* 2^63 and beyond do not fit a whole number, and no count or duration is that large */
    if (fabs(m.value) < 0x1p63)
        c->whole = (int64_t)llround(m.value);
    else if (whole)
        c->how = LPO_UNKNOWN;
}

void lpo_doc_row_flag(struct lpo_table *t, bool yes)
{
    next_cell(t, ONLY(LPO_CELL_FLAG))->whole = yes;
}

void lpo_doc_row_unknown(struct lpo_table *t)
{
    next_cell(t, ~0u)->how = LPO_UNKNOWN;
}
