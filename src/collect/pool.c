/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/pool.h"

#include <string.h>

#include "collect/guard.h"
#include "collect/mem.h"

static uint8_t *make(struct lpoc_pool *p)
{
    uint8_t *buffer;

    if (p->made >= p->most)
        return NULL;
    buffer = lpoc_map(p->bytes);
    if (buffer)
        p->all[p->made++] = buffer;
    return buffer;
}

void lpoc_pool_start(struct lpoc_pool *p, size_t bytes, unsigned ready, unsigned most, bool zeroed)
{
    pthread_mutex_init(&p->lock, NULL);
    p->bytes = bytes;
    p->most = most < LPOC_POOL_MAX ? most : LPOC_POOL_MAX;
    p->zeroed = zeroed;
    while (p->free_count < ready) {
        uint8_t *buffer = make(p);
        if (!buffer)
            return;
        for (size_t at = 0; at < bytes; at += 4096)
            *(volatile uint8_t *)(buffer + at) = 0; /* take the page faults here */
        p->free[p->free_count++] = buffer;
    }
}

/* CUPTI asks for a buffer in the middle of a launch, so those that are ready were touched before;
 * at the limit it gets none and drops records, which it counts and we report. */
uint8_t *lpoc_pool_take(struct lpoc_pool *p)
{
    uint8_t *buffer;

    lpoc_lock(&p->lock);
    buffer = p->free_count ? p->free[--p->free_count] : make(p);
    lpoc_unlock(&p->lock);
    return buffer;
}

void lpoc_pool_give(struct lpoc_pool *p, uint8_t *buffer, size_t used)
{
    if (p->zeroed)
        memset(buffer, 0, used < p->bytes ? used : p->bytes);
    lpoc_lock(&p->lock);
    if (p->free_count < LPOC_POOL_MAX)
        p->free[p->free_count++] = buffer;
    lpoc_unlock(&p->lock);
}

static bool is_free(const struct lpoc_pool *p, const uint8_t *buffer)
{
    for (unsigned i = 0; i < p->free_count; i++)
        if (p->free[i] == buffer)
            return true;
    return false;
}

/* How much of one that did not come back was used is not known. */
void lpoc_pool_reclaim(struct lpoc_pool *p)
{
    lpoc_lock(&p->lock);
    for (unsigned i = 0; i < p->made; i++) {
        if (is_free(p, p->all[i]))
            continue;
        if (p->zeroed)
            memset(p->all[i], 0, p->bytes);
        p->free[p->free_count++] = p->all[i];
    }
    lpoc_unlock(&p->lock);
}
