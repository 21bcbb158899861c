#include "region/pairmap.h"

#include <stdlib.h>

#include "util/arena.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;

    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

static size_t find_slot(const struct lpo_pairmap *m, uint64_t a, uint64_t b)
{
    size_t i = mix(a, b) & (m->cap - 1);

    while (m->rows[i] && (m->keys[i][0] != a || m->keys[i][1] != b))
        i = (i + 1) & (m->cap - 1);
    return i;
}

static void grow(struct lpo_pairmap *m)
{
    struct lpo_pairmap old = *m;

    m->cap = old.cap ? old.cap * 2 : 64;
    m->keys = lpo_xcalloc(m->cap, sizeof *m->keys);
    m->rows = lpo_xcalloc(m->cap, sizeof *m->rows);
    for (size_t i = 0; i < old.cap; i++) {
        size_t slot;

        if (!old.rows[i])
            continue;
        slot = find_slot(m, old.keys[i][0], old.keys[i][1]);
        m->keys[slot][0] = old.keys[i][0];
        m->keys[slot][1] = old.keys[i][1];
        m->rows[slot] = old.rows[i];
    }
    free(old.keys);
    free(old.rows);
}

uint32_t lpo_region_pairmap_put(struct lpo_pairmap *m, uint64_t a, uint64_t b, uint32_t next,
                                bool *fresh)
{
    size_t slot;

    if (m->len * 4 >= m->cap * 3)
        grow(m);
    slot = find_slot(m, a, b);
    *fresh = m->rows[slot] == 0;
    if (*fresh) {
        m->keys[slot][0] = a;
        m->keys[slot][1] = b;
        m->rows[slot] = next + 1;
        m->len++;
    }
    return m->rows[slot] - 1;
}

void lpo_region_pairmap_free(struct lpo_pairmap *m)
{
    free(m->keys);
    free(m->rows);
    *m = (struct lpo_pairmap){ 0 };
}
