/* SPDX-License-Identifier: Apache-2.0 */
/* collect/inside/inside.h - CUPTI only inside windows (CAPTURE_ATTACH=2).
 *
 * CUPTI slows a program that launches many small kernels down as long as it is in the process,
 * whatever is recorded. Here it comes with a window and goes when no other window has opened for a
 * while (CAPTURE_LINGER_MS) and what ran in the window has its times. A thread of the collector
 * waits for that. It must not send CUPTI away itself: a thread of the program that is inside CUPTI
 * at that moment, in the middle of a launch, goes on with memory that is freed, and the program
 * crashes (CUPTI 13.0; docs/benchmarks.md, Windows). So CUPTI leaves at the end of the program's
 * next launch, in its callback, which is where NVIDIA says that it may. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct lpoc;

/* All under the lock of the windows. */
struct lpoc_detach {
    pthread_cond_t changed;
    bool has_thread;
    bool sleeps; /* the thread, until it is asked */
    bool asked;  /* the window closed, and none has opened since */
    bool due;    /* atomic: all that came from the window is here, CUPTI may leave */
    bool ended;  /* the program ends: CUPTI stays as it is */
    uint64_t asked_ns;
};

void lpoc_detach_start(struct lpoc *c);
/* A window has closed; or one opens. Under the lock of the windows. */
void lpoc_detach_ask(struct lpoc *c);
void lpoc_detach_cancel(struct lpoc *c);
/* At the end of a call that CUPTI tells us of, in its callback. */
static inline bool lpoc_detach_is_due(const struct lpoc_detach *d)
{
    return __atomic_load_n(&d->due, __ATOMIC_RELAXED);
}
void lpoc_detach_now(struct lpoc *c);
/* Before the program ends: waits for a detaching that is under way, and no other begins. */
void lpoc_detach_end(struct lpoc *c);
