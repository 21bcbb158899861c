/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Numbers of regions": what the program gave with its ranges. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/numbers/numbers.h"
#include "region/scope.h"
#include "region/tree.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/budget.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL }, { "number", "Number", LPO_CELL_TEXT, NULL },
    { "count", "Given", LPO_CELL_COUNT, NULL },  { "sum", "Sum", LPO_CELL_MEASURE, "" },
    { "mean", "Mean", LPO_CELL_MEASURE, "" },    { "min", "Min", LPO_CELL_MEASURE, "", 1 },
    { "max", "Max", LPO_CELL_MEASURE, "", 1 },
};

static void add_row(struct lpo_table *t, const struct lpo_analysis *a,
                    const struct lpo_numbers_row *r)
{
    LPO_STR path = { 0 };

    if (r->node == LPO_NODE_OUTSIDE)
        lpo_str_add(&path, "(outside)");
    else
        lpo_region_add_path(a->tree, r->node, &path);
    lpo_doc_row_text(t, lpo_str_text(&path));
    lpo_doc_row_text(t, r->name == LPO_NONE ? "(payload)" : lpo_trace_text(a->trace, r->name));
    lpo_doc_row_count(t, r->count);
    lpo_doc_row_measure(t, lpo_measure_computed(r->sum));
    lpo_doc_row_measure(t, lpo_measure_computed(r->sum / (double)r->count));
    lpo_doc_row_measure(t, lpo_measure_measured(r->least));
    lpo_doc_row_measure(t, lpo_measure_measured(r->most));
}

void lpo_report_chapter_numbers(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s)
{
    const struct lpo_numbers *numbers = lpo_analysis_numbers(s->analysis);
    struct lpo_table *t;

    if (!numbers->rows.len)
        return;
    lpo_doc_section(doc, "numbers", "Numbers of regions", 1);
    lpo_doc_section_is_detail(doc);
    lpo_doc_paragraph(doc, "What the program gave with its ranges, by name, or as payload of a "
                           "range: tokens, sizes of batches, or whatever it counts. A number "
                           "belongs to the innermost region that was open.");
    t = lpo_doc_table(doc, "numbers", "", columns, COUNT(columns));
    for (size_t i = 0; i < numbers->rows.len && i < d->top; i++)
        add_row(t, s->analysis, &numbers->rows.at[i]);
    if (numbers->rows.len > d->top)
        t->total_rows = numbers->rows.len;
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
        struct lpo_record *r = lpo_doc_put_record(list, NULL);
        uint32_t domain = t->domains.at[n->domain];

        lpo_doc_put_name(r, "range", lpo_trace_text(t, n->name), lpo_trace_text_len(t, n->name));
        lpo_doc_put_name(r, "domain", lpo_trace_text(t, domain), lpo_trace_text_len(t, domain));
        lpo_doc_put_uint(r, "count", n->count);
        lpo_doc_put_real(r, "sum", n->sum);
        lpo_doc_put_real(r, "min", n->least);
        lpo_doc_put_real(r, "max", n->most);
    }
}
