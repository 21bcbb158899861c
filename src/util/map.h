/* SPDX-License-Identifier: Apache-2.0 */
/* util/map.h - the hash tables: from text, a 64-bit number or a pair of numbers to a number.
 *
 * All three are the table of util/table.h: never more than three quarters full, nothing is ever
 * removed.
 *
 * - lpo_map: text to a uint64_t, in the order of insertion. Keys are copied. Store an index into
 *   your own array, or a pointer cast through uintptr_t.
 * - lpo_map_u64: a number to a uint32_t, for joins over millions of rows; 12 bytes a slot.
 * - lpo_map_pair: two numbers to a dense row number, without a copy of any key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"

struct lpo_map;

struct lpo_map *lpo_map_create(void);
void lpo_map_destroy(struct lpo_map *m); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_map);

/* The value of `key`, made as 0 when absent; *fresh (may be NULL) says which.
 * The pointer is good until the next put. */
uint64_t *lpo_map_put(struct lpo_map *m, const char *key, size_t len, bool *fresh);
uint64_t *lpo_map_find(const struct lpo_map *m, const char *key, size_t len); /* NULL: absent */

/* i = 0 … lpo_map_count(): the order of insertion. */
size_t lpo_map_count(const struct lpo_map *m);
const char *lpo_map_key(const struct lpo_map *m, size_t i, size_t *len /* may be NULL */);
uint64_t lpo_map_value(const struct lpo_map *m, size_t i);

struct lpo_map_u64;

struct lpo_map_u64 *lpo_map_u64_create(size_t expected); /* 0 when unknown */
void lpo_map_u64_destroy(struct lpo_map_u64 *m);         /* NULL is fine */
LPO_AUTO_DEFINE(lpo_map_u64);

/* The value of `key`, made as UINT32_MAX when absent; *fresh (may be NULL) says which.
 * The pointer is good until the next put. */
uint32_t *lpo_map_u64_put(struct lpo_map_u64 *m, uint64_t key, bool *fresh);
uint32_t *lpo_map_u64_find(const struct lpo_map_u64 *m, uint64_t key); /* NULL: absent */
/* This key is wanted soon. A table of millions is far larger than the cache; asked for a few keys
 * ahead, the memory comes while other work goes on. */
void lpo_map_u64_prefetch(const struct lpo_map_u64 *m, uint64_t key);
size_t lpo_map_u64_count(const struct lpo_map_u64 *m);

/* All zero is an empty one. */
struct lpo_map_pair {
    struct lpo_map_pair_slot *slots;
    size_t mask;
    size_t count; /* rows so far */
};

/* The row of (a, b). Rows are numbered 0, 1, 2 … as they are first seen: when *fresh, it is the
 * count before. */
uint32_t lpo_map_pair_put(struct lpo_map_pair *m, uint64_t a, uint64_t b, bool *fresh);
/* The row of (a, b), or UINT32_MAX when it was never put. */
uint32_t lpo_map_pair_find(const struct lpo_map_pair *m, uint64_t a, uint64_t b);
void lpo_map_pair_free(struct lpo_map_pair *m);
