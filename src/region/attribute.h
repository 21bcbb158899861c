/* SPDX-License-Identifier: Apache-2.0 */
/* region/attribute.h - fills a region tree from the ranges, launches and captures of its trace.
 *
 * This is the one place where ranges and calls are matched, for every source. Private to region/.
 */
#pragma once

#include <stdint.h>

struct lpo_process_ends;
struct lpo_region_tree;

/* Called once, by lpo_region_tree_create(). n log n in ranges and launches. */
void lpo_region_attribute(struct lpo_region_tree *tree);

/* Part of it (start_end.c): start/end ranges, which cross threads and overlap. Makes a node per
 * name, counts its visits, and returns for every launch the set of those that hold it (row of
 * tree->sets); NULL when the trace has no start/end ranges. The caller frees. */
uint32_t *lpo_region_start_end_sets(struct lpo_region_tree *tree,
                                    const struct lpo_process_ends *ends);
