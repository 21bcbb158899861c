/* SPDX-License-Identifier: Apache-2.0 */
/* run/workload/samples.h - which files the config's dataset names.
 *
 * The same rules and order as lpo_hf/samples.py: the lines of the list; else the pages that
 * OmniDocBench's JSON names; else the files under dataset.root that the patterns match. */
#pragma once

#include "util/base.h"

struct lpo_node;

struct lpo_samples {
    const char *root;         /* names are relative to it */
    LPO_VEC(const char *) at; /* at most 10000; free with lpo_vec_free() */
    bool shuffled;            /* the program chooses from these, in an order of its own */
};

/* Cut to dataset.sampling.num_samples_per_epoch, unless shuffled. Names live in the arena. False
 * when the config names no files, or they cannot be read. */
bool lpo_workload_samples_list(struct lpo_arena *a, const struct lpo_node *config,
                               const char *call_dir, struct lpo_samples *out);

/* How large a picture is, from the first bytes of a PNG or JPEG. */

/* False for anything else, and for a file that is cut or not a regular file. */
bool lpo_workload_image_size(const char *path, uint32_t *width, uint32_t *height);

/* inputs.yaml: what the workload was given, with enough to find it
 * again. */

/* Workload, model, generation settings and dataset, and each sample that is used: its path, its
 * bytes (null: it is not there), width and height of a PNG or JPEG. With a shuffle, all samples to
 * choose from, and samples_shuffled. */
struct lpo_node *lpo_workload_inputs_describe(struct lpo_arena *a, const struct lpo_node *config,
                                              const char *call_dir);

/* What the Hugging Face workload would find missing, seconds later.
 *
 * hf_generate.py checks its own settings, but only after torch is loaded, and again in every stage.
 * The files that a config names are looked for here, before anything starts. */

/* Relative names are those of a program started in `cwd`. */
int lpo_workload_hf_files_check(struct lpo_arena *a, const struct lpo_node *config, const char *cwd,
                                struct lpo_err *err);
/* The list of samples alone, for programs that find their model themselves. */
int lpo_workload_list_check(struct lpo_arena *a, const struct lpo_node *config, const char *cwd,
                            struct lpo_err *err);
