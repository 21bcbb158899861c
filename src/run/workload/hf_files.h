/* SPDX-License-Identifier: Apache-2.0 */
/* run/workload/hf_files.h - what the Hugging Face workload would find missing, seconds later.
 *
 * hf_generate.py checks its own settings, but only after torch is loaded, and again in every stage.
 * The files that a config names are looked for here, before anything starts. */
#pragma once

struct lpo_arena;
struct lpo_err;
struct lpo_node;

/* Relative names are those of a program started in `cwd`. */
int lpo_workload_hf_files_check(struct lpo_arena *a, const struct lpo_node *config, const char *cwd,
                                struct lpo_err *err);
/* The list of samples alone, for programs that find their model themselves. */
int lpo_workload_list_check(struct lpo_arena *a, const struct lpo_node *config, const char *cwd,
                            struct lpo_err *err);
