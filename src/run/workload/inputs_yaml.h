/* SPDX-License-Identifier: Apache-2.0 */
/* run/workload/inputs_yaml.h - inputs.yaml: what the workload was given, with enough to find it
 * again. */
#pragma once

struct lpo_arena;
struct lpo_node;

/* Workload, model, generation settings and dataset, and each sample that is used: its path, its
 * bytes (null: it is not there), width and height of a PNG or JPEG. With a shuffle, all samples to
 * choose from, and samples_shuffled. */
struct lpo_node *lpo_workload_inputs_describe(struct lpo_arena *a, const struct lpo_node *config,
                                              const char *call_dir);
