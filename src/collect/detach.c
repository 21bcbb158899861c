/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/detach.h"

#include <sys/prctl.h>
#include <time.h>

#include "collect/arrive.h"
#include "collect/collect.h"
#include "collect/gpu.h"
#include "collect/guard.h"

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
            d->asked = lpoc_gpu_pack(c);
            __atomic_store_n(&d->due, d->asked, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

void lpoc_detach_ask(struct lpoc *c)
{
    struct lpoc_detach *d = &c->detach;

    if (c->knobs.capture_attach != LPOC_ATTACH_INSIDE || d->ended || !lpoc_gpu_may_leave(c))
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
        lpoc_gpu_detach(c);
    }
    lpoc_unlock(&c->window.lock);
}

void lpoc_detach_cancel(struct lpoc *c)
{
    struct lpoc_detach *d = &c->detach;

    d->asked = false;
    if (d->due)
        lpoc_gpu_unpack(c);
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
