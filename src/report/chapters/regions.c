/* SPDX-License-Identifier: Apache-2.0 */
/* The chapters "Time by region" and "Time by module": one tree, and how processes, devices and
 * ranks differ. Modules are a chapter of their own, so that the first says the same with stacks and
 * without. */

#include "analysis/analysis.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "util/units.h"

/* Of a page that is too long the tree keeps most; 400 rows are in the JSON's table, and all regions
 * in its `scopes`. */
enum { LEAST_ROWS = 20, MOST_ROWS = 400, MOST_SCOPES = 64 };

/* As in the closing table of a run: two are a family, because what differs among them is said by
 * the columns of its spread, and 200 lines are few. */
static size_t fold_over(const struct lpo_rundir *d)
{
    return d->fold_over == SIZE_MAX ? SIZE_MAX : 1;
}

/* Work of threads without ranges, as PyTorch's backward pass is, appears up to three times. */
static void explain_outside(struct lpo_doc *doc, const struct lpo_coverage *c)
{
    LPO_STR s = { 0 };

    if (!c->adopted.ns && !c->backward.ns)
        return;
    lpo_units_add_duration(&s, c->outside.ns);
    lpo_str_add(&s, " of kernels were launched outside every region.");
    if (c->adopted.ns) {
        lpo_str_add(&s, " Adopted: ");
        lpo_units_add_duration(&s, c->adopted.ns);
        lpo_str_add(&s, " of that was launched while one other thread was in the region.");
    }
    if (c->backward.ns) {
        lpo_str_add(&s, " Backward: ");
        lpo_units_add_duration(&s, c->backward.ns);
        lpo_str_add(&s,
                    ", by the region of the forward pass. It is the same time seen another way, "
                    "not more of it.");
    }
    lpo_doc_paragraph(doc, "%s", lpo_str_text(&s));
}

static void add_tree(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s,
                     struct lpo_scope_id id)
{
    const struct lpo_region_scope *scope = lpo_analysis_scope(s->analysis, id);
    struct lpo_table_options options = { fold_over(d), MOST_ROWS, .no_zeros = true };

    lpo_report_add_regions(doc, scope, &options)->least_rows = LEAST_ROWS;
    lpo_report_add_captured(doc, scope, &options);
    lpo_report_add_backward(doc, scope, &options);
    explain_outside(doc, &scope->coverage);
}

static void add_scope(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s,
                      struct lpo_scope_id id)
{
    LPO_STR name = { 0 };

    lpo_region_scope_add_name(s->analysis->trace, id, &name);
    lpo_doc_section(doc, "regions", name.at, 2);
    add_tree(doc, d, s, id);
}

/* Is there more than one of the kind? Else it equals the aggregate. */
static size_t count_kind(const lpo_scope_ids *ids, enum lpo_scope_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < ids->len; i++)
        n += ids->at[i].kind == kind;
    return n;
}

/* One tree over everything; of the other scopes, a line for each that differs. */
static void add_with_others(struct lpo_doc *doc, const struct lpo_rundir *d,
                            const struct lpo_source *s, const lpo_scope_ids *ids)
{
    LPO_FREED lpo_scope_ids others = { 0 };

    add_tree(doc, d, s, (struct lpo_scope_id){ .kind = LPO_SCOPE_ALL });
    for (size_t i = 0; i < ids->len; i++) {
        if (ids->at[i].kind == LPO_SCOPE_ALL)
            continue;
        if (count_kind(ids, ids->at[i].kind) > 1)
            lpo_vec_push(&others, ids->at[i]);
    }
    if (others.len)
        lpo_report_add_scopes(doc, s->analysis, others.at,
                              others.len < MOST_SCOPES ? others.len : MOST_SCOPES, fold_over(d));
}

void lpo_report_chapter_regions(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s)
{
    const struct lpo_trace *t = s->analysis->trace;
    LPO_FREED lpo_scope_ids ids = { 0 };
    bool shown_whole = false;

    if (t->memory_events.len && !t->ranges.len && !t->gpu_ops.len && !t->ops.len)
        return; /* a snapshot has no times */
    lpo_doc_section(doc, "regions", "Time by region", 1);
    if (s->analysis->tree->nodes.len)
        lpo_doc_paragraph(
            doc,
            "From %s. A region is a path of %s; its time includes the regions inside "
            "it, its own time does not.",
            s->what, s->analysis->trace->ops.len ? "the program's annotations" : "NVTX ranges");
    else
        lpo_doc_paragraph(doc, "From %s. The program marked no regions.", s->what);
    if (lpo_report_is_replay(s->trace))
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "Nsight Compute runs each kernel alone and repeats it (replay): these are "
                     "durations under replay, and not when the kernels ran.");
    if (!s->analysis->trace->gpu_ops.len && !s->analysis->trace->summaries.len)
        lpo_doc_note(doc, LPO_NOTE_INFO, "No GPU operations were recorded: these are host times.");
    lpo_region_scopes_list(s->analysis->cells, &ids);
    if (d->aggregate)
        add_with_others(doc, d, s, &ids);
    for (size_t i = 0; !d->aggregate && i < ids.len; i++) {
        bool whole = lpo_region_scope_is_all(s->analysis->cells, ids.at[i]);

        /* one process on one GPU has one table */
        if (ids.at[i].kind != LPO_SCOPE_ALL && !(whole && shown_whole))
            add_scope(doc, d, s, ids.at[i]);
        shown_whole |= whole && ids.at[i].kind != LPO_SCOPE_ALL;
    }
    lpo_report_add_first_calls(doc, s);
}

enum { LEAST_MODULES = 12, SCOPE_BYTES = 4 << 20 };

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
    return lpo_any(i, a->tree->nodes.len, a->tree->nodes.at[i].kind == LPO_MODULE);
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
    lpo_report_add_regions(doc, lpo_analysis_all(a), &options)->least_rows = LEAST_MODULES;
    lpo_report_add_backward(doc, lpo_analysis_all(a), &options);
}

void lpo_report_put_modules(struct lpo_record *to, const struct lpo_rundir *d)
{
    const struct lpo_source *s;
    const struct lpo_analysis *a = lpo_report_modules(d, &s);

    if (a)
        lpo_report_put_scopes_in(lpo_doc_put_record(to, "modules"), a, true, SCOPE_BYTES);
}
