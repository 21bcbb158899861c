/* SPDX-License-Identifier: Apache-2.0 */
/* stakeholder_summary.md: half a page for someone who does not know what a kernel is. Every
 * sentence is made from a number of this run; nothing is said that was not measured. */

#include "analysis/analysis.h"
#include "analysis/ladder/ladder.h"
#include "analysis/limits/limits.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/wall.h"
#include "region/fold.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/findings/findings.h"
#include "report/limits/chapter_limits.h"
#include "report/summary/private.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "util/json.h"

static void add_what_ran(struct lpo_summary_page *t)
{
    const char *program = lpo_report_run_program(t->d), *model = lpo_report_run_model(t->d);
    const char *command = lpo_report_run_command(t->d);
    const struct lpo_json *gpus = lpo_json_at(t->d->env, "gpus.devices");
    const struct lpo_json *first = gpus ? gpus->first : NULL;
    const char *traced = t->d->env ? NULL : lpo_report_traced_gpus(t->d);

    lpo_doc_section(t->doc, "what", "What was measured", 1);
    lpo_doc_paragraph(t->doc, "%s%s%s.",
                      program ? "The program "
                      : model ? "The model "
                              : "A program",
                      program ? program
                      : model ? model
                              : "",
                      first    ? lpo_arena_printf(t->doc->arena, " on %zu x %s", gpus->count,
                                                  lpo_json_text(lpo_json_get(first, "name"), "GPU"))
                      : traced ? lpo_arena_printf(t->doc->arena, " on %s", traced)
                      : gpus   ? " on a machine without a GPU"
                               : "");
    if (command && !lpo_streq(command, program))
        lpo_doc_paragraph(t->doc, "It was started with: %s", command);
    lpo_report_add_stage_endings(t->doc, t->d);
}

static void add_cautions(struct lpo_summary_page *t, const struct lpo_ladder_words *w)
{
    for (size_t i = 0; i < w->all->cautions.len; i++) {
        enum lpo_caution_kind kind = w->all->cautions.at[i].kind;

        /* noise was shown with the speed; what lies outside of marked parts makes no time less sure
         */
        if (kind != LPO_CAUTION_NOISE && kind != LPO_CAUTION_OUTSIDE)
            lpo_doc_paragraph(t->doc, "Take care: %s",
                              lpo_report_ladder_caution(w, &w->all->cautions.at[i]));
    }
}

/* The picture before everything else. */
static void add_wall(struct lpo_summary_page *t, const struct lpo_ladder_words *w)
{
    const char *verdict = lpo_report_ladder_verdict(w);

    lpo_doc_section(t->doc, "wall", "Where the wall time went", 1);
    add_cautions(t, w);
    if (verdict)
        lpo_doc_paragraph(t->doc, "%s", verdict);
    lpo_report_add_ladder(t->doc, w);
}

static void add_no_wall(struct lpo_summary_page *t)
{
    lpo_doc_paragraph(t->doc, "%s", lpo_report_why_no_clock(t->s->trace));
}

static void add_speed(struct lpo_summary_page *t)
{
    for (size_t i = 0; i < t->d->speeds.len; i++) {
        const struct lpo_json *m = t->d->speeds.at[i].metrics;
        double rate = lpo_json_real(lpo_json_at(m, "aggregate.tokens_per_s.p50"), NAN);
        double first = lpo_json_real(lpo_json_at(m, "aggregate.ttft_ms.p50"), NAN);

        /* the plain run is the one that counts */
        if (!lpo_streq(t->d->speeds.at[i].stage,
                       lpo_rundir_stage_with(t->d, LPO_ROLE_UNDISTURBED)) ||
            isnan(rate))
            continue;
        if (isnan(first))
            lpo_doc_paragraph(t->doc, "It produced %.4g tokens per second.", rate);
        else
            lpo_doc_paragraph(t->doc,
                              "It produced %.4g tokens per second, the first after %.4g ms.", rate,
                              first);
    }
}

static void add_findings(struct lpo_summary_page *t, const struct lpo_ladder_words *w)
{
    const struct lpo_rung *r;
    size_t shown = 0;

    for (size_t i = 0; (r = lpo_report_rung_at(w, i)) && shown < LPO_SUMMARY_ROWS; i++)
        if (lpo_report_rung_counts(w, r))
            lpo_doc_paragraph(t->doc, "%zu. %s%s. %s", ++shown, lpo_report_rung_title(w, r),
                              lpo_report_rung_has_time(w, r) || r->bytes
                                  ? lpo_arena_printf(t->doc->arena, ": %s could be saved",
                                                     lpo_report_rung_saving(w, r))
                                  : "",
                              lpo_report_rung_advice(w, r));
    if (!shown)
        lpo_doc_paragraph(t->doc, "%s", lpo_report_ladder_rest(w));
}

