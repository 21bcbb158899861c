/* SPDX-License-Identifier: Apache-2.0 */
/* report.{md,json,…}: the chapters of a run's main report, in their order. */
#include "analysis/analysis.h"
#include "analysis/limits/limits.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/findings/findings.h"
#include "report/limits/chapter_limits.h"
#include "report/ncu_rules.h"
#include "report/over_time.h"
#include "report/trace_records.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"
#include "settings/settings.h"

enum { FINDINGS = 5 }; /* the JSON has all */
/* Each operator of a framework may be a region of its own; `lpo regions --json` has them all. */
enum { SCOPE_BYTES = 4 << 20 };

static const char *title(const struct lpo_rundir *d)
{
    const char *program = lpo_report_run_program(d);
    const char *what = program ? program : lpo_report_run_model(d);

    return what ? lpo_arena_printf(d->arena, "Profile of %s", what) : "Profile";
}

static void add_limits(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_err err = { 0 };
    const struct lpo_limits *limits = lpo_analysis_limits(d, s, &err);

    if (limits) {
        lpo_report_chapter_limits(doc, limits);
        lpo_report_chapter_kernel_roofline(doc, limits, s->analysis, d->top);
        lpo_report_put_limits(doc->data, limits);
    } else if (err.code) {
        lpo_doc_note(doc, LPO_NOTE_WARNING, "the distance of regions from the limit is unknown: %s",
                     lpo_err_cause(&err));
    }
}

/* What scripts read: the whole of what the chapters above show the first rows of. */
static void put_analysis(struct lpo_doc *doc, const struct lpo_rundir *d,
                         const struct lpo_source *s)
{
    lpo_report_put_findings(doc->data, d, s);
    lpo_report_put_scopes_in(doc->data, s->analysis, d->aggregate, SCOPE_BYTES);
    lpo_report_put_modules(doc->data, d);
    lpo_report_put_wall(doc->data, s->analysis);
    lpo_report_put_steps(doc->data, s->analysis);
    lpo_report_put_collectives(doc->data, s->analysis);
    lpo_report_put_flight(doc->data, s->analysis);
    lpo_report_put_arrivals(doc->data, s->analysis);
    lpo_report_put_rank_steps(doc->data, s->analysis);
    lpo_report_put_rank_balance(doc->data, s->analysis);
    lpo_report_put_critical(doc->data, s->analysis);
    lpo_report_put_queue(doc->data, s->analysis);
    lpo_report_put_fusion(doc->data, s->analysis);
    lpo_report_put_windows(doc->data, s->analysis);
    lpo_report_put_numbers(doc->data, s->analysis);
    lpo_report_put_devices(doc->data, s->analysis);
    lpo_report_put_counters(doc->data, s->analysis);
    lpo_report_put_most_kernels(doc->data, s->analysis);
    lpo_report_put_notes(doc->data, s->analysis, s->select);
}

static struct lpo_doc *add_sections(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("run", title(d));

    doc->is_short = !lpo_streq(lpo_settings_text(d->config, "report.md"), "long");
    doc->whole = lpo_settings_bool(d->config, "report.full_names");
    if (s) {
        lpo_analysis_start(s->analysis);
        lpo_report_chapter_findings(doc, d, s, FINDINGS);
    }
    lpo_report_chapter_run(doc, d);
    if (s) {
        lpo_report_chapter_flight(doc, s);
        lpo_report_chapter_windows(doc, s);
        lpo_report_chapter_wall(doc, d, s);
        lpo_report_chapter_regions(doc, d, s);
        lpo_report_chapter_modules(doc, d);
        lpo_report_chapter_kernels(doc, d, s);
        lpo_report_chapter_operators(doc, d);
        add_limits(doc, d, s);
    }
    lpo_report_chapter_speed(doc, d);
    lpo_report_chapter_requests(doc, d);
    if (s) {
        lpo_report_chapter_steps(doc, s);
        lpo_report_chapter_ranks(doc, d, s);
        lpo_report_chapter_rank_steps(doc, s);
        lpo_report_chapter_arrivals(doc, d, s);
        lpo_report_chapter_rank_regions(doc, d, s);
        lpo_report_chapter_rank_balance(doc, d, s);
        lpo_report_chapter_critical(doc, s);
        lpo_report_chapter_numbers(doc, d, s);
        lpo_report_chapter_counters(doc, d, s);
        lpo_report_chapter_collectives(doc, d, s);
        lpo_report_chapter_gpu_details(doc, d, s);
        lpo_report_chapter_fusion(doc, s);
    } else {
        lpo_doc_section(doc, "regions", "Time by region", 1);
        lpo_doc_paragraph(doc, "%s", lpo_report_why_no_trace(d));
    }
    lpo_report_chapter_memory(doc, d, s);
    lpo_report_chapter_power(doc, d, s);
    lpo_report_chapter_stages(doc, d);
    lpo_report_chapter_coverage(doc, d, s);
    return doc;
}

struct lpo_doc *lpo_report_run_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = add_sections(d, s);

    const struct lpo_source *memory = lpo_report_memory_source(d, s);

    if (s)
        put_analysis(doc, d, s);
    if (memory)
        lpo_report_put_memory(doc->data, memory->analysis);
    lpo_report_put_ncu_rules(doc->data, d);
    return doc;
}
