/* SPDX-License-Identifier: Apache-2.0 */
/* First visits beside the median of later ones: what happens once is not the cost of every step. */
#include "analysis/analysis.h"
#include "analysis/phases/phases.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "rundir/rundir.h"

static const struct lpo_column columns[] = {
    { "first_ns", "First call", LPO_CELL_NS, NULL },
    { "later_ns", "Later, median", LPO_CELL_NS, NULL },
    { "later", "Later calls", LPO_CELL_COUNT, NULL },
    { "extra_ns", "Once", LPO_CELL_NS, NULL },
    { "name", "Range or operator", LPO_CELL_TEXT, NULL },
};

enum { ROWS = 10 };

void lpo_report_add_first_calls(struct lpo_doc *doc, const struct lpo_source *s)
{
    const struct lpo_phases *f = lpo_analysis_phases(s->analysis);
    const struct lpo_trace *trace = s->analysis->trace;
    struct lpo_table *t;

    if (!f->first_calls.len)
        return;
    t = lpo_doc_table(doc, "first_calls", "First calls that take much longer than later ones",
                      columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < f->first_calls.len && i < ROWS; i++) {
        const struct lpo_first_call *c = &f->first_calls.at[i];

        lpo_doc_row(
            t, c->end_ns - c->start_ns, c->later_ns, c->later,
            c->end_ns - c->start_ns - c->later_ns,
            lpo_cell_textn(lpo_trace_text(trace, c->name), lpo_trace_text_len(trace, c->name)));
    }
    if (f->first_calls.len > ROWS)
        t->total_rows = f->first_calls.len;
}
