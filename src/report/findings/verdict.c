/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of all findings together: what the GPU did with its time, why there is no finding,
 * what no finding counts. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/counters/kernel_profile.h"
#include "analysis/findings/findings.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/timeline.h"
#include "analysis/wall/wall.h"
#include "region/cells.h"
#include "region/top_kernels.h"
#include "report/findings/findings.h"
#include "report/findings/private.h"
#include "report/trace_records.h"
#include "report/traced_facts.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"

#define KERNELS_UNKNOWN                                                                            \
    " Whether its kernels could be faster is not known without hardware counters or a model to "   \
    "compare them with (report.needs)."

/* Several reasons together may take what none of them takes alone. */
static bool is_idle(const struct lpo_source *s)
{
    const struct lpo_wall_device *d = &lpo_analysis_steady(s->analysis)->wall->devices.at[0];

    return d->idle_ns > d->span_ns / 50;
}

/* From its start to its end a GPU operation waits for nothing. */
static bool is_one_operation(const struct lpo_source *s, const struct lpo_findings *f)
{
    const struct lpo_trace *t = s->analysis->trace;
    size_t n = 0;

    for (size_t i = 0; i < t->gpu_ops.len && n < 2; i++)
        n += t->gpu_ops.at[i].device == f->device;
    return n == 1;
}

const char *lpo_report_finding_none(const struct lpo_source *s, const struct lpo_findings *f)
{
    const struct lpo_trace *t = s->analysis->trace;

    if (f->all.len)
        return "Every saving that was found is smaller than the difference between repeats.";
    for (size_t i = 0; i < f->cautions.len; i++)
        if (f->cautions.at[i].kind == LPO_CAUTION_UNKNOWN)
            return lpo_analysis_steady(s->analysis)->wall->no_calls
                       ? "Why the GPU was idle is not in this trace, so what could be saved is not "
                         "known: nsys, the PyTorch profiler and lpo run since version 0.2 record "
                         "what the host does."
                       : "Why the GPU was idle is not in this trace, so what could be saved is not "
                         "known: work without a launch record ended the gaps. Begin the capture "
                         "earlier.";
    if (f->any_device && (f->kernels_judged || f->compute_ns < f->span_ns / 2))
        return "Nothing was found that takes 2 % of the wall time and could be saved.";
    if (f->any_device && is_one_operation(s, f))
        return "With one GPU operation there is no time between two of them, so what the GPU waits "
               "for is not known.";
    if (f->any_device && is_idle(s))
        return "The GPU was idle for more than 2 % of the wall time, but no single finding would "
               "save that much." KERNELS_UNKNOWN;
    if (f->any_device)
        return "The GPU waits for nothing that takes 2 % of the wall time." KERNELS_UNKNOWN;
    if (lpo_report_is_replay(t))
        return "Nsight Compute runs each kernel alone and repeats it, so the wall time of the "
               "program, and what of it could be saved, is not known: a trace of nsys, of the "
               "PyTorch profiler or of lpo run shows it.";
    if (t->summaries.len)
        return "The file holds sums, and not when each kernel ran, so what could be saved of the "
               "wall time is not known: the recording itself shows it (nsys export --type sqlite).";
    return t->gpu_ops.len ? "When GPU operations ran was not recorded, so what could be saved of "
                            "the wall time is not known."
                          : "No GPU operation was recorded, so what a GPU could save is not known.";
}

/* "; it is limited by memory (81.0 % of its peak, the SMs 45.2 %)", by the longest launch of the
 * kernel that ncu measured. */
static void add_bound(const struct lpo_finding_words *w, const char *kernel, struct lpo_str *s)
{
    static const char *const texts[] = {
        [LPO_BOUND_LATENCY] = "; it keeps neither SMs nor memory busy, so it waits",
        [LPO_BOUND_BALANCED] = "; it is limited by computing and memory alike",
        [LPO_BOUND_MEMORY] = "; it is limited by memory",
        [LPO_BOUND_COMPUTE] = "; it is limited by computing",
    };
    const struct lpo_kernel_profiles all =
        lpo_counters_kernel_profiles(w->arena, w->s->analysis->trace);
    const struct lpo_kernel_profile *p = NULL;

    for (size_t i = 0; i < all.len; i++)
        if (all.at[i].bound != LPO_BOUND_UNKNOWN && lpo_streq(all.at[i].kernel, kernel) &&
            lpo_measure_known(all.at[i].duration_ns) &&
            (!p || all.at[i].duration_ns.value > p->duration_ns.value))
            p = &all.at[i];
    if (p)
        lpo_str_addf(s, "%s (the SMs at %s, the memory at %s of their peaks)", texts[p->bound],
                     lpo_report_findings_percent(w, p->compute_percent.value / 100),
                     lpo_report_findings_percent(w, p->memory_percent.value / 100));
}

