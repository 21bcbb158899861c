/* SPDX-License-Identifier: Apache-2.0 */
/* collect/collect.h - the state of the collector in one process.
 *
 * Locks, outermost first: the windows', a thread's `writing`, `lock`, the file's. All are taken
 * with lpoc_lock() (guard.h). The hot path takes none. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/clock.h"
#include "collect/control.h"
#include "collect/defs.h"
#include "collect/file.h"
#include "collect/inside/inside.h"
#include "collect/knobs.h"
#include "collect/ring.h"
#include "collect/tail.h"
#include "collect/window.h"
#include "lpo/launchers.h"
#include "lpo/trace_format.h"

enum { LPOC_COUNTERS = 32 };

enum lpoc_state {
    LPOC_FRESH = 0, /* no call has come yet */
    LPOC_ON,
    LPOC_FORKED, /* child of fork: opens its own file at its first event */
    LPOC_OFF,    /* no folder given, or no file could be made: every call is a no-op */
};

struct lpoc_thread;
struct lpoc_gpu;

struct lpoc {
    pthread_mutex_t lock; /* defs, the list of threads, changes of state */
    int state;            /* enum lpoc_state; atomic */
    pid_t pid;
    struct lpoc_knobs knobs;
    struct lpo_rank rank; /* of the job that the process belongs to, where it does */
    struct lpoc_clock clock;
    struct lpoc_file file;
    struct lpoc_tail tail;
    struct lpoc_defs defs;
    struct lpoc_thread *threads; /* all ever made; only grows; atomic head */
    uint32_t nthreads;
    uint32_t orphans;  /* places of threads that ended while the disk failed; atomic */
    pthread_key_t key; /* its destructor writes the buffer of a thread that ends */
    bool has_key;
    uint64_t last_range;              /* start/end ids; atomic */
    uint64_t counters[LPOC_COUNTERS]; /* by enum lpot_counter; atomic */
    uint32_t notes, footers, facts;   /* sequence numbers; atomic */
    struct lpoc_gpu *gpu; /* NULL until CUDA is initialised, or later: gpu_waits; for callbacks */
    struct lpoc_gpu *gpu_ready; /* the same when all is enabled; atomic, for all others */
    bool gpu_waits;             /* for a window; under the lock of the windows */
    struct lpoc_detach detach;
    bool counts_launches; /* CUDA was initialised, and CAPTURE_COUNT is set */
    struct lpoc_window window;
    struct lpoc_control control;
    struct lpoc_ring ring;
    void (*sampler_stop)(void); /* sampler.h; NULL: no sampler in this process */
};

/* The one state of this process (inject.c). */
struct lpoc *lpoc_get(void);

/* Brings the collector to LPOC_ON, once; also in a child of fork. False: it is off. */
bool lpoc_ready(struct lpoc *c);

/* The string id of a kernel's name, cut at LPOC_KERNEL_NAME_MAX; 0 for none. Takes the lock. */
enum { LPOC_KERNEL_NAME_MAX = 32 << 10 };
uint32_t lpoc_kernel_name(struct lpoc *c, const char *name);

/* Every block is written by this. -1: it was not, and the caller keeps it or counts what it lost;
 * the last words of the file say why, until the disk is back. */
int lpoc_block(struct lpoc *c, unsigned kind, uint32_t stream, uint32_t sequence,
               const void *payload, size_t len);
/* Definitions that are new since the last block. Takes the lock. -1: not all are in the file, and
 * no block that uses them may be written. */
int lpoc_write_defs(struct lpoc *c);
/* facts.c: of the process, as the first block of its file; and (key, value) pairs of text. */
void lpoc_write_first_facts(struct lpoc *c, pid_t forked_from);
void lpoc_write_facts(struct lpoc *c, const char *const (*pairs)[2], unsigned count);
void lpoc_note(struct lpoc *c, unsigned code, uint64_t count, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A thread of the collector's own, for the rest of the process. The caller holds a lock of ours: so
 * signals are blocked, and the thread inherits that. */
bool lpoc_own_thread(struct lpoc *c, void *(*run)(void *collector));
/* All buffers, all definitions, and the totals. `exits`: the program ends in the ordinary way. */
void lpoc_finish(struct lpoc *c, bool exits);
/* In the child, right after fork and with the locks held: forget the parent's file and threads.
 * `inside`: fork was called by a signal handler that interrupted the collector. */
void lpoc_forked(struct lpoc *c, bool inside);

/* The sequence number of the next block of a kind. */
static inline uint32_t lpoc_next(uint32_t *sequence)
{
    return __atomic_fetch_add(sequence, 1, __ATOMIC_RELAXED);
}

/* In the tail too, for who writes the totals of a process that could not. */
static inline void lpoc_count(struct lpoc *c, unsigned counter, uint64_t n)
{
    __atomic_fetch_add(&c->counters[counter], n, __ATOMIC_RELAXED);
    if (c->tail.head && lpoc_file_is_ours(&c->file))
        __atomic_fetch_add(&c->tail.head->totals[counter], n, __ATOMIC_RELAXED);
}
