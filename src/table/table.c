/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table.h"

struct lpo_cell lpo_table_cell(const struct lpo_rows *rows, const struct lpo_column *c, size_t row)
{
    struct lpo_cell cell = c->get(rows, row);

    /* 2^63 and beyond do not fit a whole number, and no count, time or size is that large */
    if (c->type == LPO_CELL_BYTES && !(fabs(cell.real) < 0x1p63))
        cell.how = LPO_UNKNOWN;
    return cell;
}

const struct lpo_column *lpo_table_column(const struct lpo_table_kind *kind, const char *key)
{
    return lpo_find(i, kind->columns, kind->ncolumns,
                    *kind->columns[i].key == *key && strcmp(kind->columns[i].key, key) == 0);
}

LPO_NAMES(lpo_table_sql_type,
          enum lpo_cell_type, [LPO_CELL_TEXT] = "TEXT", [LPO_CELL_COUNT] = "INTEGER",
          [LPO_CELL_NS] = "INTEGER", [LPO_CELL_BYTES] = "INTEGER", [LPO_CELL_PERCENT] = "REAL",
          [LPO_CELL_MEASURE] = "REAL", [LPO_CELL_FLAG] = "INTEGER", [LPO_CELL_LIST] = "TEXT");

struct lpo_cell lpo_cell_measure(struct lpo_measure m)
{
    struct lpo_cell c = { .real = m.value, .how = isfinite(m.value) ? m.how : LPO_UNKNOWN };

    if (c.how && fabs(m.value) < 0x1p63)
        c.whole = llround(m.value);
    return c;
}

struct lpo_cell lpo_cell_real(double v)
{
    return lpo_cell_measure(lpo_measure_computed(v));
}

struct lpo_cell lpo_cell_share(double part, double whole)
{
    return lpo_cell_measure(whole != 0 ? lpo_measure_computed(part / whole)
                                       : lpo_measure_unknown());
}

struct lpo_cell lpo_cell_percent(struct lpo_measure m)
{
    m.value /= 100;
    return lpo_cell_measure(m);
}

struct lpo_cell lpo_cell_text(const char *text)
{
    return text ? lpo_cell_textn(text, strlen(text)) : lpo_cell_unknown();
}

struct lpo_cell lpo_cell_textn(const char *text, size_t len)
{
    return (struct lpo_cell){ .text = text, .len = len, .how = LPO_COMPUTED };
}

struct lpo_cell lpo_cell_tree(const char *text, unsigned indent)
{
    return lpo_cell_path(text, NULL, indent);
}

struct lpo_cell lpo_cell_path(const char *path, const char *name, unsigned indent)
{
    struct lpo_cell c = lpo_cell_text(path);

    c.shown = name;
    c.indent = indent;
    return c;
}

struct lpo_str *lpo_table_scratch(const struct lpo_rows *rows)
{
    lpo_str_clear(rows->scratch);
    return rows->scratch;
}

struct lpo_cell lpo_cell_scratch(const struct lpo_rows *rows)
{
    return lpo_cell_textn(lpo_str_text(rows->scratch), rows->scratch->len);
}
