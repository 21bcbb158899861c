/* SPDX-License-Identifier: Apache-2.0 */
/* cli/trace_options.h - options that the commands over traces share. */
#pragma once

#include "cli/options.h"
#include "cli/screen.h"

struct lpo_analysis_run;
struct lpo_app;
struct lpo_err;
struct lpo_region_selection;
struct lpo_rundir;
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
