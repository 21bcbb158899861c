/* SPDX-License-Identifier: Apache-2.0 */
/* cli/kernels_run.h - running what `lpo kernels` planned: kernel after kernel, then the summary. */
#pragma once

#include <stdbool.h>

#include "pipeline/ncu/kernels.h"

struct lpo_app;
struct lpo_err;
struct lpo_job;
struct lpo_node;
struct lpo_progress;
struct lpo_str;

struct lpo_kernels_job {
    const struct lpo_job *job; /* config, with the options of the command line in it, and workload;
                                  run_dir is the folder wanted */
    struct lpo_node *flags;    /* of that config: what ncu is started with */
    const char *ncu;           /* the program */
    bool per_config;           /* launches are counted per (kernel, grid, block) */
    bool old_layout;           /* folders and command.yaml as ncu-profile-kernels made them */
    const char *list;          /* --kernel-config; NULL: --kernel-regex */
    size_t most;               /* --topk; 0: all */
    struct lpo_wanted_kernels wanted;
};

/* Every command, as it would be started: "# kernel 1: name\ncommand". */
int lpo_cli_kernels_dry_run(struct lpo_app *app, const struct lpo_kernels_job *k,
                            struct lpo_str *out, struct lpo_err *err);
/* Returns the exit code of the design: 0, 1 something failed or nothing matched, 3 a permission is
 * missing, 130 interrupted; negative when the folder itself failed us. */
int lpo_cli_kernels_run(struct lpo_app *app, const struct lpo_kernels_job *k,
                        struct lpo_progress *progress, bool json, struct lpo_err *err);
