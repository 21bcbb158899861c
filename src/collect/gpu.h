/* SPDX-License-Identifier: Apache-2.0 */
/* collect/gpu.h - kernels, copies and memsets, through the CUPTI of the process.
 *
 * CUPTI is found at run time and never linked. It allows one client: where another tool is
 * subscribed, only ranges are recorded and a note in the file says so. Nothing here can make the
 * program fail. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "collect/collect.h"
#include "collect/cupti_abi.h"
#include "collect/driver_abi.h"

struct lpoc_records;

enum { LPOC_CALL_IDS = 1024 }; /* CUDA 13 has 800 */

struct lpoc_gpu {
    struct lpoc *owner;
    struct cupti api;
    struct cu_graphs driver; /* where graphs are timed as a whole */
    bool whole_graphs;
    bool steady;   /* kernel records are not switched with the windows */
    bool late;     /* attached at a window, when the program was running */
    bool again;    /* it was attached before: the file has its facts, and `about` is filled */
    bool stays;    /* that it cannot leave was noted */
    uint64_t left; /* how often it did */
    bool quiet;    /* that CUPTI refused was noted: windows may come by the thousand */
    void *subscriber;
    uint8_t about[2][LPOC_CALL_IDS]; /* enum lpoc_about by domain (1: runtime) and id */
    struct lpoc_records *records;    /* activity.h: from records to blocks */
    bool devices_written;            /* atomic */
    bool switch_refused;             /* noted once */
    bool graphs;                     /* atomic: the program makes or launches CUDA graphs */
    bool stopped;                    /* atomic: CUPTI ended itself */
    uint32_t base; /* atomic: of correlation ids; CUPTI counts from 1 when it comes again */
};

/* An id of CUPTI as the file has it: once in a process. */
static inline uint32_t lpoc_correlation(const struct lpoc_gpu *g, uint32_t id)
{
    return id + __atomic_load_n(&g->base, __ATOMIC_RELAXED);
}

/* callback.c */
void lpoc_on_callback(void *user, int domain, uint32_t id, const void *data);
const char *lpoc_result_text(const struct cupti *api, int result);

/* Called by the driver inside cuInit: no CUDA call is allowed yet. CUPTI may wait for the first
 * window (CAPTURE_ATTACH). */
void lpoc_gpu_start(struct lpoc *c);
/* For threads that are not called by CUPTI: NULL while CUPTI is being set up, where it was refused,
 * and when it has stopped. */
struct lpoc_gpu *lpoc_gpu_of(struct lpoc *c);
/* CUPTI, where it waits for a window; under the lock of the windows. True: it took time. */
bool lpoc_gpu_attach(struct lpoc *c);
/* Has CUPTI deliver the records of what has ended; under the same lock. */
void lpoc_gpu_deliver(struct lpoc *c);
/* Not while it is not there; never where the program has CUDA graphs: a launch of one that runs
 * while CUPTI leaves ends in an illegal memory access (CUPTI 13.0); and not without end: CUPTI
 * keeps 0.6 MB of the GPU's memory each time that it comes. */
bool lpoc_gpu_may_leave(struct lpoc *c);
/* Before CUPTI leaves: no records any more, and those that there are delivered. False: it does not
 * leave. And the way back. Under the same lock. */
bool lpoc_gpu_pack(struct lpoc *c);
void lpoc_gpu_unpack(struct lpoc *c);
/* CUPTI leaves the process until the next window; under the same lock, and at the end of a CUDA
 * call that it tells us of (detach.h). */
void lpoc_gpu_detach(struct lpoc *c);
/* Kernel records, on or off; under the lock of the windows. */
void lpoc_gpu_switch(struct lpoc *c, bool on);
/* Delivers what CUPTI still holds; at the end of the process. */
void lpoc_gpu_finish(struct lpoc *c);
