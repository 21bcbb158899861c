/* SPDX-License-Identifier: Apache-2.0 */
/* collect/calls.h - CUDA calls that can block: why a GPU was idle.
 *
 * A program makes thousands of launches for each of these, so they are always recorded, with two
 * callbacks and a clock of our own. CUPTI's records of calls are no alternative: they would cost
 * one record for every call, or a second filter beside the one for callbacks. The outermost call
 * counts: what the driver does inside a call of the runtime is not a second one.
 *
 * A thread keeps the last calls as they are and turns them into a block when its buffer is
 * written. One released store commits a call; nothing is relative to the call before it, so a
 * signal handler may leave by a jump anywhere. */
#pragma once

#include <stdint.h>

struct lpoc_thread;

enum { LPOC_CALLS = 128 }; /* kept before they are written */

struct lpoc_call {
    uint64_t start, end; /* ticks */
    uint32_t name;       /* string id */
    uint32_t count;      /* queries in a loop; 1 for any other call */
};

struct lpoc_calls {
    /* The call that is running: domain 0: none. */
    uint64_t start;
    uint32_t id;
    int domain;
    struct lpoc_call queries; /* a loop of them that may still go on; count 0: none */
    uint32_t committed;       /* atomic */
    uint32_t flushed, sequence;
    struct lpoc_call at[LPOC_CALLS];
    uint8_t block[LPOC_CALLS * 32]; /* under the thread's `writing` */
};

/* By the owner, inside lpoc_enter(). */
void lpoc_call_begin(struct lpoc_thread *t, int domain, uint32_t id, uint64_t now);
void lpoc_call_end(struct lpoc_thread *t, int domain, uint32_t id, const char *function,
                   uint64_t now);
void lpoc_query_end(struct lpoc_thread *t, int domain, uint32_t id, const char *function,
                    uint64_t now);
/* The thread does something else: a loop of queries, if there is one, is over. */
void lpoc_queries_over(struct lpoc_thread *t);

/* Writes what was committed as one block. The caller holds `writing`. -1: it could not be written.
 */
int lpoc_calls_write(struct lpoc_thread *t);
/* What could not be written is counted, and not tried again. The caller holds `writing`. */
void lpoc_calls_lose(struct lpoc_thread *t);
