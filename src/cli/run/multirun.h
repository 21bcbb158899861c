/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run/multirun.h - a sweep: one run for every job, and a summary. Who starts the jobs is
 * sweep/launcher.h; Hydra's basic launcher (one after the other, in this process) is here. */
#pragma once

#include <stdbool.h>

struct lpo_app;
struct lpo_args;
struct lpo_err;
struct lpo_option;
struct lpo_progress;

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
