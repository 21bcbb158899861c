/* SPDX-License-Identifier: Apache-2.0 */
/* What lpo says about the time: the longest gaps, and the findings. */
#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "analysis/wall/wall.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/timeline/private.h"
#include "trace/trace.h"
#include "util/arena.h"

void lpo_timeline_add_gaps(struct lpo_timeline *b)
{
    const struct lpo_wall *w = lpo_analysis_wall(b->a);

    for (size_t i = 0; w && i < w->devices.len; i++) {
        const struct lpo_wall_device *d = &w->devices.at[i];
        uint32_t lane;

        if (!d->longest.len)
            continue;
        lane = lpo_doc_figure_lane(b->f, lpo_timeline_group(b, d->device), "longest gaps");
        for (size_t k = 0; k < d->longest.len; k++) {
            const struct lpo_wall_gap *g = &d->longest.at[k];
            const char *call =
                g->cause == LPO_IDLE_BLOCKED
                    ? lpo_trace_text(b->a->trace, b->a->trace->calls.at[g->call].name)
                    : NULL;

            lpo_doc_figure_span(b->f, lane,
                                lpo_arena_printf(b->doc->arena, "idle %zu: %s%s%s", k + 1,
                                                 lpo_wall_cause_name(g->cause), call ? " in " : "",
                                                 call ? call : ""),
                                g->start_ns - b->zero_ns, g->start_ns + g->ns - b->zero_ns);
        }
    }
}

static void annotate(struct lpo_timeline *b, const struct lpo_finding_words *words,
                     const struct lpo_finding *f)
{
    struct lpo_finding_fact fact;

    lpo_doc_figure_note(b->f, "where", lpo_report_finding_where(words, f));
    lpo_doc_figure_note(b->f, "could be saved", lpo_report_finding_saving(words, f));
    lpo_doc_figure_note(b->f, "advice", lpo_report_finding_advice(words, f));
    for (size_t i = 0; lpo_report_finding_evidence(words, f, i, &fact); i++)
        lpo_doc_figure_note(b->f, lpo_arena_printf(b->doc->arena, "evidence %zu", i + 1),
                            fact.text);
}

/* A finding is about the whole span of its device: spans of one length lie under each other. */
void lpo_timeline_add_findings(struct lpo_timeline *b, const struct lpo_rundir *d,
                               const struct lpo_source *s)
{
    const struct lpo_findings *found = lpo_analysis_findings(d, s);
    const struct lpo_wall *w = lpo_analysis_wall(b->a);
    struct lpo_finding_words words = { b->doc->arena, s, found };
    uint32_t lane = LPO_NONE;

    for (size_t i = 0; w && w->devices.len && i < found->all.len; i++) {
        const struct lpo_finding *f = &found->all.at[i];

        if (!lpo_findings_above_noise(found, f))
            continue;
        if (lane == LPO_NONE)
            lane = lpo_doc_figure_lane(b->f, "findings of lpo", "largest saving first");
        lpo_doc_figure_span(b->f, lane, lpo_report_finding_title(&words, f),
                            w->devices.at[0].start_ns - b->zero_ns,
                            w->devices.at[0].start_ns + w->devices.at[0].span_ns - b->zero_ns);
        annotate(b, &words, f);
    }
}
