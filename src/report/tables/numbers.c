/* SPDX-License-Identifier: Apache-2.0 */
/* The table of numbers that the program gave with its ranges: a column for each, a row for each
 * region. */

#include "analysis/numbers/numbers.h"
#include "analysis/analysis.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"

enum { MOST_NAMES = 6 };

/* The names that numbers have, in the order in which regions give them. */
struct names {
    uint32_t at[MOST_NAMES];
    size_t len;
    bool more;
};

static size_t index_of(const struct names *n, uint32_t name)
{
    size_t i = 0;

    while (i < n->len && n->at[i] != name)
        i++;
    return i;
}

static struct names find_names(const struct lpo_numbers *numbers)
{
    struct names n = { 0 };

    for (size_t i = 0; i < numbers->rows.len; i++) {
        uint32_t name = numbers->rows.at[i].name;

        if (index_of(&n, name) < n.len)
            continue;
        if (n.len == MOST_NAMES)
            n.more = true;
        else
            n.at[n.len++] = name;
    }
    return n;
}

static struct lpo_table *make_table(struct lpo_doc *doc, const struct lpo_analysis *a,
                                    const struct names *n)
{
    struct lpo_column *columns = lpo_arena_array(doc->arena, 2 * n->len + 2, sizeof *columns);
    size_t count = 0;

    columns[count++] = (struct lpo_column){ "region", "Region", LPO_CELL_TEXT, NULL };
    columns[count++] = (struct lpo_column){ "count", "Given", LPO_CELL_COUNT, NULL };
    for (size_t i = 0; i < n->len; i++) {
        const char *name = n->at[i] == LPO_NONE ? "(payload)" : lpo_trace_text(a->trace, n->at[i]);

        columns[count++] = (struct lpo_column){ name, name, LPO_CELL_MEASURE, "" };
        columns[count++] = (struct lpo_column){ lpo_arena_printf(doc->arena, "%s_mean", name),
                                                lpo_arena_printf(doc->arena, "%.40s, mean", name),
                                                LPO_CELL_MEASURE, "", 1 };
    }
    return lpo_doc_table(doc, "numbers", "Numbers that the program gave", columns, count);
}

/* The rows of one region, from `from` on; where the next one's begin. */
static size_t add_region(struct lpo_table *t, const struct lpo_analysis *a, const struct names *n,
                         const struct lpo_numbers *numbers, size_t from)
{
    const struct lpo_numbers_row *of[MOST_NAMES] = { 0 };
    uint32_t node = numbers->rows.at[from].node;
    LPO_STR path = { 0 };
    uint64_t given = 0;
    size_t i = from;

    for (; i < numbers->rows.len && numbers->rows.at[i].node == node; i++) {
        size_t column = index_of(n, numbers->rows.at[i].name);

        given += numbers->rows.at[i].count;
        if (column < n->len)
            of[column] = &numbers->rows.at[i];
    }
    if (!t)
        return i;
    if (node == LPO_NODE_OUTSIDE)
        lpo_str_add(&path, "(outside)");
    else
        lpo_region_add_path(a->tree, node, &path);
    lpo_doc_row(t, lpo_str_text(&path), given);
    for (size_t k = 0; k < n->len; k++) {
        lpo_doc_row(t, of[k] ? lpo_measure_computed(of[k]->sum) : lpo_measure_unknown(),
                    of[k] ? lpo_measure_computed(of[k]->sum / (double)of[k]->count)
                          : lpo_measure_unknown());
    }
    return i;
}

struct lpo_table *lpo_report_add_number_columns(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                const struct lpo_table_options *options)
{
    const struct lpo_numbers *numbers = lpo_analysis_numbers(a);
    struct names names = find_names(numbers);
    struct lpo_table *t;
    size_t regions = 0;

    if (!numbers->rows.len)
        return NULL;
    t = make_table(doc, a, &names);
    for (size_t i = 0; i < numbers->rows.len; regions++)
        i = add_region(!options->most_rows || regions < options->most_rows ? t : NULL, a, &names,
                       numbers, i);
    if (lpo_doc_table_rows(t) < regions)
        t->total_rows = regions;
    if (names.more)
        lpo_doc_note(doc, LPO_NOTE_INFO, "Only the first %d numbers have a column; --json has all.",
                     MOST_NAMES);
    return t;
}
