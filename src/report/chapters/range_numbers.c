/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Numbers of regions": what the program gave with its ranges. */

#include "analysis/analysis.h"
#include "analysis/numbers/numbers.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/budget.h"

typedef struct lpo_numbers_row number_row;

#define NUMBER(X)                                                                                  \
    X(number, region, "Region", TEXT, KEY, "innermost one that was open",                          \
      lpo_tables_path(rows, r->node))                                                              \
    X(number, number, "Number", TEXT, KEY, "its name, or (payload)",                               \
      r->name == LPO_NONE ? lpo_cell_text("(payload)") : lpo_tables_name(rows, r->name))           \
    X(number, count, "Given", COUNT, ADDS, "how often", r->count)                                  \
    X(number, sum, "Sum", MEASURE(""), ADDS, "of these", r->sum)                                   \
    X(number, mean, "Mean", MEASURE(""), FACT, "of these", r->sum / (double)r->count)              \
    X(number, min, "Min", MEASURE(""), LEAST, "of these", r->least, .minor = 1)                    \
    X(number, max, "Max", MEASURE(""), MOST, "of these", r->most, .minor = 1)

LPO_TABLE(number, NUMBER)

static const struct lpo_table_kind numbers_kind =
    LPO_TABLE_KIND(number, "numbers", "What the program gave with its ranges, by region");

/* Numbers that the program gave with its ranges; NULL: it gave none. */
static struct lpo_table *add_numbers(struct lpo_doc *doc, const struct lpo_analysis *a,
                                     const char *title, size_t most)
{
    const struct lpo_numbers *numbers = lpo_analysis_numbers(a);
    const struct lpo_rows rows = lpo_tables_rows(lpo_tables_of(doc->arena, a, NULL), &numbers_kind,
                                                 numbers->rows.at, numbers->rows.len);

    return rows.count ? lpo_doc_table_of(doc, "numbers", title, &rows, NULL, most) : NULL;
}

void lpo_report_chapter_numbers(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s)
{
    if (!lpo_analysis_numbers(s->analysis)->rows.len)
        return;
    lpo_doc_section(doc, "numbers", "Numbers of regions", 1);
    lpo_doc_section_is_detail(doc);
    lpo_doc_paragraph(doc, "What the program gave with its ranges, by name, or as payload of a "
                           "range: tokens, sizes of batches, or whatever it counts. A number "
                           "belongs to the innermost region that was open.");
    add_numbers(doc, s->analysis, "", d->top);
}

void lpo_report_put_numbers(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_trace *t = a->trace;
    struct lpo_record *list;

    if (!t->range_numbers.len)
        return;
    list = lpo_doc_put_list(to, "range_numbers");
    for (size_t i = 0; i < t->range_numbers.len && i < lpo_budget()->scopes; i++) {
        const struct lpo_range_number *n = &t->range_numbers.at[i];

        lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("range", lpo_report_name(t, n->name)),
                    LPO_KV("domain", lpo_report_name(t, t->domains.at[n->domain])),
                    LPO_KV("count", n->count), LPO_KV("sum", n->sum), LPO_KV("min", n->least),
                    LPO_KV("max", n->most));
    }
}
