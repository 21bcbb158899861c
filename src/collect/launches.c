/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/launches.h"

#include <dlfcn.h>

#include "collect/cuda_calls.h"
#include "collect/gpu.h"
#include "collect/thread.h"
#include "lpo/count.h"
#include "lpo/trace_format.h"

enum { KINDS = LPO_COUNT_KERNEL | LPO_COUNT_GRAPH, CHOSEN = 4 };

static void add(struct lpoc *c, unsigned launch, int64_t n)
{
    if (launch & LPO_COUNT_KERNEL) {
        lpoc_count(c, LPOT_COUNT_UNRECORDED_LAUNCHES, (uint64_t)n);
        if (launch & CHOSEN)
            lpoc_count(c, LPOT_COUNT_CHOSEN_LAUNCHES, (uint64_t)n);
    } else if (launch & CHOSEN) {
        lpoc_count(c, LPOT_COUNT_CHOSEN_GRAPHS, (uint64_t)n);
    }
}

static unsigned launch_in(const struct lpoc_thread *t, unsigned kind)
{
    return kind | (t && t->chosen.open ? CHOSEN : 0u);
}

/* Called by liblpo-count.so before each launch. A thread that has no ranges need not be known. */
static void on_launch(unsigned kind)
{
    unsigned launch = launch_in(lpoc_tls.self, kind);

    lpoc_tls.announced = launch;
    add(lpoc_get(), launch, 1);
}

void lpoc_launches_seen(struct lpoc_thread *t, unsigned about, bool recorded)
{
    struct lpoc *c = t->owner;
    unsigned kind = about & LPOC_LAUNCHES_KERNEL  ? LPO_COUNT_KERNEL
                    : about & LPOC_LAUNCHES_GRAPH ? LPO_COUNT_GRAPH
                                                  : 0u;
    unsigned announced = lpoc_tls.announced;

    if (!kind)
        return;
    if (!c->launches.hook) {
        if (!recorded)
            add(c, launch_in(t, kind), 1);
        return;
    }
    lpoc_tls.announced = 0;
    if ((announced & KINDS) != kind)
        __atomic_add_fetch(&c->launches.past, 1, __ATOMIC_RELAXED);
    else if (recorded)
        add(c, announced, -1);
}

/* A library of another version is left alone. */
static struct lpo_count *find_hook(void)
{
    struct lpo_count *hook = dlsym(RTLD_DEFAULT, "lpo_count");

    return hook && hook->version == LPO_COUNT_VERSION ? hook : NULL;
}

void lpoc_launches_start(struct lpoc *c)
{
    struct lpoc_launches *l = &c->launches;

    if (!c->knobs.capture_count || !c->window.used || l->asked)
        return;
    l->asked = true;
    if (c->knobs.capture_attach == LPOC_ATTACH_START || !c->knobs.launches)
        return;
    l->hook = find_hook();
    if (l->hook)
        __atomic_store_n(&l->hook->launched, on_launch, __ATOMIC_RELEASE);
}

/* CUDA does not survive a fork. */
void lpoc_launches_forked(struct lpoc *c)
{
    if (c->launches.hook)
        __atomic_store_n(&c->launches.hook->launched, NULL, __ATOMIC_RELEASE);
    c->launches = (struct lpoc_launches){ 0 };
}

/* Why nobody can say how many there were; NULL: they were counted. */
static const char *uncounted(struct lpoc *c)
{
    const struct lpo_count *hook = c->launches.hook;

    if (!c->knobs.launches)
        return "LPO_COLLECT_LAUNCHES=0 has no callbacks";
    if (c->knobs.capture_attach == LPOC_ATTACH_START)
        return lpoc_gpu_of(c) ? NULL : "CUPTI was not there";
    if (!hook)
        return "CUPTI was not always there, and liblpo-count.so is not in the process "
               "(LD_PRELOAD)";
    if (!__atomic_load_n(&hook->given, __ATOMIC_RELAXED))
        return "the program found the driver's functions without liblpo-count.so";
    if (__atomic_load_n(&hook->missed, __ATOMIC_RELAXED) ||
        __atomic_load_n(&c->launches.past, __ATOMIC_RELAXED))
        return "some were made past liblpo-count.so";
    return NULL;
}

void lpoc_launches_finish(struct lpoc *c)
{
    const char *why, *fact[1][2] = { { "launches.counted", "unknown" } };

    if (!c->launches.asked)
        return;
    why = uncounted(c);
    if (!why)
        fact[0][1] = c->launches.hook ? "hook" : "callback";
    else
        lpoc_note(c, LPOT_NOTE_UNCOUNTED, 0,
                  "kernels launched outside windows were not counted: %s", why);
    lpoc_write_facts(c, (const char *const(*)[2])fact, 1);
}

/* A launch is counted before it is known whether it is recorded, and of several totals in a file
 * the largest is read. */
bool lpoc_launches_open(const struct lpoc *c, unsigned counter)
{
    return c->launches.hook && !c->counters[LPOT_COUNT_EXIT] &&
           (counter == LPOT_COUNT_UNRECORDED_LAUNCHES || counter == LPOT_COUNT_CHOSEN_LAUNCHES ||
            counter == LPOT_COUNT_CHOSEN_GRAPHS);
}
