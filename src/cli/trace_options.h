/* SPDX-License-Identifier: Apache-2.0 */
/* cli/trace_options.h - options that the commands over traces share. */
#pragma once

#include "analysis/diff/budgets.h"
#include "cli/options.h"
#include "cli/screen.h"

struct lpo_analysis_run;
struct lpo_app;
struct lpo_record;
struct lpo_region_selection;
struct lpo_rundir;
struct lpo_tables_of;
struct lpo_writer;

#define LPO_SELECT_OPTIONS                                                                         \
    { "include", 'i', LPO_OPT_LIST, "PATTERN",                                                     \
      "only these regions (glob or regex:…); repeatable" },                                        \
        { "region", 'r', LPO_OPT_LIST, "WORD",                                                     \
          "as --include, where a bare word is a part of a region's name" },                        \
        { "exclude", 'x', LPO_OPT_LIST, "PATTERN", "not these regions; wins over --include" },     \
        { "kernels", 'k', LPO_OPT_LIST, "PATTERN", "only these kernels; repeatable" },             \
    {                                                                                              \
        "no-kernels", 0, LPO_OPT_LIST, "PATTERN", "not these kernels; wins over --kernels"         \
    }

/* `formats` is the list that -h and messages show: what is not in it is refused. */
#define LPO_OUTPUT_OPTIONS(formats)                                                                \
    { "json", 0, LPO_OPT_FLAG, NULL, "JSON on stdout, for scripts" },                              \
    {                                                                                              \
        "format", 'f', LPO_OPT_TEXT, "F", formats                                                  \
    }

int lpo_cli_selection_from_args(const struct lpo_args *args, struct lpo_region_selection **out,
                                struct lpo_err *err);
/* The run folder or the traces that the words name. Takes `select` over; `skip` as in struct
 * lpo_trace. Files of a folder that cannot be read are warnings on app->log. */
int lpo_cli_traces_open(struct lpo_app *app, const struct lpo_args *args, unsigned skip,
                        struct lpo_region_selection *select, struct lpo_analysis_run **out,
                        struct lpo_err *err);
/* Fails with the reason why `path` has no trace: a file that cannot be read, else what the stages
 * of the run say. */
int lpo_cli_no_trace(const char *path, const struct lpo_rundir *d, struct lpo_err *err);
/* The writer that --json and --format name; text when neither is given. */
int lpo_cli_writer_from_args(const struct lpo_args *args, const struct lpo_writer **out,
                             struct lpo_err *err);
/* A count given as text; `fallback` when the option is absent. */
int lpo_cli_count_from_args(const struct lpo_args *args, const char *option, size_t fallback,
                            size_t *out, struct lpo_err *err);

/* The tables of traces that a command has opened (cmd_sql.c). */

/* Of the source that says most about where time goes. Lives as long as the command. */
struct lpo_tables_of lpo_cli_tables_of(struct lpo_app *app, struct lpo_analysis_run *run);

/* The runs of one side of a comparison, each read alone and released before the
 * next. */

#define LPO_CLI_HISTORY "lpo-history.sqlite" /* in the working folder */

struct lpo_diff_reading {
    struct lpo_diff_digest **at;
    size_t len;
    struct lpo_record *flame;  /* where the stacks of the first run go; NULL: nowhere */
    lpo_diff_budgets *budgets; /* where those of a run's config go; NULL: nowhere */
};

/* Appends `count` runs. What was read before a failure stays, for lpo_cli_runs_free(). */
int lpo_cli_runs_read(struct lpo_app *app, const char *const *paths, size_t count,
                      struct lpo_diff_reading *out, struct lpo_err *err);
/* Appends the newest `last` runs of a name in a history. */
int lpo_cli_runs_baseline(struct lpo_app *app, const char *store, const char *name, size_t last,
                          struct lpo_diff_reading *out, struct lpo_err *err);
void lpo_cli_runs_free(struct lpo_diff_reading *r);

/* `lpo report --via slurm`: the cluster makes a digest of each trace. */

/* Writes the list of traces and the batch script into `dir`, submits the array job, waits for it,
 * and gives the digests that are there then, with a line on stderr for each trace without one. */
int lpo_cli_report_via(struct lpo_app *app, const char *via, const char *const *paths, size_t count,
                       const char *dir, const char ***digests, size_t *ndigests,
                       struct lpo_err *err);
