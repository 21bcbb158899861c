/* SPDX-License-Identifier: Apache-2.0 */
/* stakeholder_summary.md: half a page for someone who does not know what a kernel is. Every
 * sentence is made from a number of this run; nothing is said that was not measured. */
#include <math.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "analysis/limits/limits.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/wall.h"
#include "region/fold.h"
#include "region/scope.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/findings/findings.h"
#include "report/limits/chapter_limits.h"
#include "report/stage_results.h"
#include "report/summary/private.h"
#include "report/traced_facts.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"

enum { BAR = 40 /* characters */ };

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

/* Why the GPU was idle, where one cause has more than half of it. */
static void add_idle_cause(struct lpo_summary_page *t)
{
    const struct lpo_wall_device *d = t->wall;
    const struct lpo_trace *trace = t->s->analysis->trace;
    const char *words[LPO_IDLE_CAUSES] = {
        [LPO_IDLE_HOST] = "the program launched the next work too late.",
        [LPO_IDLE_QUEUED] = "the next work was launched in time, and waited for something else.",
        [LPO_IDLE_UNKNOWN] = "the trace does not show why.",
    };

    if (lpo_report_finding_between(t->findings, d))
        words[LPO_IDLE_QUEUED] = "the next work was launched in time: a GPU needs that long from "
                                 "one operation to the next.";
    if (d->calls.len)
        words[LPO_IDLE_BLOCKED] =
            lpo_arena_printf(t->doc->arena, "the program waited in a call, longest in %.80s (%s).",
                             lpo_trace_text(trace, d->calls.at[0].name),
                             lpo_summary_duration(t, d->calls.at[0].idle_ns));
    for (int c = 0; c < LPO_IDLE_CAUSES; c++) {
        int64_t ns = d->idle[c].ns;

        /* who waits for work that was submitted before is not what the GPU waits for */
        ns -= c == LPO_IDLE_BLOCKED ? t->findings->submitted_ns : 0;
        ns += c == LPO_IDLE_QUEUED ? t->findings->submitted_ns : 0;
        if (ns > d->idle_ns - ns && words[c])
            lpo_doc_paragraph(t->doc, "For %s of the idle time %s",
                              lpo_summary_percent(t, ns, d->idle_ns), words[c]);
    }
}

static void add_bar_part(struct lpo_str *bar, const char *mark, int64_t *done_ns, int64_t ns,
                         int64_t span_ns)
{
    int from = (int)(BAR * (double)*done_ns / (double)span_ns + 0.5), to;

    *done_ns += ns;
    to = (int)(BAR * (double)*done_ns / (double)span_ns + 0.5);
    for (int i = from; i < to; i++)
        lpo_str_add(bar, mark);
}

/* Where the wall time of the critical GPU went, in one bar. */
static void add_bar(struct lpo_summary_page *t)
{
    const struct lpo_wall_device *d = t->wall;
    LPO_STR bar = { 0 };
    int64_t done_ns = 0;

    if (d->parts_unknown || d->span_ns <= 0)
        return;
    add_bar_part(&bar, "█", &done_ns, d->compute_ns, d->span_ns);
    add_bar_part(&bar, "▓", &done_ns, d->exposed_communication_ns, d->span_ns);
    add_bar_part(&bar, "▒", &done_ns, d->exposed_copy_ns, d->span_ns);
    add_bar_part(&bar, "░", &done_ns, d->idle_ns, d->span_ns);
    lpo_doc_paragraph(t->doc, "%s (█ computing, ▓ communicating, ▒ copying, ░ idle)",
                      lpo_str_text(&bar));
}

/* Noise was shown with the speed; what lies outside of marked parts makes no time less sure. */
static bool is_said_first(enum lpo_caution_kind kind)
{
    return kind != LPO_CAUTION_NOISE && kind != LPO_CAUTION_OUTSIDE;
}

static void add_cautions(struct lpo_summary_page *t)
{
    const struct lpo_finding_words w = { t->doc->arena, t->s, t->findings };

    for (size_t i = 0; i < t->findings->cautions.len; i++)
        if (is_said_first(t->findings->cautions.at[i].kind))
            lpo_doc_paragraph(t->doc, "Take care: %s",
                              lpo_report_finding_caution(&w, &t->findings->cautions.at[i]));
}

static void add_wall(struct lpo_summary_page *t)
{
    const struct lpo_finding_words w = { t->doc->arena, t->s, t->findings };

    lpo_doc_section(t->doc, "wall", "Where the wall time went", 1);
    add_cautions(t);
    lpo_doc_paragraph(t->doc, "%s", lpo_report_finding_verdict(&w));
    add_bar(t);
    if (t->wall->idle_ns > t->wall->span_ns / 20) /* extreme times: no product of them fits */
        add_idle_cause(t);
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

static const struct lpo_evidence *evidence(const struct lpo_finding *f, enum lpo_fact fact)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == fact)
            return &f->evidence[i];
    return NULL;
}

/* What of the evidence the advice needs, where that is a large part: " For 1.2 ms of it the host
 * was at model.py(3): forward.", " Pinned memory would save about 3 ms of it." */
