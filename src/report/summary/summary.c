/* SPDX-License-Identifier: Apache-2.0 */
/* stakeholder_summary.md: half a page for someone who does not know what a kernel is. Every
 * sentence is made from a number of this run; nothing is said that was not measured. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/limits/limits.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/wall.h"
#include "hydra/compose.h"
#include "region/fold.h"
#include "region/scope.h"
#include "region/top_kernels.h"
#include "report/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/limits/chapter_limits.h"
#include "report/stage_results.h"
#include "report/summary/summary.h"
#include "report/traced_facts.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"
#include "util/units.h"

const char *lpo_summary_percent(struct lpo_summary_facts *t, int64_t part, int64_t whole)
{
    return lpo_arena_printf(t->doc->arena, "%.0f %%",
                            whole > 0 ? 100.0 * (double)part / (double)whole : 0.0);
}

const char *lpo_summary_duration(struct lpo_summary_facts *t, int64_t ns)
{
    LPO_STR s = { 0 };

    lpo_units_add_duration(&s, ns);
    return lpo_arena_strdup(t->doc->arena, s.at);
}

bool lpo_summary_counts(const struct lpo_summary_facts *t, const struct lpo_fold_row *r)
{
    return r->sum.node != LPO_NODE_OUTSIDE && !t->steady->prepares[r->sum.node];
}

static void add_what_ran(struct lpo_summary_facts *t)
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

/* "load" and "warmup": their time on the clock where it is known, else the GPU's. */
static void add_left_out(struct lpo_summary_facts *t)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(lpo_analysis_all(t->s->analysis), 1);
    LPO_STR names = { 0 };
    int64_t host_ns = 0, gpu_ns = 0;

    for (size_t i = 0; i < fold->rows.len; i++) {
        const struct lpo_fold_row *r = &fold->rows.at[i];

        if (r->depth > 0 || r->sum.node == LPO_NODE_OUTSIDE || lpo_summary_counts(t, r))
            continue;
        lpo_str_addf(&names, "%s\"%s\"", names.len ? ", " : "", r->path);
        host_ns += r->sum.visits_known ? r->sum.host_ns : 0;
        gpu_ns += r->sum.all.ns;
    }
    if (names.len)
        lpo_doc_paragraph(t->doc,
                          "Loading and warm-up (%s: %s%s) are left out of everything below, "
                          "because they happen only once.",
                          names.at, lpo_summary_duration(t, host_ns ? host_ns : gpu_ns),
                          host_ns ? "" : " of GPU time");
}

/* Copies and memsets are GPU work as kernels are. */
static int64_t copies_ns(const struct lpo_summary_facts *t)
{
    return t->all->coverage.copies.ns + t->all->coverage.sets.ns;
}

static bool is_shown(const struct lpo_summary_facts *t, const struct lpo_fold_row *r)
{
    return r->depth == 0 && lpo_summary_counts(t, r) &&
           (t->gpu ? r->sum.all.ns + r->sum.copies.ns : r->sum.host_ns) > 0;
}

static void add_regions(struct lpo_summary_facts *t)
{
    int64_t whole = t->gpu ? t->all->coverage.total.ns + copies_ns(t) : 0;
    size_t shown = 0;

    for (size_t i = 0; !t->gpu && i < t->fold->rows.len; i++)
        if (is_shown(t, &t->fold->rows.at[i]))
            whole += t->fold->rows.at[i].sum.host_ns;
    for (size_t i = 0; i < t->fold->rows.len && shown < LPO_SUMMARY_ROWS; i++) {
        const struct lpo_fold_row *r = &t->fold->rows.at[i];
        int64_t ns = t->gpu ? r->sum.all.ns + r->sum.copies.ns : r->sum.host_ns;

        if (!is_shown(t, r))
            continue;
        lpo_doc_paragraph(t->doc, "- The part called \"%s\" takes %s of it (%s).", r->path,
                          lpo_summary_percent(t, ns, whole), lpo_summary_duration(t, ns));
        shown++;
    }
}

