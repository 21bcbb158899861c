/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/shorten.h"

#include "report/doc/doc.h"

/* MOST: of rows that are all alike, a page shows no more. Two rows take as much room as the line
 * that says what was left out. */
enum { FEW = 6, MOST = 60, MOST_UNSORTED = 24, WORTH_A_LINE = 2 };
#define MATTERS 0.01
#define NONE    SIZE_MAX

static double value_of(const struct lpo_table *t, size_t row, size_t column)
{
    const struct lpo_doc_cell *c = lpo_doc_table_cell(t, row, column);
    enum lpo_cell_type type = t->columns[column].type;
    double v = type == LPO_CELL_NS || type == LPO_CELL_COUNT ? (double)c->whole : c->real;

    return c->how == LPO_UNKNOWN || !isfinite(v) || v < 0 ? 0 : v;
}

static bool is_tree(const struct lpo_table *t, size_t *column)
{
    for (*column = 0; *column < t->ncolumns; (*column)++)
        for (size_t r = 0; r < lpo_doc_table_rows(t); r++)
            if (lpo_doc_table_cell(t, r, *column)->indent)
                return true;
    return false;
}

static bool falls(const struct lpo_table *t, size_t column)
{
    size_t rows = lpo_doc_table_rows(t);

    for (size_t r = 1; r < rows; r++)
        if (value_of(t, r, column) > value_of(t, r - 1, column))
            return false;
    return rows && value_of(t, 0, column) > 0;
}

/* The column that says what a row is worth: a time before anything else. NONE: no order is seen. */
static size_t find_weight(const struct lpo_table *t, bool tree)
{
    static const enum lpo_cell_type types[] = { LPO_CELL_NS, LPO_CELL_BYTES, LPO_CELL_PERCENT,
                                                LPO_CELL_COUNT };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t c = 0; c < t->ncolumns; c++)
            if (t->columns[c].type == types[i] && (tree ? types[i] == LPO_CELL_NS : falls(t, c)))
                return c;
    return NONE;
}

struct row {
    size_t at;
    double all, own; /* of a tree: with and without the rows below it */
};

LPO_COMPARE(largest_first, struct row, LPO_DOWN(all) ?: LPO_UP(at));

/* A row holds those below it, so that it is never smaller than one of them. */
static void find_rows(const struct lpo_table *t, size_t weight, bool tree, size_t names,
                      struct row *rows)
{
    size_t n = lpo_doc_table_rows(t);

    for (size_t r = n; r-- > 0;) {
        unsigned depth = tree ? lpo_doc_table_cell(t, r, names)->indent : 0;
        double below = 0;

        rows[r] = (struct row){ r, value_of(t, r, weight), 0 };
        for (size_t k = r + 1; tree && k < n && lpo_doc_table_cell(t, k, names)->indent > depth;
             k++) {
            if (rows[k].all > rows[r].all)
                rows[r].all = rows[k].all;
            if (lpo_doc_table_cell(t, k, names)->indent == depth + 1)
                below += rows[k].all;
        }
        rows[r].own = fmax(rows[r].all - below, 0);
    }
}

/* How many of the sorted rows stay, and the part of the others. */
static size_t count_kept(const struct row *rows, size_t n, size_t least, double *rest)
{
    double all = 0, left = 0;
    size_t keep = n;

    for (size_t i = 0; i < n; i++)
        all += rows[i].own;
    while (keep > least && (keep > MOST || left + rows[keep - 1].own < MATTERS * all))
        left += rows[--keep].own;
    *rest = all > 0 ? left / all : 0;
    return keep + WORTH_A_LINE >= n ? n : keep;
}

struct lpo_writer_short lpo_writer_shorten(const struct lpo_table *t, struct lpo_table *out)
{
    size_t n = lpo_doc_table_rows(t), least = t->least_rows ? t->least_rows : FEW, names, weight;
    struct lpo_writer_short cut = { 0, -1 };
    LPO_FREED struct row *rows = lpo_xcalloc(n + 1, sizeof *rows);
    LPO_FREED unsigned char *kept = lpo_xcalloc(n + 1, 1);
    bool tree = is_tree(t, &names);
    size_t keep = n;

    weight = find_weight(t, tree);
    if (weight == NONE && n > least && n > MOST_UNSORTED + WORTH_A_LINE)
        keep = least > MOST_UNSORTED ? least : MOST_UNSORTED;
    for (size_t i = 0; weight == NONE && i < n; i++)
        rows[i].at = i;
    if (weight != NONE) {
        find_rows(t, weight, tree, names, rows);
        qsort(rows, n, sizeof *rows, largest_first);
        keep = count_kept(rows, n, least, &cut.rest);
    }
    for (size_t i = 0; i < keep; i++)
        kept[rows[i].at] = 1;
    *out = *t;
    out->cells.at = NULL;
    out->cells.len = out->cells.cap = 0;
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; kept[r] && c < t->ncolumns; c++)
            lpo_vec_push(&out->cells, *lpo_doc_table_cell(t, r, c));
    cut.left_out = n - keep;
    return cut;
}
