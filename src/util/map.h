/* util/map.h - text to number or pointer, remembering the order of insertion.
 *
 * Keys are copied. Values are a uint64_t; store an index into your own array, or a pointer cast
 * through uintptr_t. Iterate with i = 0 … lpo_map_count(): insertion order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"

struct lpo_map;

struct lpo_map *lpo_map_create(void);
void lpo_map_destroy(struct lpo_map *m); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_map);

/* The slot of `key`, made with value 0 when absent; *fresh (may be NULL) tells which.
 * The pointer is good until the next put. */
uint64_t *lpo_map_put(struct lpo_map *m, const char *key, size_t len, bool *fresh);
uint64_t *lpo_map_find(const struct lpo_map *m, const char *key, size_t len); /* NULL: absent */

size_t lpo_map_count(const struct lpo_map *m);
const char *lpo_map_key(const struct lpo_map *m, size_t i, size_t *len /* may be NULL */);
uint64_t lpo_map_value(const struct lpo_map *m, size_t i);
