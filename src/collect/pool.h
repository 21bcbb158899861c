/* SPDX-License-Identifier: Apache-2.0 */
/* collect/pool.h - empty activity buffers for CUPTI. */
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
    uint8_t *free[LPOC_POOL_MAX], *all[LPOC_POOL_MAX];
};

/* Makes `ready` buffers now, so that the first launches do not wait for their page faults. */
void lpoc_pool_start(struct lpoc_pool *p, size_t bytes, unsigned ready, unsigned most, bool zeroed);
uint8_t *lpoc_pool_take(struct lpoc_pool *p); /* NULL: `most` are in use */
/* Nobody uses a buffer any more, given back or not. */
void lpoc_pool_reclaim(struct lpoc_pool *p);
void lpoc_pool_give(struct lpoc_pool *p, uint8_t *buffer, size_t used);
