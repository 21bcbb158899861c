/* SPDX-License-Identifier: Apache-2.0 */
/* run/provenance.h - where, with what and on what a run was made: env.json. */
#pragma once

struct lpo_arena;
struct lpo_err;
struct lpo_str;

/* env.json: host, CPU, memory, GPUs and driver, tool versions, git commit of `work_dir`, the
 * variables that change how CUDA programs run. What is not here is null. */
int lpo_run_provenance_env(struct lpo_arena *a, const char *work_dir, const char *const *tools,
                           struct lpo_str *out, struct lpo_err *err);

/* What a tool prints of its version, one line; NULL when it is not here or does not say. */
const char *lpo_run_provenance_version(struct lpo_arena *a, const char *tool);
