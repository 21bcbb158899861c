/* SPDX-License-Identifier: Apache-2.0 */

#include "util/base.h"
#include "util/table.h"

/* The table of util/table.h with slots of its own, doubled when it is full; it begins with 16. */
#define DEFINE_TABLE(name, SLOT, KEY, USED, PLACE, SAME, PLACE_OF)                                 \
    LPO_TABLE_DEFINE(name, SLOT, KEY, USED, PLACE, SAME, PLACE_OF)                                 \
                                                                                                   \
    static void name##_grow(SLOT **slots, size_t *mask)                                            \
    {                                                                                              \
        SLOT *old = *slots;                                                                        \
        size_t count = old ? *mask + 1 : 0;                                                        \
                                                                                                   \
        *mask = old ? *mask * 2 + 1 : 15;                                                          \
        *slots = lpo_xcalloc(*mask + 1, sizeof **slots);                                           \
        name##_move(old, count, *slots, *mask);                                                    \
        free(old);                                                                                 \
    }

/* ---- text */

struct entry {
    const char *key;
    size_t len;
    uint64_t value;
};

struct text_slot {
    uint32_t hash; /* compared first, so that the text of other keys is seldom read */
    uint32_t used; /* entry + 1 */
};

struct text_key {
    const struct entry *entries;
    const char *at;
    size_t len;
    uint32_t hash;
};

struct lpo_map {
    struct entry *entries; /* in the order of insertion */
    size_t count, cap;
    struct text_slot *slots;
    size_t mask;
    struct lpo_arena *arena;
};

static inline bool text_used(const struct text_slot *s)
{
    return s->used;
}

static inline bool text_same(const struct text_slot *s, const struct text_key *key)
{
    const struct entry *e = &key->entries[s->used - 1];

    return s->hash == key->hash && e->len == key->len &&
           (!key->len || memcmp(e->key, key->at, key->len) == 0);
}

static inline size_t text_place(const struct text_key *key)
{
    return key->hash;
}

static inline size_t text_place_of(const struct text_slot *s)
{
    return s->hash;
}

DEFINE_TABLE(text, struct text_slot, const struct text_key *, text_used, text_place, text_same,
             text_place_of)

static struct text_key text_key(const struct lpo_map *m, const char *at, size_t len)
{
    return (struct text_key){ m->entries, at, len, (uint32_t)lpo_str_hash(at, len) };
}

struct lpo_map *lpo_map_create(void)
{
    struct lpo_map *m = lpo_xcalloc(1, sizeof *m);

    text_grow(&m->slots, &m->mask);
    m->arena = lpo_arena_create();
    return m;
}

void lpo_map_destroy(struct lpo_map *m)
{
    if (!m)
        return;
    free(m->entries);
    free(m->slots);
    lpo_arena_destroy(m->arena);
    free(m);
}

uint64_t *lpo_map_put(struct lpo_map *m, const char *at, size_t len, bool *fresh)
{
    struct text_key key = text_key(m, at, len);
    struct text_slot *s = text_probe(m->slots, m->mask, &key);

    if (fresh)
        *fresh = !s->used;
    if (s->used)
        return &m->entries[s->used - 1].value;
    if (!lpo_table_has_room(m->count, m->mask)) {
        text_grow(&m->slots, &m->mask);
        s = text_probe(m->slots, m->mask, &key);
    }
    if (m->count == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 16;
        m->entries = lpo_xrealloc(m->entries, m->cap, sizeof *m->entries);
    }
    m->entries[m->count] = (struct entry){ lpo_arena_strndup(m->arena, at, len), len, 0 };
    *s = (struct text_slot){ key.hash, (uint32_t)++m->count };
    return &m->entries[m->count - 1].value;
}

uint64_t *lpo_map_find(const struct lpo_map *m, const char *at, size_t len)
{
    struct text_key key = text_key(m, at, len);
    const struct text_slot *s = text_probe(m->slots, m->mask, &key);

    return s->used ? &m->entries[s->used - 1].value : NULL;
}

size_t lpo_map_count(const struct lpo_map *m)
{
    return m->count;
}

const char *lpo_map_key(const struct lpo_map *m, size_t i, size_t *len)
{
    if (len)
        *len = m->entries[i].len;
    return m->entries[i].key;
}

uint64_t lpo_map_value(const struct lpo_map *m, size_t i)
{
    return m->entries[i].value;
}

/* ---- a number */

/* Halves of the key, because a whole one would pad the slot to 16 bytes, and a table of a million
 * ids is one of the largest things a reader holds. The key is stored inverted, so that a slot of
 * zeros is a free one; the one key that this takes away has a value of its own in the table. */
struct u64_slot {
    uint32_t low, high;
    uint32_t value;
};

static const uint64_t last_key = UINT64_MAX;

struct lpo_map_u64 {
    struct u64_slot *slots;
    size_t mask, count;
    bool has_last;
    uint32_t value_of_last;
};

/* Ids come in runs and in multiples of powers of two, so every bit must reach the low ones. */
static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

