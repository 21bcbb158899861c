/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/job.h"

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "analysis/wall/wall.h"
#include "cli/app.h"
#include "cli/screen.h"
#include "pipeline/pipeline.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/tables/tables.h"
#include "rundir/rundir.h"
#include "util/path.h"
#include "util/units.h"
#include "writer/writer.h"

enum { MESSAGE_AT = 43, ROWS = 16, FOLD_OVER = 1, GPUS = 4 };

static void print_stages(const struct lpo_app *app, const struct lpo_manifest *m)
{
    fprintf(app->out, "\n%-17s %-12s %10s\n", "stage", "state", "time");
    for (size_t i = 0; i < m->nstages; i++) {
        const struct lpo_stage_record *s = &m->stages[i];
        const char *said;
        LPO_STR took = { 0 };

        if (s->state == LPO_SKIPPED && !lpo_streq(s->message, LPO_NOT_LIGHT) &&
            !lpo_streq(s->message, LPO_FAILED_ALONE))
            continue;
        lpo_units_add_duration(&took, s->wall_ns);
        /* why a stage failed was printed when it failed */
        said = s->state == LPO_DONE || s->state == LPO_SKIPPED ? s->message : NULL;
        fprintf(app->out, "%-17s %-12s %10s%s", s->name, lpo_run_state_name(s->state),
                s->state == LPO_PENDING || s->state == LPO_SKIPPED ? "" : lpo_str_text(&took),
                said ? "  " : "");
        lpo_cli_print_wrapped(app, said ? said : "", MESSAGE_AT);
    }
}

/* From the trace that the report takes its times from. */
static void print_times(struct lpo_app *app, struct lpo_analysis_run *run)
{
    struct lpo_table_options o = { .fold_over = FOLD_OVER, .most_rows = ROWS, .no_spread = true };
    const struct lpo_analysis *a = lpo_analysis_run_main(run);
    LPO_AUTO(lpo_doc) doc = NULL;

    if (!a)
        return;
    doc = lpo_doc_create("run_summary", "Regions");
    if (lpo_analysis_wall(a) && lpo_analysis_wall(a)->devices.len) {
        lpo_doc_section(doc, "wall", "where the wall time went", 1);
        lpo_report_add_wall(doc, a, GPUS);
    }
    lpo_doc_section(doc, "regions", "time by region", 1);
    lpo_report_add_regions(doc, lpo_analysis_all(lpo_analysis_unselected(a)), &o);
    lpo_report_add_windows(doc, a);
    fputc('\n', app->out);
    lpo_cli_print_doc(app, doc, &lpo_writer_text);
}

/* Of a server, as its clients saw it. */
static void print_requests(struct lpo_app *app, const struct lpo_analysis_run *run)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run_summary", "Requests");

    if (!run || !lpo_report_add_requests(doc, run->dir, "requests under load"))
        return;
    fputc('\n', app->out);
    lpo_cli_print_doc(app, doc, &lpo_writer_text);
}

void lpo_cli_findings_print(const struct lpo_app *app, const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_main(d);
    LPO_STR text = { 0 };

    if (s && s->analysis)
        lpo_report_findings_lines(app->arena, d, s, &text);
    if (text.len)
        fprintf(app->out, "\nwhat to do first\n\n");
    for (size_t at = 0, len; at < text.len; at += len + 1) {
        len = strcspn(text.at + at, "\n");
        lpo_cli_print_wrapped(app, lpo_arena_strndup(app->arena, text.at + at, len), 0);
    }
}

void lpo_cli_run_summary_print(struct lpo_app *app, const struct lpo_manifest *m,
                               struct lpo_analysis_run *run)
{
    const char *report = lpo_path_join(app->arena, m->dir, "report.md");
    const char *page = lpo_path_join(app->arena, m->dir, "report.html");

    print_stages(app, m);
    print_requests(app, run);
    print_times(app, run);
    if (run) /* last, where people look first */
        lpo_cli_findings_print(app, run->dir);
    if (lpo_path_exists(report))
        fprintf(app->out, "\nreport: %s\n", report);
    else
        fprintf(app->out, "\nrun folder: %s\n", m->dir);
    if (lpo_path_exists(page))
        fprintf(app->out, "page: %s\n", page);
}
