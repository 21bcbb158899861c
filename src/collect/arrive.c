/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/arrive.h"

#include <time.h>

#include "collect/collect.h"
#include "collect/gpu.h"
#include "collect/guard.h"

enum {
    ROUND_MS = 5,
    PATIENCE_MS = 2000,
    AT_MOST_MS = 3000, /* who waits for our answer gives up after 5 s */
};
static const uint64_t NS_PER_MS = 1000000;

/* Until every launch has its record, and for those with many, until no more come. Some launches
 * never get one (they were captured into a graph): those are not waited for again. */
bool lpoc_all_came(struct lpoc *c, struct lpoc_arrivals *a, uint64_t closed_ns, uint64_t now)
{
    uint64_t before = a->records, left;

    if (a->closed_ns != closed_ns)
        *a = (struct lpoc_arrivals){ closed_ns, before = UINT64_MAX, now };
    lpoc_gpu_deliver(c);
    left = lpoc_window_outstanding(c, &a->records);
    if (a->records != before)
        a->last_ns = now;
    if (!left)
        return a->records == before;
    if (now - a->last_ns <= PATIENCE_MS * NS_PER_MS)
        return false;
    lpoc_window_give_up(c);
    return true;
}

void lpoc_await_records(struct lpoc *c)
{
    const struct timespec pause = { 0, ROUND_MS * (long)NS_PER_MS };
    const uint64_t start = lpoc_clock_read(CLOCK_MONOTONIC);
    struct lpoc_arrivals arrivals = { 0 };

    if (c->ring.on || !c->knobs.launches)
        return; /* nothing is noted */
    for (uint64_t now = start; now - start < AT_MOST_MS * NS_PER_MS;) {
        bool done;

        lpoc_lock(&c->window.lock);
        done = c->window.on || !lpoc_gpu_of(c) || lpoc_all_came(c, &arrivals, start, now);
        lpoc_unlock(&c->window.lock);
        if (done)
            return;
        nanosleep(&pause, NULL);
        now = lpoc_clock_read(CLOCK_MONOTONIC);
    }
}
