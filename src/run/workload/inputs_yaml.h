/* SPDX-License-Identifier: Apache-2.0 */
/* run/workload/inputs_yaml.h - inputs.yaml: what the workload was given, with enough to find it
 * again. */
#pragma once

struct lpo_arena;
struct lpo_node;

/* Workload, model, generation settings and dataset, and each file of the sample list with its size
 * (a file that is not there says so). */
struct lpo_node *lpo_workload_inputs_describe(struct lpo_arena *a, const struct lpo_node *config,
                                              const char *call_dir);
