/* region/start_end.h - start/end ranges, which cross threads and overlap. */
#pragma once

#include <stdint.h>

struct lpo_str_ends;
struct lpo_region_tree;

/* Makes a node per name, counts its visits, and returns for every launch the set of those that
 * hold it (row of tree->sets); NULL when the trace has no start/end ranges. The caller frees. */
uint32_t *lpo_region_start_end_sets(struct lpo_region_tree *tree, const struct lpo_str_ends *ends);
