#include "util/idmap.h"

#include <stdlib.h>

#include "util/arena.h"

struct slot {
    uint64_t key;
    uint32_t value;
    bool used;
};

struct lpo_idmap {
    struct slot *slots;
    size_t mask, count;
};

struct lpo_idmap *lpo_idmap_create(size_t expected)
{
    struct lpo_idmap *m = lpo_xcalloc(1, sizeof *m);

    m->mask = 15;
    while (m->mask / 4 * 3 < expected)
        m->mask = m->mask * 2 + 1;
    m->slots = lpo_xcalloc(m->mask + 1, sizeof *m->slots);
    return m;
}

void lpo_idmap_destroy(struct lpo_idmap *m)
{
    if (!m)
        return;
    free(m->slots);
    free(m);
}

/* Ids come in runs and in multiples of powers of two, so every bit must reach the low ones. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

/* Neighbours stay neighbours, eight to a run, since joins ask for ids in order. */
static size_t place(const struct lpo_idmap *m, uint64_t key)
{
    return (mix(key >> 3) + (key & 7)) & m->mask;
}

static struct slot *probe(const struct lpo_idmap *m, uint64_t key)
{
    size_t i = place(m, key);

    while (m->slots[i].used && m->slots[i].key != key)
        i = (i + 1) & m->mask;
    return &m->slots[i];
}

static void grow(struct lpo_idmap *m)
{
    struct slot *old = m->slots;
    size_t count = m->mask + 1;

    m->mask = m->mask * 2 + 1;
    m->slots = lpo_xcalloc(m->mask + 1, sizeof *m->slots);
    for (size_t i = 0; i < count; i++) {
        if (old[i].used)
            *probe(m, old[i].key) = old[i];
    }
    free(old);
}

uint32_t *lpo_idmap_put(struct lpo_idmap *m, uint64_t key, bool *fresh)
{
    struct slot *s = probe(m, key);

    if (fresh)
        *fresh = !s->used;
    if (s->used)
        return &s->value;
    if ((m->count + 1) * 4 > m->mask * 3) {
        grow(m);
        s = probe(m, key);
    }
    m->count++;
    *s = (struct slot){ key, UINT32_MAX, true };
    return &s->value;
}

uint32_t *lpo_idmap_find(const struct lpo_idmap *m, uint64_t key)
{
    struct slot *s = probe(m, key);

    return s->used ? &s->value : NULL;
}

void lpo_idmap_prefetch(const struct lpo_idmap *m, uint64_t key)
{
    __builtin_prefetch(&m->slots[place(m, key)], 1);
}

size_t lpo_idmap_count(const struct lpo_idmap *m)
{
    return m->count;
}
