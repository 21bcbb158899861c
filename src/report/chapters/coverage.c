/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "What these numbers cover": attributed and not, and every warning. */
#include "analysis/analysis.h"
#include "region/scope.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/folder.h"
#include "report/tables/tables.h"
#include "report/trace_notes.h"
#include "rundir/rundir.h"

static void add_overlay(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_overlay_facts *o = &d->overlay;

    if (!o->stage)
        return;
    lpo_doc_paragraph(
        doc,
        "Hardware counters were measured on %llu launches of %llu distinct launch configurations "
        "and applied to %llu launches: %llu have the same configuration, %llu another "
        "configuration of the same kernel, %llu have no counters.",
        o->measured, o->configs, o->launches, o->by_shape, o->by_name, o->uncovered);
}

void lpo_report_chapter_coverage(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s)
{
    lpo_doc_section(doc, "coverage", "What these numbers cover", 1);
    if (s) {
        const struct lpo_region_scope *all = lpo_analysis_all(s->analysis);

        if (all->coverage.total.launches)
            lpo_report_add_coverage(doc, all);
        else
            lpo_doc_paragraph(doc,
                              "%llu calls of %zu regions were recorded, and no GPU operations.",
                              (unsigned long long)lpo_trace_range_count(s->analysis->trace),
                              (size_t)s->analysis->tree->nodes.len);
        add_overlay(doc, d);
        lpo_report_notes_doc(doc, s->analysis, s->select);
    }
    lpo_report_add_left(doc, d->left.at, d->left.len);
    for (size_t i = 0; i < d->problems.len; i++)
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%s", d->problems.at[i]);
    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++)
        for (size_t k = 0; k < d->manifest.stages[i].nnotes; k++)
            lpo_doc_note(doc, LPO_NOTE_INFO, "%s: %s", d->manifest.stages[i].name,
                         d->manifest.stages[i].notes[k]);
}
