#include "util/map.h"

#include <stdlib.h>
#include <string.h>

#include "util/arena.h"
#include "util/str.h"

struct entry {
    const char *key;
    size_t len;
    uint64_t hash, value;
};

struct lpo_map {
    struct entry *entries;
    size_t count, cap;
    uint32_t *slots; /* entry index + 1; 0 is empty; open addressing */
    size_t mask;
    struct lpo_arena *arena;
};

struct lpo_map *lpo_map_create(void)
{
    struct lpo_map *m = lpo_xcalloc(1, sizeof *m);

    m->mask = 15;
    m->slots = lpo_xcalloc(m->mask + 1, sizeof *m->slots);
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

static size_t probe(const struct lpo_map *m, uint64_t hash, const char *key, size_t len)
{
    size_t i = hash & m->mask;

    for (; m->slots[i]; i = (i + 1) & m->mask) {
        const struct entry *e = &m->entries[m->slots[i] - 1];

        if (e->hash == hash && e->len == len && memcmp(e->key, key, len) == 0)
            break;
    }
    return i;
}

static void rehash(struct lpo_map *m)
{
    m->mask = m->mask * 2 + 1;
    free(m->slots);
    m->slots = lpo_xcalloc(m->mask + 1, sizeof *m->slots);
    for (size_t n = 0; n < m->count; n++) {
        size_t i = m->entries[n].hash & m->mask;

        while (m->slots[i])
            i = (i + 1) & m->mask;
        m->slots[i] = (uint32_t)n + 1;
    }
}

uint64_t *lpo_map_put(struct lpo_map *m, const char *key, size_t len, bool *fresh)
{
    uint64_t hash = lpo_str_hash(key, len);
    size_t i = probe(m, hash, key, len);

    if (fresh)
        *fresh = m->slots[i] == 0;
    if (m->slots[i])
        return &m->entries[m->slots[i] - 1].value;
    if (m->count == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 16;
        m->entries = lpo_xrealloc(m->entries, m->cap, sizeof *m->entries);
    }
    m->entries[m->count] = (struct entry){ lpo_arena_strndup(m->arena, key, len), len, hash, 0 };
    m->slots[i] = (uint32_t)++m->count;
    if (m->count * 4 > m->mask * 3)
        rehash(m);
    return &m->entries[m->count - 1].value;
}

uint64_t *lpo_map_find(const struct lpo_map *m, const char *key, size_t len)
{
    size_t i = probe(m, lpo_str_hash(key, len), key, len);

    return m->slots[i] ? &m->entries[m->slots[i] - 1].value : NULL;
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
