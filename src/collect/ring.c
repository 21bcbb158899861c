/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/ring.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "collect/gpu.h"
#include "collect/mem.h"
#include "collect/thread.h"

enum { LEAST_BYTES = 1 << 20, CRASH_MS = 2000 };

/* An entry: this, then the payload, together a multiple of 8 bytes. */
struct entry {
    size_t bytes; /* of all of it */
    struct lpoc_moment moment;
    uint32_t kind, stream, sequence, len;
};

static struct entry *entry_at(const struct lpoc_ring *r, size_t at)
{
    return (struct entry *)(void *)(r->at + at);
}

static bool is_empty(const struct lpoc_ring *r)
{
    return r->first == r->next && !r->wrap;
}

static void drop_first(struct lpoc_ring *r)
{
    r->first += entry_at(r, r->first)->bytes;
    if (r->wrap && r->first == r->wrap)
        r->first = r->wrap = 0;
    if (r->first == r->next && !r->wrap)
        r->first = r->next = 0;
}

/* Room for `bytes` at `next`, whatever must go for it. */
static void make_room(struct lpoc_ring *r, size_t bytes)
{
    for (;;) {
        if (!r->wrap && r->next + bytes <= r->room)
            return;
        if (!r->wrap) { /* the end is too near: go on at the front */
            r->wrap = r->next;
            r->next = 0;
        }
        if (r->next + bytes <= r->first)
            return;
        drop_first(r);
        if (is_empty(r))
            continue;
    }
}

int lpoc_ring_put(struct lpoc *c, const struct lpoc_moment *now, const struct lpoc_block *b)
{
    struct lpoc_ring *r = &c->ring;
    size_t bytes = (sizeof(struct entry) + b->len + 7) & ~(size_t)7;

    if (bytes > r->room)
        return -1;
    lpoc_lock(&r->lock);
    while (!is_empty(r) && now->ticks - entry_at(r, r->first)->moment.ticks > r->keep_ticks &&
           now->ticks > entry_at(r, r->first)->moment.ticks)
        drop_first(r);
    make_room(r, bytes);
    *entry_at(r, r->next) =
        (struct entry){ bytes, *now, b->kind, b->stream, b->sequence, (uint32_t)b->len };
    memcpy(r->at + r->next + sizeof(struct entry), b->payload, b->len);
    r->next += bytes;
    lpoc_unlock(&r->lock);
    return 0;
}

/* All entries, oldest first; the ticks of the oldest, or 0. */
static uint64_t write_entries(struct lpoc *c)
{
    struct lpoc_ring *r = &c->ring;
    uint64_t oldest = 0;

    lpoc_lock(&r->lock);
    while (!is_empty(r)) {
        const struct entry *e = entry_at(r, r->first);
        struct lpoc_block b = { e->kind, e->stream, e->sequence,
                                r->at + r->first + sizeof(struct entry), e->len };

        if (!oldest)
            oldest = e->moment.ticks;
        if (lpoc_file_block(&c->file, &e->moment, &b) < 0)
            break; /* the rest stays, for the next time that it is asked for */
        drop_first(r);
    }
    lpoc_unlock(&r->lock);
    return oldest;
}

void lpoc_ring_dump(struct lpoc *c, unsigned why)
{
    struct lpoc_gpu *g = lpoc_gpu_of(c);
    uint64_t oldest, later;

    lpoc_file_hurry(&c->file);
    lpoc_write_defs(c);
    oldest = write_entries(c); /* first: the rest may wait for a thread that crashed */
    if (g)
        g->api.flush_all(CUPTI_FLUSH_FORCED);
    for (struct lpoc_thread *t = __atomic_load_n(&c->threads, __ATOMIC_ACQUIRE); t; t = t->next)
        lpoc_thread_write_committed(t, false);
    lpoc_write_defs(c);
    later = write_entries(c);
    if (!oldest)
        oldest = later;
    if (oldest)
        lpoc_window_add(c, oldest, why);
}

void lpoc_ring_ask(struct lpoc *c, unsigned why)
{
    uint32_t none = 0;

    __atomic_compare_exchange_n(&c->ring.wanted, &none, why, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}

/* The control thread does the work: this one may hold any lock. Then the signal does what it would
 * have done without us. */
static void on_crash(int sig)
{
    static const struct timespec nap = { 0, 1000000 };
    struct lpoc *c = lpoc_get();

    lpoc_ring_ask(c, LPOT_WINDOW_CRASH);
    for (int i = 0; i < CRASH_MS && __atomic_load_n(&c->ring.wanted, __ATOMIC_ACQUIRE); i++)
        nanosleep(&nap, NULL);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void watch_for_crashes(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    struct sigaction old,
        ours = { .sa_handler = on_crash, .sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK };

    /* on its own stack where the thread has one for signals: the program's may be full */
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(signals[i], &ours, NULL); /* a program's own handler stays */
}

void lpoc_ring_start(struct lpoc *c)
{
    struct lpoc_ring *r = &c->ring;

    if (!c->knobs.ring_ms)
        return;
    r->room = (size_t)c->knobs.ring_mb << 20;
    r->at = lpoc_map_most(&r->room, LEAST_BYTES);
    r->keep_ticks = (uint64_t)c->knobs.ring_ms * c->clock.ticks_per_ms;
    r->on = r->at != NULL;
    if (r->on)
        watch_for_crashes();
}

void lpoc_ring_forked(struct lpoc *c)
{
    struct lpoc_ring *r = &c->ring;

    pthread_mutex_init(&r->lock, NULL);
    r->first = r->next = r->wrap = 0;
    r->wanted = 0;
}
