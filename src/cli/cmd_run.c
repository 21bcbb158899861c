/* SPDX-License-Identifier: Apache-2.0 */
/* lpo run: the pipeline, once or over a sweep. */

#include "cli/app.h"
#include "cli/command.h"
#include "cli/run/job.h"
#include "cli/screen.h"
#include "sweep/plan.h"
#include "util/path.h"

/* The config may ask for a sweep too (hydra.mode), so this is checked after it was read. */
static int check_json(const struct lpo_args *args, bool multirun, struct lpo_err *err)
{
    if (lpo_cli_args_has(args, "json") && !(multirun && lpo_cli_args_has(args, "dry-run")))
        return lpo_fail(
            err, LPO_E_USAGE,
            "--json prints the jobs of a sweep, so it needs --multirun --dry-run; a run "
            "writes report.json to its folder");
    return 0;
}

static int check_usage(const struct lpo_args *args, struct lpo_err *err)
{
    bool resume = lpo_cli_args_has(args, "resume");

    if (resume && (args->nwords || args->rest || lpo_cli_args_has(args, "multirun") ||
                   lpo_cli_args_has(args, "only") || lpo_cli_args_has(args, "output") ||
                   lpo_cli_args_has(args, "once") || lpo_cli_args_has(args, "keep-going")))
        return lpo_fail(
            err, LPO_E_USAGE,
            "--resume uses the config of the interrupted run, so it takes no overrides, no "
            "program, no --multirun, --only, --once, --keep-going or --output");
    if (lpo_cli_args_has(args, "once") && lpo_cli_args_has(args, "only"))
        return lpo_fail(err, LPO_E_USAGE,
                        "--once is --only native and what runs beside it; with "
                        "one of the two the other is not needed");
    if (!resume && lpo_cli_args_has(args, "job"))
        return lpo_fail(err, LPO_E_USAGE, "--job N is a job of a sweep: it needs --resume DIR");
    if (resume && lpo_cli_args_has(args, "dry-run"))
        return lpo_fail(err, LPO_E_USAGE, "--resume and --dry-run cannot be used together");
    if (resume && check_json(args, false, err) < 0)
        return err->code;
    if (args->rest && args->nrest == 0)
        return lpo_fail(err, LPO_E_USAGE, "there is no program after --");
    return 0;
}

static int run_once(struct lpo_app *app, const struct lpo_args *args, struct lpo_progress *progress,
                    struct lpo_err *err)
{
    const char *const *program = args->rest ? (const char *const *)args->rest : NULL;
    const char *const *words = (const char *const *)args->words;
    struct lpo_job_result result = { 0 };
    struct lpo_job job;

    if (lpo_cli_job_compose(app, args, words, program, -1, &job, err) < 0)
        return err->code;
    if (lpo_cli_args_has(args, "dry-run"))
        return lpo_cli_job_dry_run(app, &job, err);
    job.shared = true;
    if (lpo_cli_job_run(app, &job, progress, &result, err) < 0)
        return err->code;
    if (lpo_cli_args_has(args, "open") && result.run_dir)
        lpo_cli_open_page(app, result.run_dir);
    return result.exit_code;
}

/* A run folder, or that of a sweep. */
static int resume(struct lpo_app *app, const struct lpo_args *args, struct lpo_progress *progress,
                  struct lpo_err *err)
{
    const char *dir = lpo_cli_args_text(args, "resume", "");
    const char *job = lpo_cli_args_text(args, "job", NULL);
    struct lpo_job_result result = { 0 };

    if (job)
        return lpo_cli_multirun_job(app, args->table, dir, job, progress, err);
    if (lpo_sweep_plan_exists(app->arena, dir))
        return lpo_cli_multirun_resume(app, args->table, dir, progress, err);
    if (lpo_path_exists(lpo_path_join(app->arena, dir, "multirun.json")))
        return lpo_fail(
            err, LPO_E_USAGE,
            "'%s' is the folder of a sweep without a plan: an older lpo made it, or its "
            "overrides hold a secret. Its jobs can be resumed one by one: lpo run "
            "--resume %s/0",
            dir, dir);
    if (lpo_cli_job_resume(app, dir, progress, &result, err) < 0)
        return err->code;
    if (lpo_cli_args_has(args, "open") && result.run_dir)
        lpo_cli_open_page(app, result.run_dir);
    return result.exit_code;
}

static int run_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_progress progress;
    struct lpo_args with;
    bool multirun;

    if (check_usage(args, err) < 0 || lpo_cli_run_words(app, args, &with, err) < 0)
        return err->code;
    args = &with;
    lpo_cli_progress_init(&progress, app->screen, lpo_cli_args_has(args, "quiet"));
    if (lpo_cli_args_has(args, "resume"))
        return resume(app, args, &progress, err);
    if (lpo_cli_multirun_wanted(app, args, &multirun, err) < 0 ||
        check_json(args, multirun, err) < 0)
        return err->code;
    if (multirun && lpo_cli_args_has(args, "open"))
        return lpo_fail(err, LPO_E_USAGE, "--open shows the page of one run, not of a sweep");
    if (multirun)
        return lpo_cli_multirun(app, args, &progress, err);
    return run_once(app, args, &progress, err);
}

static const struct lpo_option options[] = {
    LPO_CONFIG_OPTIONS,
    { "only", 0, LPO_OPT_LIST, "STAGE", "run this stage and no other; repeatable, or a,b" },
    { "once", 0, LPO_OPT_FLAG, NULL, "start the program once: native, and what runs beside it" },
    { "keep-going", 0, LPO_OPT_FLAG, NULL,
      "profile the program although it failed without a profiler" },
    { "output", 'o', LPO_OPT_TEXT, "DIR", "the run folder; of a sweep, the folder of its jobs" },
    { "multirun", 'm', LPO_OPT_FLAG, NULL, "one run for every combination of the swept values" },
    { "dry-run", 'n', LPO_OPT_FLAG, NULL, "print each command that would be started; run nothing" },
    { "resume", 0, LPO_OPT_TEXT, "DIR",
      "continue a run folder, or the folder of a sweep: only what is not done runs" },
    { "job", 0, LPO_OPT_TEXT, "N", "with --resume of a sweep: this job alone, here" },
    { "json", 0, LPO_OPT_FLAG, NULL, "with --multirun --dry-run: the jobs as JSON" },
    { "open", 0, LPO_OPT_FLAG, NULL, "show report.html in a browser at the end" },
    { "quiet", 'q', LPO_OPT_FLAG, NULL, "no progress, and no output of the program" },
    { 0 },
};

const struct lpo_command lpo_cli_cmd_run = {
    .name = "run",
    .summary = "profile a workload with all enabled stages and write the reports into one folder",
    .usage = "[override…] [-- program args…]",
    .about = "examples:\n"
             "  lpo run                                        the built-in model\n"
             "  lpo run run.repeats=5 pipeline.nsys.enable=true\n"
             "  lpo run -- python my_script.py                 any program\n"
             "  lpo run --once -o out -- ./bench < input       one run of it, in stage native\n"
             "  lpo run -m infer.max_new_tokens=16,64          a sweep",
    .options = options,
    .before = lpo_cli_run_check_program,
    .run = run_run,
};
