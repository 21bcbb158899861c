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

/* Notes a refusal; true when there was none. */
bool lpoc_gpu_granted(struct lpoc_gpu *g, int result, unsigned code, const char *what);

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
/* Records of kernels, copies and memsets; false: CUPTI gives none of them. */
bool lpoc_gpu_enable_kinds(struct lpoc_gpu *g);
/* CUPTI allocates memory and waits for streams, which a thread may not do while it captures one
 * into a graph, nor any other thread while the capture is a global one: the capture would fail. A
 * thread in relaxed mode may. Returns the mode before, for the way back. */
int lpoc_gpu_capture_mode(int mode);
/* Kernel records, on or off; under the lock of the windows. */
void lpoc_gpu_switch(struct lpoc *c, bool on);
/* Delivers what CUPTI still holds; at the end of the process. */
void lpoc_gpu_finish(struct lpoc *c);