static const char *key_fact(const struct lpo_finding_words *w, const struct lpo_finding *f)
{
    const struct lpo_evidence *step = evidence(f, LPO_FACT_MESSAGES_IN_STEP),
                              *all = evidence(f, LPO_FACT_MESSAGES);

    if (step)
        return lpo_arena_printf(w->arena, " A step has %s small collectives one after another.",
                                lpo_report_finding_value(w, step));
    if (all)
        return lpo_arena_printf(w->arena, " There are %s small collectives one after another.",
                                lpo_report_finding_value(w, all));
    for (size_t i = f->nevidence; i-- > 0;) { /* the line of Python comes after the operator */
        const struct lpo_evidence *e = &f->evidence[i];

        if (e->fact == LPO_FACT_PINNED_SAVES_NS && e->value >= (double)f->saving_ns / 10)
            return lpo_arena_printf(w->arena, " Pinned memory would save about %s of it.",
                                    lpo_report_finding_value(w, e));
        if ((e->fact == LPO_FACT_IN_PYTHON || e->fact == LPO_FACT_IN_OPERATOR) &&
            e->value > (double)f->saving_ns / 2)
            return lpo_arena_printf(w->arena, " F%s.", lpo_report_finding_part(w, f, e) + 1);
    }
    return "";
}

static void add_finding(struct lpo_summary_page *t, const struct lpo_finding *f, size_t number)
{
    const struct lpo_finding_words w = { t->doc->arena, t->s, t->findings };

    lpo_doc_paragraph(t->doc, "%zu. %s: %s could be saved.%s %s", number,
                      lpo_report_finding_title(&w, f), lpo_report_finding_saving(&w, f),
                      key_fact(&w, f), lpo_report_finding_advice(&w, f));
}

static void add_findings(struct lpo_summary_page *t)
{
    const struct lpo_finding_words w = { t->doc->arena, t->s, t->findings };
    const char *begin = lpo_report_finding_begin(&w);
    size_t shown = 0;

    for (size_t i = 0; i < t->findings->all.len && shown < LPO_SUMMARY_ROWS; i++)
        if (lpo_findings_above_noise(t->findings, &t->findings->all.at[i]))
            add_finding(t, &t->findings->all.at[i], ++shown);
    if (begin)
        lpo_doc_paragraph(t->doc, "%s", begin);
    if (!shown)
        lpo_doc_paragraph(t->doc, "%s", lpo_report_finding_none(t->s, t->findings));
}

/* Without a GPU nothing is known about savings: only where to look. */
static void add_host_part(struct lpo_summary_page *t)
{
    const struct lpo_fold_row *best = NULL;

    for (size_t i = 0; i < t->fold->rows.len; i++) {
        const struct lpo_fold_row *r = &t->fold->rows.at[i];

        if (lpo_summary_counts(t, r) && r->sum.host_self_ns > (best ? best->sum.host_self_ns : 0))
            best = r;
    }
    add_cautions(t);
    if (best && !t->s->analysis->trace->counted_kernels)
        lpo_doc_paragraph(t->doc,
                          "Look at \"%s\": by itself it takes %s, more than any other part.",
                          best->path, lpo_summary_duration(t, best->sum.host_self_ns));
    lpo_doc_paragraph(t->doc, "%s", lpo_report_finding_none(t->s, t->findings));
}

static void add_advice(struct lpo_summary_page *t)
{
    lpo_doc_section(t->doc, "todo", "What to do first", 1);
    if (!t->s)
        lpo_doc_paragraph(t->doc, "%s", lpo_report_how_to_get_a_trace(t->d));
    else if (!lpo_summary_has_steady_time(t))
        lpo_doc_paragraph(t->doc, "Let the program do some of its real work while it is profiled, "
                                  "and mark the parts with NVTX ranges.");
    else if (t->gpu)
        add_findings(t);
    else
        add_host_part(t);
}

/* What the numbers above rest on. */
static void add_sureness(struct lpo_summary_page *t)
{
    struct lpo_finding_words w = { t->doc->arena, t->s, t->findings };
    bool measured = false, estimated = false, cut = false, simulated = false;
    const char *more;

    if (!t->findings->any_device)
        return;
    lpo_doc_section(t->doc, "sure", "How sure this is", 1);
    for (size_t i = 0; i < 2; i++)
        if ((more = lpo_report_finding_masked(&w, i)))
            lpo_doc_paragraph(t->doc, "%s", more);
    if ((more = lpo_report_finding_queued(&w)))
        lpo_doc_paragraph(t->doc, "%s", more);
    for (size_t i = 0; i < t->findings->all.len; i++) {
        const struct lpo_finding *f = &t->findings->all.at[i];

        *(f->estimated ? &estimated : &measured) = true;
        cut |= !f->estimated && evidence(f, LPO_FACT_SIMULATED_NS);
        simulated |= f->shorter_ns > 0;
    }
    if (measured)
        lpo_doc_paragraph(t->doc,
                          "\"At most\" is time that was measured%s; how much of it can be saved "
                          "depends on the program.",
                          cut ? ", or less where a simulation of the trace says so" : "");
    if (estimated)
        lpo_doc_paragraph(t->doc, "\"About\" is an estimate%s.",
                          simulated ? ", by a simulation of the trace with shorter kernels" : "");
    lpo_doc_paragraph(t->doc, "%s",
                      t->findings->noise > 0
                          ? lpo_arena_printf(t->doc->arena,
                                             "Repeats of the same work differ by %.0f %%.",
                                             100 * t->findings->noise)
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
    t->steady = lpo_analysis_steady(t->s->analysis);
    t->all = t->steady->all;
    t->fold =
        lpo_region_fold_create(t->all, 1); /* "layer*" is one thing to a reader of this page */
    t->gpu = t->all->coverage.total.ns + lpo_summary_copies_ns(t) > 0;
    if (t->steady->wall && t->steady->wall->devices.len)
        t->wall = &t->steady->wall->devices.at[0];
    t->findings = lpo_analysis_findings(t->d, t->s);
    if (t->wall)
        add_wall(t);
    lpo_summary_add_time(t);
    if (t->gpu && !t->wall)
        add_no_wall(t);
    add_limits(t);
    add_advice(t);
    add_sureness(t);
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
        add_advice(&t);
    return t.doc;
}
