/* util/idmap.h - 64-bit number to 32-bit number, for joins over millions of rows.
 *
 * Open addressing, 16 bytes a slot; nothing is removed. For text keys see util/map.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"

struct lpo_idmap;

struct lpo_idmap *lpo_idmap_create(size_t expected); /* 0 when unknown */
void lpo_idmap_destroy(struct lpo_idmap *m);         /* NULL is fine */
LPO_AUTO_DEFINE(lpo_idmap);

/* The slot of `key`, made with value UINT32_MAX when absent; *fresh (may be NULL) tells which.
 * The pointer is good until the next put. */
uint32_t *lpo_idmap_put(struct lpo_idmap *m, uint64_t key, bool *fresh);
uint32_t *lpo_idmap_find(const struct lpo_idmap *m, uint64_t key); /* NULL: absent */
/* This key is wanted soon. A table of millions is far larger than the cache; asked for a few keys
 * ahead, the memory comes while other work goes on. */
void lpo_idmap_prefetch(const struct lpo_idmap *m, uint64_t key);
size_t lpo_idmap_count(const struct lpo_idmap *m);
