/* SPDX-License-Identifier: Apache-2.0 */
/* The tables below the sentences of the summary: environment, aggregates, parts of the program,
 * MFU, operators, kernels, stages. The report has the same, and more rows of them. */
#include "report/tables/tables.h"
#include "analysis/analysis.h"
#include "analysis/limits/limits.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/limits/chapter_limits.h"
#include "report/summary/private.h"
#include "rundir/rundir.h"

enum { ROWS = 10 };

static void add_parts(const struct lpo_summary_page *t)
{
    static const struct lpo_table_options options = {
        .fold_over = 1, .most_rows = ROWS, .no_spread = true, .no_zeros = true
    };

    if (!t->s->analysis->tree->nodes.len)
        return;
    lpo_doc_section(t->doc, "parts", "Time of the parts", 1);
    lpo_report_add_regions(t->doc, lpo_analysis_all(t->s->analysis), &options);
}

static void add_limits(const struct lpo_summary_page *t)
{
    struct lpo_err ignored = { 0 }; /* the main report shows what is wrong with the analysis */
    const struct lpo_limits *limits = lpo_analysis_limits(t->d, t->s, &ignored);

    if (limits)
        lpo_report_chapter_limits(t->doc, limits);
}

static void add_operators(const struct lpo_summary_page *t)
{
    const struct lpo_source *s = lpo_rundir_source_with(t->d, LPO_ROLE_OPERATORS);

    if (!s || !s->analysis->trace->ops.len)
        return;
    lpo_doc_section(t->doc, "operators", "Most expensive operators", 1);
    lpo_report_add_operators(t->doc, s->analysis, "operators", ROWS);
}

static void add_kernels(const struct lpo_summary_page *t)
{
    const struct lpo_source *counters = lpo_rundir_source_with(t->d, LPO_ROLE_COUNTERS);

    if (!t->s->analysis->cells->cells.len)
        return;
    lpo_doc_section(t->doc, "kernels", "Most expensive kernels", 1);
    lpo_report_add_top_kernels(t->doc, t->s->analysis, counters ? counters->trace : NULL, ROWS);
}

void lpo_summary_add_tables(const struct lpo_summary_page *t)
{
    lpo_report_chapter_run(t->doc, t->d);
    lpo_report_chapter_speed(t->doc, t->d);
    if (t->s) {
        add_parts(t);
        add_limits(t);
        add_operators(t);
        add_kernels(t);
    }
    lpo_report_chapter_stages(t->doc, t->d);
}
