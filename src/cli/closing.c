#include "cli/closing.h"

#include <stdint.h>
#include <stdio.h>

#include "cli/app.h"
#include "region/scope.h"
#include "report/analysis.h"
#include "report/doc.h"
#include "report/tables.h"
#include "report/writer.h"
#include "run/manifest.h"
#include "run/rundir.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"
#include "util/units.h"

enum { ROWS = 16, FOLD_OVER = 1 };

static void print_stages(const struct lpo_app *app, const struct lpo_manifest *m)
{
    fprintf(app->out, "\n%-17s %-12s %10s\n", "stage", "state", "time");
    for (size_t i = 0; i < m->nstages; i++) {
        const struct lpo_stage_record *s = &m->stages[i];
        LPO_STR took = { 0 };

        if (s->state == LPO_SKIPPED)
            continue;
        lpo_add_duration(&took, s->wall_ns);
        fprintf(app->out, "%-17s %-12s %10s\n", s->name, lpo_state_name(s->state),
                s->state == LPO_PENDING ? "" : lpo_str_text(&took));
    }
}

static size_t find_traces(struct lpo_arena *a, const char *run, const char ***out)
{
    struct lpo_paths files = { 0 };
    size_t n = 0;

    lpo_rundir_list(a, run, "native", &files);
    *out = lpo_arena_array(a, files.len + 1, sizeof **out);
    for (size_t i = 0; i < files.len; i++)
        if (lpo_ends(files.at[i], ".lpot"))
            (*out)[n++] = lpo_path_join(a, run, files.at[i]);
    return n;
}

static void print_regions(const struct lpo_app *app, const char *run)
{
    struct lpo_table_options o = { .fold_over = FOLD_OVER, .most_rows = ROWS };
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_scope) s = NULL;
    LPO_AUTO(lpo_doc) doc = NULL;
    struct lpo_err err = { 0 };
    const char **traces;
    size_t n = find_traces(app->arena, run, &traces);
    LPO_STR text = { 0 };

    if (n == 0 || lpo_analysis_create(traces, n, NULL, &a, &err) < 0)
        return;
    s = lpo_scope_create(a->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
    doc = lpo_doc_create("closing", "Regions");
    lpo_doc_section(doc, "regions", "time by region", 1);
    lpo_add_regions(doc, s, &o);
    lpo_writer_text.write(doc, &text);
    fprintf(app->out, "\n%s", lpo_str_text(&text));
}

void lpo_closing_print(struct lpo_app *app, const struct lpo_manifest *m)
{
    const char *report = lpo_path_join(app->arena, m->dir, "report.md");

    print_stages(app, m);
    print_regions(app, m->dir);
    if (lpo_path_exists(report))
        fprintf(app->out, "\nreport: %s\n", report);
    else
        fprintf(app->out, "\nrun folder: %s\n", m->dir);
}
