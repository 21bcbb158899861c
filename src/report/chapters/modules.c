/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Time by module": calls of PyTorch modules as regions, where Python stacks were
 * recorded. A chapter of its own, so that "Time by region" says the same with stacks and without.
 */
#include "analysis/analysis.h"
#include "region/scope.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "trace/trace.h"
#include "util/str.h"

enum { LEAST_ROWS = 12, MOST_ROWS = 400, SCOPE_BYTES = 4 << 20 };

const struct lpo_analysis *lpo_report_modules(const struct lpo_rundir *d,
                                              const struct lpo_source **from)
{
    const struct lpo_source *s = lpo_rundir_source_with(d, LPO_ROLE_OPERATORS);

    *from = s;
    if (lpo_streq(lpo_settings_text(d->config, "report.regions.modules"), "off"))
        return NULL;
    return s && s->analysis ? lpo_analysis_modules(s->analysis) : NULL;
}

static bool has_modules(const struct lpo_analysis *a)
{
    for (size_t i = 0; i < a->tree->nodes.len; i++)
        if (a->tree->nodes.at[i].kind == LPO_MODULE)
            return true;
    return false;
}

void lpo_report_chapter_modules(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    struct lpo_table_options options = { d->fold_over == SIZE_MAX ? SIZE_MAX : 1, MOST_ROWS,
                                         .no_zeros = true };
    const struct lpo_source *s;
    const struct lpo_analysis *a = lpo_report_modules(d, &s);

    if (!a)
        return;
    lpo_doc_section(doc, "modules", "Time by module", 1);
    lpo_doc_paragraph(
        doc, "From %s: %s as regions, below the ranges that the program marked itself.", s->what,
        has_modules(a) ? "calls of PyTorch modules"
                       : "functions of the program that launched something");
    lpo_report_add_regions(doc, lpo_analysis_all(a), &options)->least_rows = LEAST_ROWS;
    lpo_report_add_backward(doc, lpo_analysis_all(a), &options);
}

void lpo_report_put_modules(struct lpo_record *to, const struct lpo_rundir *d)
{
    const struct lpo_source *s;
    const struct lpo_analysis *a = lpo_report_modules(d, &s);

    if (a)
        lpo_report_put_scopes_in(lpo_doc_put_record(to, "modules"), a, true, SCOPE_BYTES);
}
