#include "cli/run_summary.h"

#include <stdint.h>
#include <stdio.h>

#include "analysis/analysis.h"
#include "cli/app.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "run/manifest.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"
#include "util/units.h"
#include "writer/writer.h"

enum { ROWS = 16, FOLD_OVER = 1 };

static void print_stages(const struct lpo_app *app, const struct lpo_manifest *m)
{
    fprintf(app->out, "\n%-17s %-12s %10s\n", "stage", "state", "time");
    for (size_t i = 0; i < m->nstages; i++) {
        const struct lpo_stage_record *s = &m->stages[i];
        LPO_STR took = { 0 };

        if (s->state == LPO_SKIPPED)
            continue;
        lpo_units_add_duration(&took, s->wall_ns);
        /* why a stage failed was printed when it failed */
        fprintf(app->out, "%-17s %-12s %10s%s%s\n", s->name, lpo_run_state_name(s->state),
                s->state == LPO_PENDING ? "" : lpo_str_text(&took),
                s->state == LPO_DONE && s->message ? "  " : "",
                s->state == LPO_DONE && s->message ? s->message : "");
    }
}

/* The trace that the report takes its regions from: the first with GPU operations, else the
 * first. */
static struct lpo_analysis *read_traces(const struct lpo_app *app, const char *run)
{
    struct lpo_analysis *first = NULL;
    const char **files;
    size_t n;

    for (size_t k = 0; lpo_rundir_trace_files(app->arena, run, k, &files, &n); k++) {
        struct lpo_analysis *a = NULL;
        struct lpo_err err = { 0 }; /* the report says which file cannot be read */

        if (n == 0 || lpo_analysis_create_skip(files, n, LPO_SKIP_OPS, NULL, &a, &err) < 0)
            continue;
        if (a->trace->gpu_ops.len) {
            lpo_analysis_destroy(first);
            return a;
        }
        if (first)
            lpo_analysis_destroy(a);
        else
            first = a;
    }
    return first;
}

static void print_regions(const struct lpo_app *app, const char *run)
{
    struct lpo_table_options o = { .fold_over = FOLD_OVER, .most_rows = ROWS, .no_spread = true };
    LPO_AUTO(lpo_analysis) a = read_traces(app, run);
    LPO_AUTO(lpo_region_scope) s = NULL;
    LPO_AUTO(lpo_doc) doc = NULL;
    LPO_STR text = { 0 };

    if (!a)
        return;
    s = lpo_region_scope_create(a->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
    doc = lpo_doc_create("run_summary", "Regions");
    lpo_doc_section(doc, "regions", "time by region", 1);
    lpo_report_add_regions(doc, s, &o);
    lpo_writer_text.write(doc, &text);
    fprintf(app->out, "\n%s", lpo_str_text(&text));
}

void lpo_cli_run_summary_print(struct lpo_app *app, const struct lpo_manifest *m)
{
    const char *report = lpo_path_join(app->arena, m->dir, "report.md");

    print_stages(app, m);
    print_regions(app, m->dir);
    if (lpo_path_exists(report))
        fprintf(app->out, "\nreport: %s\n", report);
    else
        fprintf(app->out, "\nrun folder: %s\n", m->dir);
}
