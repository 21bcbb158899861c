/* SPDX-License-Identifier: Apache-2.0 */
/* lpo report: every report of a run, rebuilt from its artifacts. */
#include <stdio.h>

#include "analysis/run.h"
#include "cli/app.h"
#include "cli/command.h"
#include "pipeline/stage.h"
#include "run/folder.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/vec.h"
#include "writer/reports.h"

static const struct lpo_option options[] = {
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_rundir_options o = { .kinds = lpo_pipeline_trace_kinds(app->arena) };
    LPO_AUTO(lpo_analysis_run) made = NULL;
    struct lpo_paths files = { 0 };
    const struct lpo_report_out out = { app->arena, &files };
    int rc;

    if (!args->nwords)
        return lpo_fail(err, LPO_E_USAGE,
                        "no run folder is given; usage: lpo report DIR [report.KEY=VALUE…]");
    o.overrides = args->words + 1;
    if (lpo_analysis_run_create(args->words[0], &o, &made, err) < 0)
        return lpo_ctx(err, "cannot report on '%s'", args->words[0]);
    lpo_file_sweep(args->words[0], true); /* what a killed lpo left half-written */
    rc = lpo_writer_all_reports(made->dir, &out, err);
    for (size_t i = 0; rc == 0 && i < files.len; i++)
        fprintf(app->out, "%s\n", lpo_path_join(app->arena, args->words[0], files.at[i]));
    lpo_vec_free(&files);
    return rc;
}

const struct lpo_command lpo_cli_cmd_report = {
    .name = "report",
    .summary = "rebuild every report of a run from its artifacts",
    .usage = "DIR [report.KEY=VALUE…]",
    .about = "Needs no GPU and no NVIDIA tool: it reads what the run left in its folder.\n\n"
             "  lpo report tmp/profile-output/20250101-120000\n"
             "  lpo report DIR report.private=true report.top=50",
    .options = options,
    .run = run,
};
