/* SPDX-License-Identifier: Apache-2.0 */
/* collect/ring.h - a flight recorder: the last seconds in memory, written when they matter.
 *
 * The blocks of threads, GPU records and calls go into a ring instead of the file. They are written
 * when `lpo ctl` or a signal asks, when a call of the chosen range took too long, and when the
 * program crashes; else the oldest are dropped, by age and by room. So that any of them may be the
 * first that is read, such blocks stand for themselves (LPOT_THREAD_FRESH, LPOT_GPU_FRESH). */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/clock.h"
#include "collect/file.h"

struct lpoc;

struct lpoc_ring {
    bool on;
    pthread_mutex_t lock; /* all below; only the file's comes after it */
    uint8_t *at;
    size_t room;
    size_t first, next; /* entries are [first, next), or [first, wrap) and [0, next) */
    size_t wrap;        /* 0: not wrapped */
    uint64_t keep_ticks;
    uint32_t wanted; /* atomic: enum lpot_window, why the control thread is to write it; 0: not */
};

void lpoc_ring_start(struct lpoc *c); /* with the settings and the clock known */
/* Keeps a copy; drops what is too old or in the way. -1: larger than the ring. */
int lpoc_ring_put(struct lpoc *c, const struct lpoc_moment *now, const struct lpoc_block *b);
/* By the control thread: all that is in the ring, and in the buffers of the threads, to the file.
 */
void lpoc_ring_dump(struct lpoc *c, unsigned why);
/* From anywhere, a signal handler too: let the control thread do that. */
void lpoc_ring_ask(struct lpoc *c, unsigned why);
void lpoc_ring_forked(struct lpoc *c);