static void add_classes(struct lpo_summary_facts *t)
{
    static const struct {
        enum lpo_region_kernel_class class;
        const char *words;
    } words[] = {
        { LPO_CLASS_GEMM, "multiplying matrices, the real work of a model" },
        { LPO_CLASS_ATTENTION, "attention, where tokens look at each other" },
        { LPO_CLASS_CONVOLUTION, "convolutions, the real work on images" },
        { LPO_CLASS_ELEMENTWISE, "small element-wise operations" },
        { LPO_CLASS_COPY, "moving data from one place to another" },
        { LPO_CLASS_COLLECTIVE, "communicating with other GPUs" },
        { LPO_CLASS_NORM, "normalising values" },
    };
    size_t best = 0;

    for (size_t i = 1; i < sizeof words / sizeof *words; i++)
        if (t->steady->class_ns[words[i].class] > t->steady->class_ns[words[best].class])
            best = i;
    if (t->steady->class_ns[words[best].class] > 0)
        lpo_doc_paragraph(
            t->doc, "- By kind of kernel, the largest share (%s) is %s.",
            lpo_summary_percent(t, t->steady->class_ns[words[best].class], t->steady->kernel_ns),
            words[best].words);
}

/* Why the GPU was idle, where one cause has more than half of it. */
static void add_idle_cause(struct lpo_summary_facts *t)
{
    const struct lpo_wall_device *d = t->wall;
    const struct lpo_trace *trace = t->s->analysis->trace;
    const char *words[LPO_IDLE_CAUSES] = {
        [LPO_IDLE_HOST] = "the program launched the next kernel too late.",
        [LPO_IDLE_QUEUED] = "the next kernel was launched in time, and waited for something else.",
        [LPO_IDLE_UNKNOWN] = "the trace does not show why.",
    };

    if (d->calls.len)
        words[LPO_IDLE_BLOCKED] =
            lpo_arena_printf(t->doc->arena, "the program waited in a call, longest in %.80s (%s).",
                             lpo_trace_text(trace, d->calls.at[0].name),
                             lpo_summary_duration(t, d->calls.at[0].idle_ns));
    for (int c = 0; c < LPO_IDLE_CAUSES; c++)
        if (d->idle[c].ns > d->idle_ns - d->idle[c].ns && words[c])
            lpo_doc_paragraph(t->doc, "- For %s of that time %s",
                              lpo_summary_percent(t, d->idle[c].ns, d->idle_ns), words[c]);
}

/* "The GPU", or which of them: the others have their rows in the main report. */
static const char *the_gpu(struct lpo_summary_facts *t)
{
    const struct lpo_device *device = &t->s->analysis->trace->devices.at[t->wall->device];

    if (t->steady->wall->devices.len == 1)
        return "The GPU";
    return lpo_arena_printf(
        t->doc->arena, "GPU %d%s, of %zu the one that was in use longest,", device->id,
        device->rank < 0 ? "" : lpo_arena_printf(t->doc->arena, " of rank %d", device->rank),
        t->steady->wall->devices.len);
}

/* Communication and copies that no computing covers. */
static bool add_exposed(struct lpo_summary_facts *t)
{
    const struct lpo_wall_device *d = t->wall;
    bool any = false;

    if (d->parts_unknown)
        return false;
    if (d->exposed_communication_ns * 50 > d->span_ns) {
        lpo_doc_paragraph(t->doc,
                          "- Exposed communication, with no computing beside it, took %s (%s of "
                          "the time). One rank does not show whether it was sending or waiting.",
                          lpo_summary_duration(t, d->exposed_communication_ns),
                          lpo_summary_percent(t, d->exposed_communication_ns, d->span_ns));
        any = true;
    }
    if (d->exposed_copy_ns * 20 > d->span_ns) {
        lpo_doc_paragraph(t->doc, "- Copying data with nothing beside it took %s (%s of the time).",
                          lpo_summary_duration(t, d->exposed_copy_ns),
                          lpo_summary_percent(t, d->exposed_copy_ns, d->span_ns));
        any = true;
    }
    return any;
}

static void add_waste(struct lpo_summary_facts *t)
{
    const struct lpo_wall_device *d = t->wall;
    bool any = false;

    lpo_doc_section(t->doc, "waste", "What is wasteful", 1);
    if (!d) {
        lpo_doc_paragraph(t->doc, "%s", lpo_report_why_no_clock(t->s->trace));
        return;
    }
    if (d->idle_ns * 20 > d->span_ns) {
        lpo_doc_paragraph(t->doc, "- %s was idle for %s of the time (%s of %s).", the_gpu(t),
                          lpo_summary_percent(t, d->idle_ns, d->span_ns),
                          lpo_summary_duration(t, d->idle_ns), lpo_summary_duration(t, d->span_ns));
        add_idle_cause(t);
        any = true;
    }
    any |= add_exposed(t);
    if (!any)
        lpo_doc_paragraph(t->doc, "- Nothing stands out: %s was busy nearly all the time.",
                          t->steady->wall->devices.len == 1 ? "the GPU" : the_gpu(t));
}

