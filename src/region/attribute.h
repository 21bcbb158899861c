/* SPDX-License-Identifier: Apache-2.0 */
/* region/attribute.h - fills a region tree from the ranges, launches and captures of its trace.
 *
 * This is the one place where ranges and calls are matched, for every source. Private to region/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/host.h"

struct lpo_region_tree;

/* Called once, by lpo_region_tree_create(). n log n in ranges and launches. */
void lpo_region_attribute(struct lpo_region_tree *tree);

/* Part of it (start_end.c): start/end ranges, which cross threads and overlap. Makes a node per
 * name, counts its visits, and returns for every launch the set of those that hold it (row of
 * tree->sets); NULL when the trace has no start/end ranges. The caller frees. */
uint32_t *lpo_region_start_end_sets(struct lpo_region_tree *tree);

/* What happened on a thread, in order: the slices that are regions of the tree, and what else is in
 * `kinds`. */
struct lpo_host_walk lpo_region_walk(const struct lpo_region_tree *tree, uint32_t thread,
                                     unsigned kinds);
bool lpo_region_next(const struct lpo_region_tree *tree, struct lpo_host_walk *w,
                     struct lpo_slice *out);

/* Adds `node` to a sorted set without doubles; a full set stays as it is. Returns the new size. */
size_t lpo_region_set_add(uint32_t *set, size_t count, size_t room, uint32_t node);

/* Part of it (summed_paths.c): ranges that the reader summed. Adds the paths that `thread` entered
 * to the tree, with their visits; `nodes` gets the node of each, LPO_NONE where it has none. */
struct lpo_summed_paths {
    uint32_t *nodes; /* per row of trace->paths */
    bool *used;      /* the same, after one for no path: something was there */
};

struct lpo_summed_paths lpo_region_summed_paths(struct lpo_region_tree *tree);
void lpo_region_summed_add(struct lpo_region_tree *tree, const struct lpo_summed_paths *s,
                           uint32_t thread);
/* After the last thread: visits that were never closed. */
void lpo_region_summed_close(struct lpo_region_tree *tree, const struct lpo_summed_paths *s);
void lpo_region_summed_free(struct lpo_summed_paths *s);
