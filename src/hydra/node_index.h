/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/node_index.h - finding a key in a map of thousands without walking it.
 *
 * Small maps have no index; one appears when a map grows past a screenful of keys. Keys are equal
 * as in Python (1, 1.0 and true are one key), so they hash alike. Only node.c uses this.
 *
 * It is the table of util/table.h, with slots in the arena of the nodes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_node;

bool lpo_node_same_key(const struct lpo_node *x, const struct lpo_node *y);

/* Call after a pair was appended: starts, extends or rebuilds the index where the size asks for
 * it. */
void lpo_node_index_added(struct lpo_arena *a, struct lpo_node *map);
/* Only when map->index is set. */
ptrdiff_t lpo_node_index_find(const struct lpo_node *map, const struct lpo_node *key);
