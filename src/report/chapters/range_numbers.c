/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Numbers of ranges": payloads that the program gave with them. */
#include <stdlib.h>

#include "analysis/analysis.h"
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
    { "range", "Range", LPO_CELL_TEXT, NULL }, { "count", "Numbers", LPO_CELL_COUNT, NULL },
    { "sum", "Sum", LPO_CELL_MEASURE, "" },    { "mean", "Mean", LPO_CELL_MEASURE, "" },
    { "min", "Min", LPO_CELL_MEASURE, "", 1 }, { "max", "Max", LPO_CELL_MEASURE, "", 1 },
};

static void add_row(struct lpo_table *t, const struct lpo_trace *trace,
                    const struct lpo_range_number *r)
{
    LPO_STR name = { 0 };

    if (r->domain)
        lpo_str_addf(&name, "%s@", lpo_trace_text(trace, trace->domains.at[r->domain]));
    lpo_str_add(&name, lpo_trace_text(trace, r->name));
    lpo_doc_row_text(t, lpo_str_text(&name));
    lpo_doc_row_count(t, r->count);
    lpo_doc_row_measure(t, lpo_measure_computed(r->sum));
    lpo_doc_row_measure(t, lpo_measure_computed(r->sum / (double)r->count));
    lpo_doc_row_measure(t, lpo_measure_measured(r->least));
    lpo_doc_row_measure(t, lpo_measure_measured(r->most));
}

void lpo_report_chapter_numbers(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s)
{
    const struct lpo_trace *trace = s->analysis->trace;
    struct lpo_table *t;

    if (!trace->range_numbers.len)
        return;
    lpo_doc_section(doc, "numbers", "Numbers of ranges", 1);
    lpo_doc_paragraph(doc, "What the program gave as payload of its NVTX ranges, by their name: "
                           "tokens, sizes of batches, or whatever it counts.");
    t = lpo_doc_table(doc, "numbers", "", columns, COUNT(columns));
    for (size_t i = 0; i < trace->range_numbers.len && i < d->top; i++)
        add_row(t, trace, &trace->range_numbers.at[i]);
    if (trace->range_numbers.len > d->top)
        t->total_rows = trace->range_numbers.len;
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
