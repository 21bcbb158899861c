/* collect/pool.h - activity buffers that wait to be filled. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LPOC_POOL_MAX = 1024 };

struct lpoc_pool {
    pthread_mutex_t lock;
    size_t bytes; /* of one buffer */
    unsigned free_count, made, most;
    bool zeroed; /* buffers in the pool hold only zeros */
    uint8_t *free[LPOC_POOL_MAX];
};

/* Makes `ready` buffers now: the first launches then wait for no page faults of ours. */
void lpoc_pool_start(struct lpoc_pool *p, size_t bytes, unsigned ready, unsigned most, bool zeroed);
uint8_t *lpoc_pool_take(struct lpoc_pool *p); /* NULL: `most` are out already */
void lpoc_pool_give(struct lpoc_pool *p, uint8_t *buffer, size_t used);
