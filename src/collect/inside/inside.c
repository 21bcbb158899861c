/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/inside/inside.h"

#include <sys/prctl.h>
#include <time.h>

#include "collect/activity.h"
#include "collect/arrive.h"
#include "collect/collect.h"
#include "collect/gpu.h"
#include "collect/guard.h"
#include "lpo/trace_format.h"

enum { ROUND_MS = 5 };
static const uint64_t NS_PER_MS = 1000000, NS_PER_S = 1000000000;

void lpoc_detach_start(struct lpoc *c)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->detach.changed, &attr);
    pthread_condattr_destroy(&attr);
    c->detach.has_thread = c->detach.sleeps = c->detach.asked = c->detach.ended = false;
    c->detach.due = false;
}

/* Not while it is not there; never where the program has CUDA graphs: a launch of one that runs
 * while CUPTI leaves ends in an illegal memory access (CUPTI 13.0); and not without end: CUPTI
 * keeps 0.6 MB of the GPU's memory each time that it comes. */
static bool may_leave(struct lpoc *c)
{
    struct lpoc_gpu *g = lpoc_gpu_of(c);
    bool graphs;

    if (!g || !g->api.finalize)
        return false;
    graphs = __atomic_load_n(&g->graphs, __ATOMIC_RELAXED);
    if (!graphs && g->left < (uint64_t)c->knobs.capture_leaves)
        return true;
    if (!g->stays && graphs)
        lpoc_note(c, LPOT_NOTE_OTHER, 0,
                  "CUPTI stays in the process between windows (attach: inside): the program uses "
                  "CUDA graphs and would crash if it left");
    else if (!g->stays)
        lpoc_note(c, LPOT_NOTE_OTHER, 0,
                  "CUPTI stays in the process from here on (attach: inside): it has come and gone "
                  "%lld times, and keeps some memory each time",
                  (long long)c->knobs.capture_leaves);
    g->stays = true;
    return false;
}

/* Before CUPTI leaves: no records any more, and those that there are delivered. False: it does not
 * leave. */
static bool pack_up(struct lpoc *c)
{
    static const int kinds[] = { CUPTI_KIND_KERNEL, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMCPY2,
                                 CUPTI_KIND_MEMSET };
    struct lpoc_gpu *g = lpoc_gpu_of(c);
    int mode;

    if (!may_leave(c))
        return false;
    mode = lpoc_gpu_capture_mode(CU_CAPTURE_RELAXED);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        g->api.disable(kinds[i]); /* what is launched from here on knows nothing of CUPTI */
    /* Not without force: cuptiFinalize() throws away what is in a buffer with a kernel that runs.
     */
    g->api.flush_all(CUPTI_FLUSH_FORCED);
    lpoc_gpu_capture_mode(mode);
    return true;
}

static void unpack(struct lpoc *c)
{
    struct lpoc_gpu *g = lpoc_gpu_of(c);

    if (g)
        lpoc_gpu_enable_kinds(g);
}

/* Until the next window; at the end of a CUDA call that CUPTI tells us of. */
static void leave_process(struct lpoc *c)
{
    struct lpoc_gpu *g = lpoc_gpu_of(c);
    int mode, result;

    if (!may_leave(c)) { /* a graph was launched meanwhile */
        unpack(c);
        return;
    }
    mode = lpoc_gpu_capture_mode(CU_CAPTURE_RELAXED);
    result = g->api.finalize();
    lpoc_gpu_capture_mode(mode);
    if (!lpoc_gpu_granted(
            g, result, LPOT_NOTE_OTHER,
            "CUPTI does not leave, and stays in the process from here on (attach: inside)")) {
        g->api.finalize = NULL;
        unpack(c);
        return;
    }
    g->left++;
    lpoc_records_detached(g->records);
    __atomic_store_n(&g->base, __atomic_load_n(&c->window.highest, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&c->gpu_ready, NULL, __ATOMIC_RELEASE);
    c->gpu_waits = true;
}

/* The lock is free meanwhile. */
static void wait_until(struct lpoc *c, uint64_t ns)
{
    struct timespec at = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

    pthread_cond_timedwait(&c->detach.changed, &c->window.lock, &at);
}

static void wait_for_window(struct lpoc *c)
{
    c->detach.sleeps = true;
    pthread_cond_wait(&c->detach.changed, &c->window.lock);
    c->detach.sleeps = false;
}

static void *detach(void *collector)
{
    struct lpoc *c = collector;
    struct lpoc_detach *d = &c->detach;
    const uint64_t linger_ns = (uint64_t)c->knobs.capture_linger_ms * NS_PER_MS;
    struct lpoc_arrivals arrivals = { 0 };

    prctl(PR_SET_NAME, "lpo-detach");
    lpoc_lock(&c->window.lock);
    for (;;) {
        uint64_t now = lpoc_clock_read(CLOCK_MONOTONIC);

        if (!d->asked || d->due) {
            wait_for_window(c);
        } else if (now < d->asked_ns + linger_ns) {
            wait_until(c, d->asked_ns + linger_ns);
        } else if (!lpoc_all_came(c, &arrivals, d->asked_ns, now)) {
            wait_until(c, now + ROUND_MS * NS_PER_MS);
        } else {
            d->asked = pack_up(c);
            __atomic_store_n(&d->due, d->asked, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

void lpoc_detach_ask(struct lpoc *c)
{
    struct lpoc_detach *d = &c->detach;

    if (c->knobs.capture_attach != LPOC_ATTACH_INSIDE || d->ended || !may_leave(c))
        return;
    if (!d->has_thread)
        d->has_thread = lpoc_own_thread(c, detach);
    d->asked_ns = lpoc_clock_read(CLOCK_MONOTONIC);
    d->asked = true;
    if (d->sleeps)
        pthread_cond_signal(&d->changed);
}

void lpoc_detach_now(struct lpoc *c)
{
    struct lpoc_detach *d = &c->detach;

    if (!lpoc_try_lock(&c->window.lock))
        return; /* a window opens or closes: at the end of the next call */
    if (d->due) {
        __atomic_store_n(&d->due, false, __ATOMIC_RELAXED);
        d->asked = false;
        leave_process(c);
    }
    lpoc_unlock(&c->window.lock);
}

void lpoc_detach_cancel(struct lpoc *c)
{
    struct lpoc_detach *d = &c->detach;

    d->asked = false;
    if (d->due)
        unpack(c);
    __atomic_store_n(&d->due, false, __ATOMIC_RELAXED);
}

void lpoc_detach_end(struct lpoc *c)
{
    if (c->knobs.capture_attach != LPOC_ATTACH_INSIDE)
        return;
    lpoc_lock(&c->window.lock);
    c->detach.ended = true;
    c->detach.asked = false;
    __atomic_store_n(&c->detach.due, false, __ATOMIC_RELAXED);
    lpoc_unlock(&c->window.lock);
}
