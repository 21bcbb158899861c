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

/* What happened on a thread, in order: the slices that are regions of the tree, and what else is in
 * `kinds`. */
struct lpo_host_walk lpo_region_walk(const struct lpo_region_tree *tree, uint32_t thread,
                                     unsigned kinds);
bool lpo_region_next(const struct lpo_region_tree *tree, struct lpo_host_walk *w,
                     struct lpo_slice *out);
