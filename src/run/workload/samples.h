/* SPDX-License-Identifier: Apache-2.0 */
/* run/workload/samples.h - which files the config's dataset names.
 *
 * The same rules and order as lpo_hf/samples.py: the lines of the list; else the pages that
 * OmniDocBench's JSON names; else the files under dataset.root that the patterns match. */
#pragma once

#include <stdbool.h>

#include "util/vec.h"

struct lpo_arena;
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
