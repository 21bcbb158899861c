/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/node_index.h"

#include <math.h>
#include <string.h>

#include "hydra/node.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/table.h"

enum { INDEX_FROM = 32 };

struct slot {
    uint32_t hash; /* compared first, so that other keys are seldom looked at */
    uint32_t used; /* pair number + 1 */
};

struct lpo_node_index {
    struct slot *slots;
    size_t mask;
    size_t indexed; /* pairs that are in the table */
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

struct key {
    const struct lpo_node *map, *node;
    uint32_t hash;
};

static inline bool is_used(const struct slot *s)
{
    return s->used;
}

static inline size_t place(const struct key *key)
{
    return key->hash;
}

static inline size_t place_of(const struct slot *s)
{
    return s->hash;
}

static inline bool is_same(const struct slot *s, const struct key *key)
{
    return s->hash == key->hash && lpo_node_same_key(key->map->pairs[s->used - 1].key, key->node);
}

LPO_TABLE_DEFINE(pair, struct slot, const struct key *, is_used, place, is_same, place_of)

static struct key key_of(const struct lpo_node *map, const struct lpo_node *node)
{
    return (struct key){ map, node, (uint32_t)hash_key(node) };
}

/* Old slots stay in the arena until it goes: together they are smaller than the last. */
static void grow(struct lpo_arena *a, struct lpo_node_index *ix)
{
    size_t count = ix->slots ? ix->mask + 1 : 0;
    size_t mask = count ? count * 2 - 1 : 2 * INDEX_FROM - 1;
    struct slot *slots = lpo_arena_array(a, mask + 1, sizeof *slots);

    pair_move(ix->slots, count, slots, mask);
    ix->slots = slots;
    ix->mask = mask;
}

void lpo_node_index_added(struct lpo_arena *a, struct lpo_node *map)
{
    if (map->npairs < INDEX_FROM || map->npairs >= UINT32_MAX)
        return;
    if (!map->index)
        map->index = LPO_NEW(a, struct lpo_node_index);
    for (struct lpo_node_index *ix = map->index; ix->indexed < map->npairs; ix->indexed++) {
        struct key key = key_of(map, map->pairs[ix->indexed].key);
        struct slot *s;

        if (!ix->slots || !lpo_table_has_room(ix->indexed, ix->mask))
            grow(a, ix);
        s = pair_probe(ix->slots, ix->mask, &key);
        if (!s->used) /* the first of equal keys is the one that is found */
            *s = (struct slot){ key.hash, (uint32_t)ix->indexed + 1 };
    }
}

ptrdiff_t lpo_node_index_find(const struct lpo_node *map, const struct lpo_node *node)
{
    struct key key = key_of(map, node);
    const struct slot *s = pair_probe(map->index->slots, map->index->mask, &key);

    return (ptrdiff_t)s->used - 1; /* 0 is free: -1 */
}