const char *lpo_report_finding_begin(const struct lpo_finding_words *w)
{
    const struct lpo_wall_steady *steady = lpo_analysis_steady(w->s->analysis);
    const struct lpo_top_row *top = steady->top.len ? &steady->top.at[0] : NULL;
    LPO_STR s = { 0 };

    if (w->findings->any_device || !top || top->sum.ns <= 0)
        return NULL;
    lpo_str_addf(&s, "Look first at the kernel %.200s: it takes %s of the time of all kernels (%s)",
                 lpo_region_cells_shown_name(w->s->analysis->cells, top->name),
                 lpo_report_findings_percent(w, top->share),
                 lpo_report_findings_duration(w, (double)top->sum.ns));
    add_bound(w, lpo_trace_text(w->s->analysis->trace, top->name), &s);
    lpo_str_add(&s, ".");
    return lpo_report_findings_keep(w, &s);
}

const char *lpo_report_finding_kernels(const struct lpo_finding_words *w)
{
    const struct lpo_findings *f = w->findings;

    if (!f->any_device || f->compute_ns <= f->span_ns / 50 ||
        f->kernels_slack_ns > f->compute_ns / 2)
        return NULL;
    for (size_t i = 0; i < f->cautions.len; i++)
        if (f->cautions.at[i].kind == LPO_CAUTION_NO_LAUNCH)
            return NULL;
    if (!w->s->analysis->trace->launches.len)
        return NULL;
    if (!f->kernels_slack_ns)
        return lpo_arena_printf(w->arena,
                                "Faster kernels would save nothing of %s of computing: the program "
                                "would wait for its host instead.",
                                lpo_report_findings_duration(w, (double)f->compute_ns));
    return lpo_arena_printf(w->arena, "Of %s of computing, faster kernels could save %s at most%s.",
                            lpo_report_findings_duration(w, (double)f->compute_ns),
                            lpo_report_findings_duration(w, (double)f->kernels_slack_ns),
                            f->kernels_simulated
                                ? ", by a simulation of the trace: for the rest, the program would "
                                  "wait for its host or for other work instead"
                                : ": for the rest, the next operation was launched too late, or "
                                  "other work ran beside it");
}

const char *lpo_report_finding_masked(const struct lpo_finding_words *w, size_t i)
{
    static const struct {
        const char *text;
        enum lpo_finding_kind kind;
    } what[] = { { "Communication runs", LPO_FINDING_COMMUNICATION },
                 { "Copies run", LPO_FINDING_COPIES } };
    const struct lpo_findings *f = w->findings;
    const struct lpo_findings_masked *m = &f->masked[i];

    if (!m->exposed_ns)
        return NULL;
    for (size_t k = 0; k < f->all.len; k++) /* what is left of it is a finding */
        if (f->all.at[k].kind == what[i].kind)
            return NULL;
    return lpo_arena_printf(
        w->arena,
        "%s alone for %s (%s), but without that the program would %s, by a "
        "simulation of the trace: it would wait for its host instead. No "
        "finding counts it.",
        what[i].text, lpo_report_findings_duration(w, (double)m->exposed_ns),
        lpo_report_findings_percent(w, (double)m->exposed_ns / (double)f->span_ns),
        m->saving_ns ? lpo_arena_printf(w->arena, "end only %s sooner",
                                        lpo_report_findings_duration(w, (double)m->saving_ns))
                     : "not end sooner");
}

bool lpo_report_finding_between(const struct lpo_findings *f, const struct lpo_wall_device *d)
{
    uint64_t gaps = d->idle[LPO_IDLE_QUEUED].count + f->submitted_gaps;
    int64_t ns = d->idle[LPO_IDLE_QUEUED].ns + f->submitted_ns;

    return gaps && ns / (int64_t)gaps < LPO_DEPENDENCY_NS;
}

