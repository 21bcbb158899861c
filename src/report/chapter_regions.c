/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Time by region": the aggregate, then every process, device and rank. */
#include "report/chapters.h"

#include <stdint.h>

#include "analysis/analysis.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/tables/tables.h"
#include "report/traced_facts.h"
#include "rundir/rundir.h"
#include "util/str.h"

/* 400 rows: a program may mark tens of thousands of regions, and the JSON has all of them. */
static void add_scope(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s,
                      struct lpo_scope_id id)
{
    const struct lpo_region_scope *scope = lpo_analysis_scope(s->analysis, id);
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
    if (lpo_report_is_replay(s->trace))
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "Nsight Compute runs each kernel alone and repeats it (replay): these are "
                     "durations under replay, and not when the kernels ran.");
    if (!s->analysis->trace->gpu_ops.len && !s->analysis->trace->summaries.len)
        lpo_doc_note(doc, LPO_NOTE_INFO, "No GPU operations were recorded: these are host times.");
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
        lpo_doc_paragraph(doc,
                          "Each of these is the only one of its kind and has the same numbers: %s.",
                          same.at);
    lpo_report_add_first_calls(doc, d, s);
    lpo_vec_free(&ids);
}
