#include "report/chapters.h"

#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/wall/timeline.h"
#include "region/scope.h"
#include "region/top.h"
#include "report/doc/doc.h"
#include "report/notes.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/str.h"

static void add_scope(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s,
                      struct lpo_scope_id id)
{
    LPO_AUTO(lpo_region_scope) scope = lpo_region_scope_create(s->analysis->cells, id, s->select);
    struct lpo_table_options options = { d->fold_over, 400 };
    LPO_STR name = { 0 };

    lpo_region_scope_add_name(s->analysis->trace, id, &name);
    lpo_doc_section(doc, "regions", name.at, 2);
    lpo_report_add_regions(doc, scope, &options);
    lpo_report_add_captured(doc, scope, &options);
}

/* Is there more than one of the kind? Then each gets its table; else it equals the aggregate. */
static size_t count_kind(const lpo_scope_ids *ids, enum lpo_scope_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < ids->len; i++)
        n += ids->at[i].kind == kind;
    return n;
}

void lpo_report_chapter_regions(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s)
{
    lpo_scope_ids ids = { 0 };
    LPO_STR same = { 0 };

    lpo_doc_section(doc, "regions", "Time by region", 1);
    lpo_doc_paragraph(doc,
                      "From %s. A region is a path of NVTX ranges; its time includes the "
                      "regions inside it, its own time does not.",
                      s->what);
    if (!s->analysis->tree->nodes.len)
        lpo_doc_note(doc, LPO_NOTE_INFO, "The program marked no regions.");
    if (!s->analysis->trace->gpu_ops.len)
        lpo_doc_note(doc, LPO_NOTE_INFO, "No GPU work was recorded: these are times of the host.");
    lpo_region_scopes_list(s->analysis->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        bool only = ids.at[i].kind != LPO_SCOPE_ALL && count_kind(&ids, ids.at[i].kind) == 1;

        if (only && d->aggregate) {
            lpo_str_add(&same, same.len ? ", " : "");
            lpo_region_scope_add_name(s->analysis->trace, ids.at[i], &same);
        } else if (ids.at[i].kind != LPO_SCOPE_ALL || d->aggregate) {
            add_scope(doc, d, s, ids.at[i]);
        }
    }
    if (same.len)
        lpo_doc_paragraph(doc, "The same numbers, as the only one of its kind: %s.", same.at);
    lpo_vec_free(&ids);
}

void lpo_report_chapter_gpu(struct lpo_doc *doc, const struct lpo_rundir *d,
                            const struct lpo_source *s)
{
    const struct lpo_analysis *a = s->analysis;
    LPO_AUTO(lpo_region_scope)
    all = lpo_region_scope_create(a->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, s->select);

    if (!a->cells->cells.len)
        return;
    lpo_doc_section(doc, "kernels", "Kernels that take the time", 1);
    lpo_report_add_top_kernels(doc, a, d->top);
    lpo_doc_section(doc, "classes", "Kinds of kernels", 1);
    lpo_doc_paragraph(doc, "Guessed from the names of the kernels.");
    lpo_report_add_classes(doc, a);
    if (a->timeline->devices.len) {
        lpo_doc_section(doc, "idle", "Busy and idle", 1);
        lpo_report_add_devices(doc, a);
        lpo_doc_paragraph(
            doc, "A gap is the host's fault when the next work was launched only after the "
                 "stream had run dry; a dependency when it is shorter than 30 us.");
        lpo_report_add_streams(doc, a, 32);
        if (a->tree->nodes.len)
            lpo_report_add_region_idle(doc, a, all, d->top);
    }
    if (all->coverage.copies.launches || all->coverage.sets.launches) {
        lpo_doc_section(doc, "copies", "Copies and sets", 1);
        lpo_report_add_copies(doc, a);
    }
    if (a->tree->nodes.len) {
        lpo_doc_section(doc, "region_kernels", "Dearest kernels of the dearest regions", 1);
        lpo_report_add_region_kernels(doc, all, 6, 5);
    }
}

static void add_overlay(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_overlay_facts *o = &d->overlay;

    if (!o->stage)
        return;
    lpo_doc_paragraph(doc,
                      "Hardware counters were read for %llu launches of %llu distinct launch "
                      "configurations and laid over %llu launches: %llu by the same configuration, "
                      "%llu by another of the same kernel, %llu have none.",
                      o->measured, o->configs, o->launches, o->by_shape, o->by_name, o->uncovered);
}

void lpo_report_chapter_coverage(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s)
{
    lpo_doc_section(doc, "coverage", "What these numbers cover", 1);
    if (s) {
        LPO_AUTO(lpo_region_scope)
        all = lpo_region_scope_create(s->analysis->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 },
                                      s->select);

        if (all->coverage.total.launches)
            lpo_report_add_coverage(doc, all);
        else
            lpo_doc_paragraph(doc, "%zu visits of %zu regions were recorded, no GPU work.",
                              (size_t)s->analysis->trace->ranges.len,
                              (size_t)s->analysis->tree->nodes.len);
        add_overlay(doc, d);
        lpo_report_notes_doc(doc, s->analysis, s->select);
    }
    for (size_t i = 0; i < d->problems.len; i++)
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%s", d->problems.at[i]);
    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++)
        for (size_t k = 0; k < d->manifest.stages[i].nnotes; k++)
            lpo_doc_note(doc, LPO_NOTE_INFO, "%s: %s", d->manifest.stages[i].name,
                         d->manifest.stages[i].notes[k]);
}

void lpo_report_put_analysis(struct lpo_doc *doc, const struct lpo_rundir *d,
                             const struct lpo_source *s)
{
    lpo_top_rows top = { 0 };

    lpo_report_put_scopes(doc->data, s->analysis, s->select, d->aggregate);
    lpo_report_put_devices(doc->data, s->analysis);
    lpo_region_top(s->analysis->cells, LPO_KERNEL, &top);
    lpo_report_put_kernels(doc->data, s->analysis->cells, top.at, top.len);
    lpo_report_put_notes(doc->data, s->analysis, s->select);
    lpo_vec_free(&top);
}
