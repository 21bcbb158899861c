/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run/job.h - one composed and checked config, ready to run; and running it. */
#pragma once

#include "cli/options.h"

struct lpo_analysis_run;
struct lpo_app;
struct lpo_composed;
struct lpo_manifest;
struct lpo_node;
struct lpo_pipeline_events;
struct lpo_progress;
struct lpo_rundir;
struct lpo_shared_job;

struct lpo_job {
    const struct lpo_node *config; /* resolved */
    const char **overrides;        /* as given, NULL-terminated */
    const char *run_dir;           /* wanted; the real one may end in -2 */
    const char *call_dir; /* where the workload starts, unless workload.cwd says otherwise */
    bool shared;          /* may be one of the tasks of a job, which share a folder */
    bool chdir;           /* hydra.job.chdir: the workload starts in the run folder */
    const struct lpo_shared_job *team; /* job_run.c: the tasks that share a folder; NULL: alone */
    bool passes_input;                 /* the program reads lpo's standard input */
    bool apart;                        /* and this one does not see their folder */
    void (*published)(void *ctx, const char *run_dir); /* the folder is there; may be NULL */
    void *published_ctx;
};

/* A finished run, for the summary over several. */
struct lpo_job_result {
    const char *run_dir;
    int exit_code;
    int64_t wall_ns;                       /* of the whole run; 0: unknown */
    struct lpo_measure total_ms, tokens_s; /* of the workload alone: medians over its repeats */
    struct lpo_measure gpu_ns;             /* of all kernels, in the trace of the reports */
};

/* The options that say which config: --config-dir, --config-name, --strict. */
#define LPO_CONFIG_OPTIONS                                                                         \
    { "config-dir", 0, LPO_OPT_TEXT, "DIR", "a config folder that comes before the shipped one" }, \
        { "config-name", 0, LPO_OPT_TEXT, "NAME", "the primary config; default: config" },         \
    {                                                                                              \
        "strict", 0, LPO_OPT_FLAG, NULL, "a key that lpo does not know is an error"                \
    }

/* Composes what --config-dir, --config-name and the overrides say; nothing is resolved yet.
 * Warnings and deprecations go to app->log, a line each. */
int lpo_cli_job_config(struct lpo_app *app, const struct lpo_args *args,
                       const char *const *overrides, bool multirun, struct lpo_composed *out,
                       struct lpo_err *err);

/* The same for `lpo config`: a tree with its own primary config is printed as Hydra prints it. */
int lpo_cli_job_config_shown(struct lpo_app *app, const struct lpo_args *args,
                             const char *const *overrides, struct lpo_composed *out,
                             struct lpo_err *err);

/* The check against the schema; keys that are not known are lines of app->log, if `say`, or with
 * --strict the error. */
int lpo_cli_job_check(struct lpo_app *app, const struct lpo_args *args,
                      const struct lpo_node *config, bool say, struct lpo_err *err);

/* Composes, checks against the schema, resolves. `program` (after `--`) becomes the workload.
 * Deprecation lines go to app->log. `num` is the job of a multirun, or -1. */
int lpo_cli_job_compose(struct lpo_app *app, const struct lpo_args *args,
                        const char *const *overrides, const char *const *program, int num,
                        struct lpo_job *out, struct lpo_err *err);

int lpo_cli_job_dry_run(struct lpo_app *app, const struct lpo_job *job, struct lpo_err *err);
/* Makes the run folder, runs every stage, writes the reports, prints the closing table. */
int lpo_cli_job_run(struct lpo_app *app, const struct lpo_job *job, struct lpo_progress *progress,
                    struct lpo_job_result *out, struct lpo_err *err);
/* Goes on with a run folder: stages that are done stay. */
int lpo_cli_job_resume(struct lpo_app *app, const char *run_dir, struct lpo_progress *progress,
                       struct lpo_job_result *out, struct lpo_err *err);

/* The last lines that `lpo run` prints: the stages with their times, the
 * regions that took the time, and where the report is. */

void lpo_cli_run_summary_print(struct lpo_app *app, const struct lpo_manifest *m,
                               struct lpo_analysis_run *run);
/* "what to do first": the verdict and the first three rungs; nothing where no trace was read. */
void lpo_cli_findings_print(const struct lpo_app *app, const struct lpo_rundir *d);

/* A sweep: one run for every job, and a summary. Who starts the jobs is
 * sweep/launcher.h; Hydra's basic launcher (one after the other, in this process) is here. */

/* Every job is composed before the first one starts, so that a mistake is found at once.
 * Returns 0, the worst exit code of the jobs, or a negative code. With --dry-run nothing runs:
 * --json prints {"jobs": [{"num", "overrides": […]}]}, else each job's commands. */
int lpo_cli_multirun(struct lpo_app *app, const struct lpo_args *args,
                     struct lpo_progress *progress, struct lpo_err *err);

/* By --multirun, or by hydra.mode of the config. */
int lpo_cli_multirun_wanted(struct lpo_app *app, const struct lpo_args *args, bool *out,
                            struct lpo_err *err);

/* Goes on with the sweep in a folder: jobs that are done stay. `table` has the options of lpo run.
 */
int lpo_cli_multirun_resume(struct lpo_app *app, const struct lpo_option *table, const char *dir,
                            struct lpo_progress *progress, struct lpo_err *err);
/* One job of it, here and now: what a launcher starts. */
int lpo_cli_multirun_job(struct lpo_app *app, const struct lpo_option *table, const char *dir,
                         const char *num, struct lpo_progress *progress, struct lpo_err *err);

/* Progress of a long run: one line that is redrawn on a terminal, plain lines
 * elsewhere. It moves the cursor itself, so it prints on the bare stream: everything that is not
 * our own text goes through util/visible.h first. */
struct lpo_progress {
    FILE *to;
    bool moving; /* a terminal */
    bool quiet;
    int64_t last_drawn_ns;
    int drawn;           /* columns of the line that is redrawn */
    const char *unnamed; /* the stage that runs, while no line says so */
    bool mid_line; /* the program's output ended inside a line: nothing may be drawn over it */
};

void lpo_cli_progress_init(struct lpo_progress *p, FILE *to, bool quiet);
struct lpo_pipeline_events lpo_cli_progress_events(struct lpo_progress *p);
/* The line that is redrawn; nothing when quiet or not on a terminal. */
void lpo_cli_progress_show(struct lpo_progress *p, const char *line);
/* A line that stays; nothing when quiet. */
void lpo_cli_progress_say(struct lpo_progress *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The words of `lpo run`: options that stand for overrides, and a program that
 * was given without `--`. */

/* *out: `args` with the overrides that --only and --output stand for among its words. */
int lpo_cli_run_words(struct lpo_app *app, const struct lpo_args *args, struct lpo_args *out,
                      struct lpo_err *err);

/* Before options are parsed, because those of the program are not ours: `lpo run python x.py -v`
 * is answered with the command that was meant. */
int lpo_cli_run_check_program(struct lpo_app *app, const struct lpo_option *table, int argc,
                              const char *const *argv, struct lpo_err *err);
