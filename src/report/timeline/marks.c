/* SPDX-License-Identifier: Apache-2.0 */
/* What lpo says about the time: the longest gaps, and the findings. */
#include "analysis/analysis.h"
#include "analysis/ladder/ladder.h"
#include "analysis/wall/wall.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/timeline/private.h"

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
            uint16_t process = b->a->trace->gpu_ops.at[g->op].process;
            const char *call =
                g->cause == LPO_IDLE_BLOCKED
                    ? lpo_trace_text(b->a->trace, lpo_trace_call(b->a->trace, g->call).name)
                    : NULL;

            lpo_doc_figure_span(b->f, lane,
                                lpo_arena_printf(b->doc->arena, "idle %zu: %s%s%s", k + 1,
                                                 lpo_wall_cause_name(g->cause), call ? " in " : "",
                                                 call ? call : ""),
                                lpo_timeline_at(b, process, g->start_ns),
                                lpo_timeline_at(b, process, g->start_ns + g->ns));
        }
    }
}

static void annotate(struct lpo_timeline *b, const struct lpo_ladder_words *words,
                     const struct lpo_rung *r)
{
    lpo_doc_figure_note(b->f, "where", lpo_report_rung_where(words, r));
    lpo_doc_figure_note(b->f, "could be saved", lpo_report_rung_saving(words, r));
    lpo_doc_figure_note(b->f, "advice", lpo_report_rung_advice(words, r));
    for (size_t i = 0, said = 0; i < r->nevidence; i++) {
        const char *text = lpo_report_rung_fact(words, &r->evidence[i]);

        if (text) /* not every fact has a sentence */
            lpo_doc_figure_note(b->f, lpo_arena_printf(b->doc->arena, "evidence %zu", ++said),
                                text);
    }
}

/* Each rung takes the place of what it would save, the first one at the end of the window. */
void lpo_timeline_add_findings(struct lpo_timeline *b, const struct lpo_rundir *d,
                               const struct lpo_source *s)
{
    struct lpo_ladder_words words = lpo_report_ladder_words(b->doc->arena, d, s);
    const struct lpo_ladder *l = words.ladder;
    uint32_t lane = LPO_NONE;

    for (size_t i = 0; l && i < l->rungs.len; i++) {
        const struct lpo_rung *r = &l->rungs.at[i];
        int64_t from = lpo_timeline_at(b, l->process, l->window.start_ns + r->after_ns);

        if (!lpo_report_rung_counts(&words, r))
            continue;
        if (lane == LPO_NONE)
            lane = lpo_doc_figure_lane(b->f, "findings of lpo", "largest saving first");
        lpo_doc_figure_span(b->f, lane, lpo_report_rung_title(&words, r), from,
                            from + r->saving_ns);
        annotate(b, &words, r);
    }
}