/* Without a GPU nothing is known about savings: only where to look. */
static void add_host_part(struct lpo_summary_page *t, const struct lpo_ladder_words *w)
{
    const struct lpo_fold_row *best = NULL;

    for (size_t i = 0; i < t->fold->rows.len; i++) {
        const struct lpo_fold_row *r = &t->fold->rows.at[i];

        if (lpo_summary_counts(t, r) && r->sum.host_self_ns > (best ? best->sum.host_self_ns : 0))
            best = r;
    }
    add_cautions(t, w);
    if (best && !t->s->analysis->trace->counted_kernels)
        lpo_doc_paragraph(t->doc,
                          "Look at \"%s\": by itself it takes %s, more than any other part.",
                          best->path, lpo_summary_duration(t, best->sum.host_self_ns));
    lpo_doc_paragraph(t->doc, "%s", lpo_report_ladder_rest(w));
}

static void add_advice(struct lpo_summary_page *t, const struct lpo_ladder_words *w)
{
    lpo_doc_section(t->doc, "todo", "What to do first", 1);
    if (!t->s)
        lpo_doc_paragraph(t->doc, "%s", lpo_report_how_to_get_a_trace(t->d));
    else if (!lpo_summary_has_steady_time(t))
        lpo_doc_paragraph(t->doc, "Let the program do some of its real work while it is profiled, "
                                  "and mark the parts with NVTX ranges.");
    else if (t->gpu)
        add_findings(t, w);
    else
        add_host_part(t, w);
}

/* What the numbers above rest on. */
static void add_sureness(struct lpo_summary_page *t, const struct lpo_ladder_words *w)
{
    if (!w->ladder)
        return;
    lpo_doc_section(t->doc, "sure", "How sure this is", 1);
    if (w->ladder->rungs.len)
        lpo_doc_paragraph(t->doc,
                          "Each saving is what a simulation of the trace takes less with the "
                          "change, on top of the ones before it. \"About\" says that the "
                          "size of the change itself is an estimate.");
    lpo_doc_paragraph(t->doc, "%s",
                      w->all->noise > 0
                          ? lpo_arena_printf(t->doc->arena,
                                             "Repeats of the same work differ by %.0f %%.",
                                             100 * w->all->noise)
                          : "It was measured once: how much repeats differ is not known.");
}

static void add_limits(struct lpo_summary_page *t)
{
    struct lpo_err ignored = { 0 }; /* the main report shows what is wrong with the analysis */
    const struct lpo_limits *limits = lpo_analysis_limits(t->d, t->s, &ignored);

    if (limits)
        lpo_report_limits_in_words(t->doc, limits);
}

static void add_trace(struct lpo_summary_page *t)
{
    struct lpo_ladder_words w;

    t->steady = lpo_analysis_steady(t->s->analysis);
    t->all = t->steady->all;
    t->fold =
        lpo_region_fold_create(t->all, 1); /* "layer*" is one thing to a reader of this page */
    t->gpu = t->all->coverage.total.ns + lpo_summary_copies_ns(t) > 0;
    if (t->steady->wall && t->steady->wall->devices.len)
        t->wall = &t->steady->wall->devices.at[0];
    w = lpo_report_ladder_words(t->doc->arena, t->d, t->s);
    if (t->wall)
        add_wall(t, &w);
    lpo_summary_add_time(t);
    if (t->gpu && !t->wall)
        add_no_wall(t);
    add_limits(t);
    add_advice(t, &w);
    add_sureness(t, &w);
    lpo_region_fold_destroy(t->fold);
}

struct lpo_doc *lpo_summary_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_summary_page t = { .doc = lpo_doc_create("summary", "Summary"), .d = d, .s = s };

    add_what_ran(&t);
    add_speed(&t);
    lpo_report_summary_speed(t.doc, d);
    lpo_report_summary_requests(t.doc, d);
    if (s)
        add_trace(&t);
    else
        add_advice(&t, NULL);
    lpo_summary_add_tables(&t);
    return t.doc;
}
