/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/node_index.h"

#include <math.h>
#include <string.h>

#include "hydra/node.h"
#include "util/arena.h"
#include "util/str.h"

enum { INDEX_FROM = 32 };

struct lpo_node_index {
    size_t slots;   /* a power of two, at least twice the pairs */
    size_t indexed; /* pairs that are in the table */
    uint32_t at[];  /* pair number + 1; 0 is free */
};

static bool is_number(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_BOOL || n->kind == LPO_NODE_INT || n->kind == LPO_NODE_FLOAT;
}

static int64_t whole(const struct lpo_node *n)
{
    return n->kind == LPO_NODE_BOOL ? n->boolean : n->integer;
}

bool lpo_node_same_key(const struct lpo_node *x, const struct lpo_node *y)
{
    if (is_number(x) && is_number(y)) {
        if (x->kind != LPO_NODE_FLOAT && y->kind != LPO_NODE_FLOAT)
            return whole(x) == whole(y);
        return (x->kind == LPO_NODE_FLOAT ? x->real : (double)whole(x)) ==
               (y->kind == LPO_NODE_FLOAT ? y->real : (double)whole(y));
    }
    if (x->kind != y->kind || lpo_node_is_container(x))
        return false;
    return x->kind == LPO_NODE_NULL || (x->len == y->len && memcmp(x->text, y->text, x->len) == 0);
}

static uint64_t hash_key(const struct lpo_node *n)
{
    double d;

    if (n->kind == LPO_NODE_NULL || lpo_node_is_container(n))
        return 7;
    if (!is_number(n))
        return lpo_str_hash(n->text, n->len);
    d = n->kind == LPO_NODE_FLOAT ? n->real : (double)whole(n);
    if (d == 0)
        d = 0; /* -0.0 and 0 are one key */
    return lpo_str_hash(&d, sizeof d);
}

static void put(struct lpo_node_index *ix, const struct lpo_node *map, size_t pair)
{
    size_t slot = hash_key(map->pairs[pair].key) & (ix->slots - 1);

    while (ix->at[slot])
        slot = (slot + 1) & (ix->slots - 1);
    ix->at[slot] = (uint32_t)pair + 1;
    ix->indexed = pair + 1;
}

void lpo_node_index_added(struct lpo_arena *a, struct lpo_node *map)
{
    struct lpo_node_index *ix = map->index;
    size_t slots = 2 * INDEX_FROM;

    if (map->npairs < INDEX_FROM || map->npairs >= UINT32_MAX)
        return;
    if (ix && map->npairs * 2 <= ix->slots && ix->indexed + 1 == map->npairs) {
        put(ix, map, map->npairs - 1);
        return;
    }
    while (slots < map->npairs * 4)
        slots *= 2;
    ix = lpo_arena_alloc(a, sizeof *ix + slots * sizeof *ix->at);
    ix->slots = slots;
    for (size_t i = 0; i < map->npairs; i++)
        put(ix, map, i);
    map->index = ix;
}

ptrdiff_t lpo_node_index_find(const struct lpo_node *map, const struct lpo_node *key)
{
    const struct lpo_node_index *ix = map->index;

    for (size_t slot = hash_key(key) & (ix->slots - 1); ix->at[slot];
         slot = (slot + 1) & (ix->slots - 1)) {
        size_t pair = ix->at[slot] - 1;

        if (lpo_node_same_key(map->pairs[pair].key, key))
            return (ptrdiff_t)pair;
    }
    return -1;
}