/* Neighbours stay neighbours, eight to a run, since joins ask for ids in order. */
static inline size_t u64_place(uint64_t key)
{
    return mix(key >> 3) + (key & 7);
}

static inline bool u64_used(const struct u64_slot *s)
{
    return s->low | s->high;
}

static inline uint64_t u64_key(const struct u64_slot *s)
{
    return ~((uint64_t)s->high << 32 | s->low);
}

static inline bool u64_same(const struct u64_slot *s, uint64_t key)
{
    return u64_key(s) == key;
}

static inline size_t u64_place_of(const struct u64_slot *s)
{
    return u64_place(u64_key(s));
}

DEFINE_TABLE(u64, struct u64_slot, uint64_t, u64_used, u64_place, u64_same, u64_place_of)

struct lpo_map_u64 *lpo_map_u64_create(size_t expected)
{
    struct lpo_map_u64 *m = lpo_xcalloc(1, sizeof *m);

    m->mask = 15;
    while (m->mask / 4 * 3 < expected)
        m->mask = m->mask * 2 + 1;
    m->slots = lpo_xcalloc(m->mask + 1, sizeof *m->slots);
    return m;
}

void lpo_map_u64_destroy(struct lpo_map_u64 *m)
{
    if (!m)
        return;
    free(m->slots);
    free(m);
}

static uint32_t *put_last(struct lpo_map_u64 *m, bool *fresh)
{
    *fresh = !m->has_last;
    if (*fresh) {
        m->has_last = true;
        m->value_of_last = UINT32_MAX;
        m->count++;
    }
    return &m->value_of_last;
}

uint32_t *lpo_map_u64_put(struct lpo_map_u64 *m, uint64_t key, bool *fresh)
{
    struct u64_slot *s = u64_probe(m->slots, m->mask, key);
    bool unused;

    if (!fresh)
        fresh = &unused;
    if (key == last_key)
        return put_last(m, fresh);
    *fresh = !u64_used(s);
    if (!*fresh)
        return &s->value;
    if (!lpo_table_has_room(m->count, m->mask)) {
        u64_grow(&m->slots, &m->mask);
        s = u64_probe(m->slots, m->mask, key);
    }
    m->count++;
    *s = (struct u64_slot){ (uint32_t)~key, (uint32_t)(~key >> 32), UINT32_MAX };
    return &s->value;
}

uint32_t *lpo_map_u64_find(const struct lpo_map_u64 *m, uint64_t key)
{
    struct u64_slot *s = u64_probe(m->slots, m->mask, key);

    if (key == last_key)
        return m->has_last ? (uint32_t *)&m->value_of_last : NULL;
    return u64_used(s) ? &s->value : NULL;
}

void lpo_map_u64_prefetch(const struct lpo_map_u64 *m, uint64_t key)
{
    __builtin_prefetch(&m->slots[u64_place(key) & m->mask], 1);
}

size_t lpo_map_u64_count(const struct lpo_map_u64 *m)
{
    return m->count;
}

/* ---- a pair of numbers */

/* Packed to 20 bytes: the table of the regions is filled while memory is at its highest. */
struct lpo_map_pair_slot {
    uint64_t a, b;
    uint32_t used; /* row + 1 */
} __attribute__((packed, aligned(4)));

struct pair {
    uint64_t a, b;
};

static inline size_t pair_place(struct pair key)
{
    uint64_t h = key.a * 0x9e3779b97f4a7c15u ^ (key.b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;

    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

static inline bool pair_used(const struct lpo_map_pair_slot *s)
{
    return s->used;
}

static inline bool pair_same(const struct lpo_map_pair_slot *s, struct pair key)
{
    return s->a == key.a && s->b == key.b;
}

static inline size_t pair_place_of(const struct lpo_map_pair_slot *s)
{
    return pair_place((struct pair){ s->a, s->b });
}

DEFINE_TABLE(pair, struct lpo_map_pair_slot, struct pair, pair_used, pair_place, pair_same,
             pair_place_of)

uint32_t lpo_map_pair_put(struct lpo_map_pair *m, uint64_t a, uint64_t b, bool *fresh)
{
    struct pair key = { a, b };
    struct lpo_map_pair_slot *s;

    if (!m->slots || !lpo_table_has_room(m->count, m->mask))
        pair_grow(&m->slots, &m->mask);
    s = pair_probe(m->slots, m->mask, key);
    *fresh = !s->used;
    if (*fresh)
        *s = (struct lpo_map_pair_slot){ a, b, (uint32_t)++m->count };
    return s->used - 1;
}

uint32_t lpo_map_pair_find(const struct lpo_map_pair *m, uint64_t a, uint64_t b)
{
    const struct lpo_map_pair_slot *s =
        m->slots ? pair_probe(m->slots, m->mask, (struct pair){ a, b }) : NULL;

    return s ? s->used - 1 : UINT32_MAX; /* 0 - 1 is UINT32_MAX */
}

void lpo_map_pair_free(struct lpo_map_pair *m)
{
    free(m->slots);
    *m = (struct lpo_map_pair){ 0 };
}
