/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run/job.h - one composed and checked config, ready to run; and running it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/measure.h"

struct lpo_app;
struct lpo_args;
struct lpo_composed;
struct lpo_err;
struct lpo_node;
struct lpo_progress;
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