const char *lpo_report_finding_queued(const struct lpo_finding_words *w)
{
    const struct lpo_wall_device *d;
    uint64_t gaps;
    int64_t ns;

    if (!w->findings->any_device)
        return NULL;
    d = &lpo_analysis_steady(w->s->analysis)->wall->devices.at[0];
    ns = d->idle[LPO_IDLE_QUEUED].ns + w->findings->submitted_ns;
    gaps = d->idle[LPO_IDLE_QUEUED].count + w->findings->submitted_gaps;
    if (ns < d->span_ns / 20 || !gaps)
        return NULL;
    if (lpo_report_finding_between(w->findings, d))
        return lpo_arena_printf(w->arena,
                                "For %s (%s) the GPU was idle although its next work had been "
                                "launched, for %s on average: a GPU needs a few microseconds from "
                                "one operation to the next. Fewer and larger kernels need less of "
                                "that. No finding counts it.",
                                lpo_report_findings_duration(w, (double)ns),
                                lpo_report_findings_percent(w, (double)ns / (double)d->span_ns),
                                lpo_report_findings_duration(w, (double)ns / (double)gaps));
    return lpo_arena_printf(w->arena,
                            "For %s (%s) the GPU was idle although its next work had been "
                            "launched, and none of its streams was busy: it waited for something "
                            "that is not in this trace, such as work of another GPU or "
                            "process, or records are missing. No finding counts that.",
                            lpo_report_findings_duration(w, (double)ns),
                            lpo_report_findings_percent(w, (double)ns / (double)d->span_ns));
}

size_t lpo_report_finding_remarks(const struct lpo_finding_words *w,
                                  const char *out[LPO_FINDING_REMARKS])
{
    const char *all[LPO_FINDING_REMARKS] = { lpo_report_finding_masked(w, 0),
                                             lpo_report_finding_masked(w, 1),
                                             lpo_report_finding_queued(w),
                                             lpo_report_finding_kernels(w) };
    size_t n = 0;

    for (size_t i = 0; i < LPO_FINDING_REMARKS; i++)
        if (all[i])
            out[n++] = all[i];
    return n;
}

/* "the GPU"; of several, which: "GPU 0 of rank 3, the one of 8 with the longest span,". */
static const char *gpu(const struct lpo_finding_words *w, size_t devices)
{
    const struct lpo_device *d = &w->s->analysis->trace->devices.at[w->findings->device];
    const char *rank = d->rank >= 0 ? lpo_arena_printf(w->arena, " of rank %d", d->rank) : "";

    if (devices == 1)
        return d->rank >= 0 ? lpo_arena_printf(w->arena, "GPU %d%s", d->id, rank) : "the GPU";
    return lpo_arena_printf(w->arena, "GPU %d%s, of %zu the one with the longest span,", d->id,
                            rank, devices);
}

const char *lpo_report_finding_verdict(const struct lpo_finding_words *w)
{
    const struct lpo_wall *wall;
    const struct lpo_wall_device *d;
    LPO_STR s = { 0 };

    if (!w->findings->any_device)
        return NULL;
    wall = lpo_analysis_steady(w->s->analysis)->wall;
    d = &wall->devices.at[0];
    if (d->parts_unknown) { /* communication inside graphs that were timed as a whole */
        lpo_str_addf(&s, "Of %s, %s was busy for %s and idle for %s.",
                     lpo_report_findings_duration(w, (double)d->span_ns), gpu(w, wall->devices.len),
                     lpo_report_findings_percent(w, 1 - (double)d->idle_ns / (double)d->span_ns),
                     lpo_report_findings_percent(w, (double)d->idle_ns / (double)d->span_ns));
        return lpo_report_findings_keep(w, &s);
    }
    lpo_str_addf(&s, "Of %s, %s computed for %s",
                 lpo_report_findings_duration(w, (double)d->span_ns), gpu(w, wall->devices.len),
                 lpo_report_findings_percent(w, (double)d->compute_ns / (double)d->span_ns));
    if (d->exposed_communication_ns > 0)
        lpo_str_addf(&s, ", communicated alone for %s",
                     lpo_report_findings_percent(w, (double)d->exposed_communication_ns /
                                                        (double)d->span_ns));
    if (d->exposed_copy_ns > d->span_ns / 100)
        lpo_str_addf(
            &s, ", copied alone for %s",
            lpo_report_findings_percent(w, (double)d->exposed_copy_ns / (double)d->span_ns));
    lpo_str_addf(&s, " and was idle for %s.",
                 lpo_report_findings_percent(w, (double)d->idle_ns / (double)d->span_ns));
    return lpo_report_findings_keep(w, &s);
}
