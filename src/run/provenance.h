/* SPDX-License-Identifier: Apache-2.0 */
/* run/provenance.h - where, with what and on what a run was made: env.json, and the two files
 * that let it be repeated.
 *
 * Secrets never reach a file: values of variables whose names look secret are replaced, in the
 * environment, in workload.env and in overrides. */
#pragma once

struct lpo_arena;
struct lpo_err;
struct lpo_node;
struct lpo_str;

/* env.json: host, CPU, memory, GPUs and driver, tool versions, git commit of `work_dir`, the
 * variables that change how CUDA programs run. What is not here is null. */
int lpo_run_provenance_env(struct lpo_arena *a, const char *work_dir, const char *const *tools,
                           struct lpo_str *out, struct lpo_err *err);

/* What a tool prints of its version, one line; NULL when it is not here or does not say. */
const char *lpo_run_provenance_version(struct lpo_arena *a, const char *tool);

/* A copy of the config with secret values in workload.env replaced by "(hidden)". */
struct lpo_node *lpo_run_provenance_mask(struct lpo_arena *a, const struct lpo_node *config);
/* The override as it may be written: "workload.env.HF_TOKEN=(hidden)". */
const char *lpo_run_provenance_mask_override(struct lpo_arena *a, const char *override);
