/* SPDX-License-Identifier: Apache-2.0 */
/* The chapters on kernels, their classes, idle time and copies; and kernels.md, the long table. */
#include "analysis/analysis.h"
#include "analysis/wall/timeline.h"
#include "region/scope.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/ncu_rules.h"
#include "report/tables/tables.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/budget.h"

enum { KERNELS = 15, RULES = 8 };                           /* at least, in a short report */
enum { REGIONS = 40, KERNELS_OF_REGION = 10, WIDTH = 160 }; /* in kernels.md */

/* What ncu measured in the same run. */
static const struct lpo_trace *counters_of(const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_source_with(d, LPO_ROLE_COUNTERS);

    return s ? s->trace : NULL;
}

void lpo_report_chapter_kernels(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s)
{
    if (!s->analysis->cells->cells.len)
        return;
    lpo_doc_section(doc, "kernels", "Most expensive kernels", 1);
    lpo_doc_section_page(doc, "kernels.md");
    lpo_report_add_top_kernels(doc, s->analysis, counters_of(d), d->top)->least_rows = KERNELS;
    lpo_report_ncu_rules(doc, d, 2, RULES, false);
}

static void add_idle(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s)
{
    const struct lpo_table_options idle = { .fold_over = 1, .most_rows = d->top };
    const struct lpo_analysis *a = s->analysis;

    lpo_doc_section(doc, "idle", "Busy and idle", 1);
    lpo_doc_section_is_detail(doc); /* what the GPU lost is said before, by cause */
    lpo_report_add_devices(doc, a);
    lpo_doc_paragraph(
        doc,
        "By stream, and by a rule of its own: the cause of a gap is the host when the next "
        "operation was launched after the stream had become empty; else it is a dependency when "
        "the gap is shorter than 30 us. A stream may be idle while the GPU works: what the GPU "
        "lost is in \"Where the wall time went\".");
    lpo_report_add_streams(doc, a, 32);
    if (a->tree->nodes.len)
        lpo_report_add_region_idle(doc, a, lpo_analysis_all(a), &idle);
}

void lpo_report_chapter_gpu_details(struct lpo_doc *doc, const struct lpo_rundir *d,
                                    const struct lpo_source *s)
{
    const struct lpo_analysis *a = s->analysis;
    const struct lpo_region_scope *all = lpo_analysis_all(a);

    if (!a->cells->cells.len)
        return;
    lpo_doc_section(doc, "classes", "Kernel classes", 1);
    lpo_doc_section_is_detail(doc);
    lpo_doc_paragraph(doc, "Guessed from the names of the kernels.");
    lpo_report_add_classes(doc, a);
    if (a->timeline->devices.len)
        add_idle(doc, d, s);
    if (all->coverage.copies.launches || all->coverage.sets.launches) {
        lpo_doc_section(doc, "copies", "Copies and memsets", 1);
        lpo_doc_section_is_detail(doc);
        lpo_report_add_copies(doc, a);
    }
}

struct lpo_doc *lpo_report_kernels_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("kernels", "Kernels");
    const struct lpo_region_scope *all;

    if (counters_of(d)) /* many columns */
        doc->width = WIDTH;
    if (!s || !s->analysis->cells->cells.len) {
        lpo_doc_paragraph(doc, "No GPU operations were recorded in this run.");
        return doc;
    }
    all = lpo_analysis_all(s->analysis);
    lpo_doc_section(doc, "all", "All kernels", 1);
    lpo_doc_paragraph(doc, "From %s, by GPU time.", s->what);
    lpo_report_add_top_kernels(doc, s->analysis, counters_of(d), lpo_budget()->listed_kernels);
    lpo_doc_section(doc, "classes", "Kernel classes", 1);
    lpo_doc_paragraph(doc, "Guessed from the names of the kernels.");
    lpo_report_add_classes(doc, s->analysis);
    lpo_report_chapter_fusion(doc, s);
    if (s->analysis->tree->nodes.len) {
        lpo_doc_section(doc, "regions", "Kernels by region", 1);
        lpo_report_add_region_kernels(doc, all, counters_of(d), REGIONS, KERNELS_OF_REGION);
    }
    lpo_report_ncu_rules(doc, d, 1, SIZE_MAX, true);
    return doc;
}