static void add_speed(struct lpo_summary_facts *t)
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

/* Was anything recorded beside loading and warm-up? */
static bool has_steady_time(const struct lpo_summary_facts *t)
{
    if (!t->steady->any || t->steady->cells.cells.len)
        return true;
    for (size_t i = 0; i < t->fold->rows.len; i++)
        if (is_shown(t, &t->fold->rows.at[i]))
            return true;
    return false;
}

static void add_advice(struct lpo_summary_facts *t)
{
    lpo_doc_section(t->doc, "todo", "What to do first", 1);
    if (!t->s)
        lpo_doc_paragraph(t->doc, "%s", lpo_report_how_to_get_a_trace(t->d));
    else if (!has_steady_time(t))
        lpo_doc_paragraph(t->doc, "Let the program do some of its real work while it is profiled, "
                                  "and mark the parts with NVTX ranges.");
    else if (!lpo_summary_advise(t))
        lpo_doc_paragraph(t->doc, "What was recorded does not support any advice.");
}

static void add_limits(struct lpo_summary_facts *t)
{
    struct lpo_err ignored = { 0 }; /* the main report shows what is wrong with the analysis */
    const struct lpo_limits *limits = lpo_analysis_limits(t->d, t->s, &ignored);

    if (limits)
        lpo_report_limits_in_words(t->doc, limits);
}

/* What several GPUs did side by side is longer than the time that passed: say so. */
static const char *on_gpus(const struct lpo_summary_facts *t)
{
    size_t n = t->steady->wall ? t->steady->wall->devices.len : 0;

    return n > 1 ? lpo_arena_printf(t->doc->arena, " of %zu GPUs", n) : "";
}

static void add_time(struct lpo_summary_facts *t)
{
    lpo_doc_section(t->doc, "time", "What takes the time", 1);
    add_left_out(t);
    if (!has_steady_time(t)) {
        lpo_doc_paragraph(t->doc, "Nothing else was recorded, so this run does not show how the "
                                  "real work of the program performs.");
        return;
    }
    if (t->gpu && copies_ns(t))
        lpo_doc_paragraph(
            t->doc, "All GPU work%s together takes %s: kernels %s, copies and memsets %s.",
            on_gpus(t), lpo_summary_duration(t, t->steady->kernel_ns + copies_ns(t)),
            lpo_summary_duration(t, t->steady->kernel_ns), lpo_summary_duration(t, copies_ns(t)));
    else if (t->gpu)
        lpo_doc_paragraph(t->doc, "All GPU work%s together takes %s.", on_gpus(t),
                          lpo_summary_duration(t, t->steady->kernel_ns));
    else
        lpo_doc_paragraph(t->doc, "Time of the marked parts of the program on the host:");
    add_regions(t);
    if (t->gpu) {
        add_classes(t);
        add_waste(t);
    }
}

static void add_trace(struct lpo_summary_facts *t)
{
    t->steady = lpo_analysis_steady(t->s->analysis);
    t->all = t->steady->all;
    t->fold =
        lpo_region_fold_create(t->all, 1); /* "layer*" is one thing to a reader of this page */
    t->gpu = t->all->coverage.total.ns + copies_ns(t) > 0;
    if (t->steady->wall && t->steady->wall->devices.len)
        t->wall = &t->steady->wall->devices.at[0];
    add_time(t);
    add_limits(t);
    add_advice(t);
    lpo_region_fold_destroy(t->fold);
}

struct lpo_doc *lpo_summary_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_summary_facts t = { .doc = lpo_doc_create("summary", "Summary"), .d = d, .s = s };

    add_what_ran(&t);
    add_speed(&t);
    lpo_report_summary_speed(t.doc, d);
    if (s)
        add_trace(&t);
    else
        add_advice(&t);
    return t.doc;
}
