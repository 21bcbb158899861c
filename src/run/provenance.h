/* SPDX-License-Identifier: Apache-2.0 */
/* run/provenance.h - where, with what and on what a run was made: env.json. */
#pragma once

#include "gpu/hardware.h"

struct lpo_json;
struct lpo_node;

/* env.json: host, CPU, memory, GPUs and driver, tool versions, git commit of `work_dir`, the
 * variables that change how CUDA programs run. What is not here is null. */
int lpo_run_provenance_env(struct lpo_arena *a, const char *work_dir, const char *const *tools,
                           struct lpo_str *out, struct lpo_err *err);

/* What a tool prints of its version, one line; NULL when it is not here or does not say. */
const char *lpo_run_provenance_version(struct lpo_arena *a, const char *tool);

/* The hardware of a run, in its folder: hardware.json.
 *
 * Found once, when the run starts, and written down with the rates of every number format, so that
 * a report made anywhere later sets its times against the same ceilings. */

/* The entry `name` of the hardware sheets; `auto` is the GPU that is here, or this CPU, measured,
 * also when run.device is cpu. */
int lpo_run_hardware_find(struct lpo_arena *a, const struct lpo_node *config, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err);
/* What the folder says, or the entry `name` where the folder says nothing. */
int lpo_run_hardware(struct lpo_arena *a, const char *run_dir, const struct lpo_node *config,
                     const char *name, struct lpo_hardware *out, struct lpo_err *err);

int lpo_run_hardware_save(const char *run_dir, const struct lpo_hardware *hw, struct lpo_err *err);
/* *out is NULL when the folder has no such file. */
int lpo_run_hardware_load(struct lpo_arena *a, const char *run_dir, struct lpo_hardware **out,
                          struct lpo_err *err);

/* The file's text, and back. */
void lpo_run_hardware_write(const struct lpo_hardware *hw, struct lpo_str *out);
int lpo_run_hardware_read(struct lpo_arena *a, const struct lpo_json *root,
                          struct lpo_hardware *out, struct lpo_err *err);
