/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/thread.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/mem.h"

enum { STACK_FIRST = 1024, STACK_MOST = 1 << 20 };
enum {
    /* The kernel's frame of a signal handler is larger than this: a call that is nearer to the one
     * it seems to have interrupted cannot be in a handler above it. */
    SIGNAL_FRAME_LEAST = 512,
    TURNED_AWAY_MOST = 64,         /* calls; then the interrupted call is taken to be gone */
    REPLACED_MOST = 8,             /* places given up by a thread for such calls */
    KEPT_ROOM = 2 * LPOC_NAME_MAX, /* bytes a buffer has left while it waits for the disk */
    ORPHANS_MOST = 64,             /* places whose thread has ended while its buffer waits */
};
enum { FREE = 0, TAKEN = 1, RESERVED = 2 };

__thread struct lpoc_tls lpoc_tls;

/* The buffer of `t` from here on. It is empty. */
static void use_buffer(struct lpoc_thread *t, struct lpot_tail_slot *slot, size_t bytes)
{
    t->at = (uint8_t *)(slot + 1);
    t->room = (uint32_t)(bytes - sizeof *slot - LPOC_EVENT_MAX);
}

static void use_own_buffer(struct lpoc_thread *t)
{
    use_buffer(t, t->own, (size_t)lpoc_get()->knobs.buffer_kb << 10);
}

/* In a copy of the process these pages are empty: it has the buffer there no more. */
static bool wipe_in_copies(struct lpoc_thread *t)
{
    return sysconf(_SC_PAGESIZE) == LPOC_PAGE &&
           madvise(t, offsetof(struct lpoc_thread, counter), MADV_WIPEONFORK) == 0;
}

/* In the tail, where there is room. Under the lock. */
static void choose_buffer(struct lpoc *c, struct lpoc_thread *t)
{
    size_t bytes = c->tail.head ? (size_t)c->tail.head->slot_bytes : 0;

    if (!t->shared && wipe_in_copies(t))
        t->shared = lpoc_tail_slot(c, &bytes);
    if (t->shared)
        use_buffer(t, t->shared, bytes);
    else
        use_own_buffer(t);
}

/* What somebody else must know to go on where `t` is. The caller holds `writing`, or nobody else
 * knows of it. */
static void publish(struct lpoc_thread *t)
{
    struct lpot_tail_slot *slot = lpoc_slot(t);

    slot->stream = t->number;
    slot->fresh = t->fresh;
    __atomic_store_n(&slot->at_in_file, (uint64_t)t->sequence << 32 | t->flushed, __ATOMIC_RELEASE);
}

static uint64_t period(const struct lpoc *c)
{
    return (uint64_t)c->knobs.flush_ms * c->clock.ticks_per_ms;
}

/* A place of a thread that has ended, or a new one in the list. Under the lock. */
static struct lpoc_thread *take_place(struct lpoc *c)
{
    size_t buffer = (size_t)c->knobs.buffer_kb << 10;
    size_t stacks = LPOC_DOMAINS_MAX * sizeof(struct lpoc_stack);
    struct lpoc_thread *t;

    for (t = c->threads; t; t = t->next)
        if (!__atomic_load_n(&t->taken, __ATOMIC_ACQUIRE)) {
            __atomic_store_n(&t->taken, RESERVED, __ATOMIC_RELEASE);
            return t;
        }
    t = lpoc_map(sizeof *t);
    if (!t)
        return NULL;
    t->own = lpoc_map(buffer);
    t->stacks = lpoc_map(stacks);
    if (!t->own || !t->stacks) {
        lpoc_unmap(t->own, buffer);
        lpoc_unmap(t->stacks, stacks);
        lpoc_unmap(t, sizeof *t);
        return NULL;
    }
    use_own_buffer(t);
    pthread_mutex_init(&t->writing, NULL);
    t->taken = RESERVED;
    t->next = c->threads;
    __atomic_store_n(&c->threads, t, __ATOMIC_RELEASE);
    return t;
}

/* A thread new to this file: its number, and what the system calls it. Under the lock. */
static void introduce(struct lpoc *c, struct lpoc_thread *t)
{
    char name[17] = "";
    uint64_t def[3] = { ++c->nthreads, 0, 0 };

    t->tid = (pid_t)syscall(SYS_gettid);
    t->number = c->nthreads;
    t->sequence = t->calls.sequence = 0;
    prctl(PR_GET_NAME, name);
    def[1] = (uint64_t)t->tid;
    if (name[0]) {
        size_t len = strlen(name);
        uint32_t id = lpoc_defs_string(&c->defs, name, len, lpoc_defs_hash(name, len), true);
        def[2] = id == LPOC_NAME_FULL ? 0 : id;
    }
    lpoc_defs_add(&c->defs, LPOT_DEF_THREAD, def, 3);
}

/* First what is committed: to who finishes the trace the buffer is empty from there on. */
static void empty_events(struct lpoc_thread *t)
{
    __atomic_store_n(&lpoc_slot(t)->committed, 0, __ATOMIC_RELEASE);
    t->used = t->flushed = 0;
    t->filed = 0;
    __atomic_store_n(&t->events, 0, __ATOMIC_RELAXED);
}

static void empty_calls(struct lpoc_thread *t)
{
    t->calls.flushed = 0;
    __atomic_store_n(&t->calls.committed, 0, __ATOMIC_RELEASE);
}

static void start_over(struct lpoc_thread *t)
{
    empty_events(t);
    empty_calls(t);
}

static void forget_base(struct lpoc_thread *t)
{
    t->last = t->coming = (struct lpoc_base){ 0 };
    lpoc_slot(t)->ticks = t->coming_ticks = 0;
}

static void reset_stream(struct lpoc_thread *t)
{
    start_over(t);
    t->calls.domain = 0;
    t->calls.queries.count = 0;
    forget_base(t);
}

static void clear_stacks(struct lpoc_thread *t, uint32_t domains)
{
    for (uint32_t d = 0; d < domains; d++)
        t->stacks[d].depth = t->stacks[d].filed = 0;
}

/* From reserved to taken. The place may still be in the hands of a thread that writes all. */
static void move_in(struct lpoc *c, struct lpoc_thread *t)
{
    lpoc_lock(&t->writing);
    lpoc_lock(&c->lock);
    choose_buffer(c, t);
    lpoc_unlock(&c->lock);
    reset_stream(t);
    t->owner = c;
    t->counter = c->clock.counter;
    t->forked = t->eager = false;
    t->fresh = c->ring.on;
    t->hole = false;
    t->windowed = c->window.used;
    t->quiet = false;
    t->domains = 0;
    t->chosen.open = t->chosen.recorded = false;
    t->inherited = t->replaced = 0;
    lpoc_lock(&c->lock);
    clear_stacks(t, c->defs.ndomains);
    if (!t->stacks[0].cap)
        lpoc_stack_grow(&t->stacks[0]); /* now: the first range may be in a sandbox */
    introduce(c, t);
    lpoc_unlock(&c->lock);
    publish(t);
    lpoc_unlock(&t->writing);
    t->write_at_ticks = lpoc_thread_ticks(t) + period(c);
    __atomic_store_n(&t->taken, TAKEN, __ATOMIC_RELEASE);
}

struct lpoc_thread *lpoc_thread_make(void)
{
    struct lpoc *c = lpoc_get();
    struct lpoc_thread *t = NULL;

    if (lpoc_tls.self || __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == LPOC_OFF)
        return lpoc_tls.self;
    lpoc_guard(); /* for all of it: a handler must not find a thread that is half made */
    if (lpoc_ready(c)) {
        lpoc_lock(&c->lock);
        t = take_place(c);
        lpoc_unlock(&c->lock);
    }
    if (t) {
        move_in(c, t);
        pthread_setspecific(c->key, t);
        lpoc_tls.self = t;
    }
    lpoc_unguard();
    return t;
}

/* Is the call that left `busy` behind gone, jumped over by a signal handler? Sure of it: 1. Likely,
 * because a handler does not make so many calls: 2. Else 0. */
static int interrupted_call_is_gone(const struct lpoc_thread *t, uintptr_t here)
{
    struct lpoc_tls *tls = &lpoc_tls;
    stack_t alt = { .ss_flags = 0 };

    /* A handler runs below the call that it interrupted, unless it has a stack of its own. */
    if (here + SIGNAL_FRAME_LEAST > tls->busy && sigaltstack(NULL, &alt) == 0 &&
        !(alt.ss_flags & SS_ONSTACK))
        return 1;
    if (tls->turned_away_at != lpoc_slot(t)->committed || tls->turned_away_ticks != t->coming_ticks)
        tls->turned_away = 0; /* the interrupted call has gone on since the last time */
    tls->turned_away_at = lpoc_slot(t)->committed;
    tls->turned_away_ticks = t->coming_ticks;
    return ++tls->turned_away > TURNED_AWAY_MOST ? 2 : 0;
}

struct lpoc_thread *lpoc_enter_slowly(uintptr_t here)
{
    struct lpoc_thread *t = lpoc_tls.self;
    int gone;

    if (t && !t->at)
        use_own_buffer(t);
    if (!lpoc_tls.busy) {
        t = lpoc_thread_make();
    } else {
        gone = lpoc_tls.busy != LPOC_BUSY_HELD && t ? interrupted_call_is_gone(t, here) : 0;
        t = gone ? lpoc_thread_recover(t, gone == 2) : NULL;
        if (!t) {
            lpoc_count(lpoc_get(), LPOT_COUNT_REENTERED, 1);
            return NULL;
        }
    }
    if (t)
        lpoc_tls.busy = here;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return t;
}

/* Writes [flushed, end) as one block. The caller holds `writing`. */
static int write_block(struct lpoc_thread *t, uint32_t end)
{
    struct lpoc *c = t->owner;
    uint64_t events = __atomic_load_n(&t->events, __ATOMIC_RELAXED);

    if (end == t->flushed)
        return 0;
    if (lpoc_write_defs(c) < 0 ||
        lpoc_block(c, t->fresh && !t->flushed ? LPOT_THREAD_FRESH : LPOT_THREAD, t->number,
                   t->sequence, t->at + t->flushed, end - t->flushed) < 0)
        return -1;
    t->sequence++;
    t->flushed = end;
    t->filed = events;
    publish(t);
    return 0;
}

/* What is committed and not in the file. The caller holds `writing`. */
static void lose_events(struct lpoc_thread *t)
{
    uint64_t events = __atomic_load_n(&t->events, __ATOMIC_RELAXED);

    lpoc_count(t->owner, LPOT_COUNT_EVENTS_LOST, events - t->filed);
    t->filed = events;
    t->sequence++; /* the reader sees by it that its open ranges may have ended */
    t->hole = true;
}

/* The ranges that were open at fork, so that the child's pops find what they close. */
static void push_inherited(struct lpoc_thread *t, uint64_t now)
{
    for (uint32_t d = 0; d < t->inherited; d++) {
        const struct lpoc_stack *s = &t->stacks[d];
        uint32_t open = t->windowed && s->filed < s->depth ? s->filed : s->depth;

        for (uint32_t i = 0; i < open && t->used <= t->room; i++) {
            uint8_t *p = t->at + t->used;
            *p++ = (uint8_t)(LPOT_EV_PUSH | LPOT_EV_INHERITED | (d ? LPOT_EV_DOMAIN : 0));
            p = lpoc_put_v(p, now - lpoc_slot(t)->ticks);
            t->coming_ticks = now;
            if (d)
                p = lpoc_put_v(p, d);
            p = lpoc_put_v(p, i < s->cap ? s->names[i] : 0);
            lpoc_commit(t, p);
        }
    }
    t->inherited = 0;
}

/* What follows can be read without what went before: that may be lost, or the ring may have dropped
 * it. The event that comes next may be the push of a range, which `filed` counts already, or the
 * pop of one, which is open still. */
static void begin_fresh(struct lpoc_thread *t, uint64_t now)
{
    forget_base(t);
    t->fresh = true;
    t->hole = false;
    t->inherited = t->windowed ? t->domains : t->owner->defs.ndomains;
    publish(t);
    push_inherited(t, now);
    t->filed = t->events; /* they were counted where they began */
}

/* All that was committed; the buffer is empty then. Where the disk may come back, `wait` leaves
 * what there is room for. The caller holds `writing`. False: something waits. */
static bool write_all(struct lpoc_thread *t, bool wait)
{
    const struct lpoc_file *file = &t->owner->file;
    bool filed = write_block(t, lpoc_slot(t)->committed) == 0, called = lpoc_calls_write(t) == 0;
    bool keep_events = wait && !filed && t->used + KEPT_ROOM <= t->room;
    bool keep_calls = wait && !called && t->calls.committed < LPOC_CALLS;

    if (!filed && !(keep_events && lpoc_file_may_recover(file)))
        lose_events(t), filed = true;
    if (!called && !(keep_calls && lpoc_file_may_recover(file)))
        lpoc_calls_lose(t), called = true;
    if (filed) {
        empty_events(t);
        t->fresh = false;
        publish(t);
    }
    if (called)
        empty_calls(t);
    return filed && called;
}

static bool write_own(struct lpoc_thread *t, bool wait)
{
    bool all;

    lpoc_lock(&t->writing);
    all = write_all(t, wait);
    lpoc_unlock(&t->writing);
    return all;
}

/* The same, and what the next event needs. */
static void write_and_go_on(struct lpoc_thread *t, uint64_t now)
{
    bool ring = t->owner->ring.on;

    lpoc_lock(&t->writing);
    write_all(t, !ring);
    if (t->hole || ring)
        begin_fresh(t, now);
    lpoc_unlock(&t->writing);
}

/* The stream of `t` goes on in another place; `t` stays with the call that may still write to it,
 * and nobody writes it to the file any more. Under the lock. */
static struct lpoc_thread *move_stream(struct lpoc_thread *t)
{
    struct lpoc *c = t->owner;
    struct lpoc_thread *to = t->replaced < REPLACED_MOST ? take_place(c) : NULL;
    struct lpoc_stack *stacks;

    if (!to)
        return NULL;
    stacks = to->stacks;
    to->stacks = t->stacks;
    t->stacks = stacks;
    choose_buffer(c, to);
    start_over(to);
    to->owner = c;
    to->last = t->last;
    to->coming = t->coming;
    to->coming_ticks = t->coming_ticks;
    lpoc_slot(to)->ticks = lpoc_slot(t)->ticks;
    to->counter = t->counter;
    to->forked = t->forked;
    to->eager = t->eager;
    to->fresh = false; /* its first events are relative to the last of the other place */
    to->hole = t->hole;
    to->windowed = t->windowed;
    to->quiet = t->quiet;
    to->domains = t->domains;
    to->chosen = t->chosen;
    to->inherited = t->inherited;
    to->write_at_ticks = t->write_at_ticks;
    to->sequence = t->sequence;
    to->calls.sequence = t->calls.sequence;
    to->calls.domain = 0;
    to->calls.queries.count = 0;
    to->number = t->number;
    to->tid = t->tid;
    lpoc_slot(t)->stream = 0;
    publish(to);
    to->replaced = t->replaced + 1;
    __atomic_store_n(&t->taken, RESERVED, __ATOMIC_RELEASE);
    __atomic_store_n(&to->taken, TAKEN, __ATOMIC_RELEASE);
    lpoc_tls.self = to;
    pthread_setspecific(c->key, to);
    return to;
}

struct lpoc_thread *lpoc_thread_recover(struct lpoc_thread *t, bool alive)
{
    struct lpoc *c = t->owner;
    struct lpoc_thread *to = t;

    lpoc_lock(&t->writing);
    if (t->used != lpoc_slot(t)->committed) { /* interrupted before the rest was stored */
        t->last = t->coming;
        lpoc_slot(t)->ticks = t->coming_ticks;
        t->used = lpoc_slot(t)->committed;
    } else {
        t->coming = t->last;
        t->coming_ticks = lpoc_slot(t)->ticks;
    }
    if (alive) {
        write_all(t, false);
        lpoc_lock(&c->lock);
        to = move_stream(t);
        lpoc_unlock(&c->lock);
        if (to && to->hole) {
            lpoc_lock(&to->writing);
            begin_fresh(to, lpoc_thread_ticks(to));
            lpoc_unlock(&to->writing);
        }
    }
    if (to)
        lpoc_count(c, LPOT_COUNT_JUMPED, 1);
    lpoc_unlock(&t->writing);
    return to;
}

void lpoc_thread_write(struct lpoc_thread *t, uint64_t now)
{
    struct lpoc *c = t->owner;

    lpoc_guard();
    if (!t->at)
        use_own_buffer(t); /* a copy that libc did not see: nothing of it comes into a file */
    /* Not by the collector's state: the child's first call may have been one that attaches. */
    if (t->forked && lpoc_ready(c)) {
        t->forked = false;
        lpoc_lock(&c->lock);
        choose_buffer(c, t);
        t->eager = !t->shared;
        introduce(c, t);
        lpoc_unlock(&c->lock);
        publish(t);
        push_inherited(t, now);
    } else {
        write_and_go_on(t, now);
    }
    t->write_at_ticks = now + period(c);
    lpoc_unguard();
}

void lpoc_thread_write_early(struct lpoc_thread *t, uint64_t now)
{
    struct lpoc *c = t->owner;
    uint64_t since = now - (t->write_at_ticks - period(c));

    if (since > c->clock.ticks_per_ms / 5)
        lpoc_thread_write(t, now);
}

/* The owner may be at work, so nothing is taken out of its buffer here. */
void lpoc_thread_write_committed(struct lpoc_thread *t, bool last)
{
    if (__atomic_load_n(&t->taken, __ATOMIC_ACQUIRE) != TAKEN)
        return;
    lpoc_lock(&t->writing);
    if (write_block(t, __atomic_load_n(&lpoc_slot(t)->committed, __ATOMIC_ACQUIRE)) < 0 && last)
        lose_events(t);
    if (lpoc_calls_write(t) < 0 && last)
        lpoc_calls_lose(t);
    lpoc_unlock(&t->writing);
}

/* The buffer of a thread that ends. On a disk that may come back a few places are not given away
 * but written at the end of the process. True: `t` can be. */
static bool write_last(struct lpoc_thread *t)
{
    struct lpoc *c = t->owner;

    if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != LPOC_ON || write_own(t, true))
        return true;
    if (__atomic_fetch_add(&c->orphans, 1, __ATOMIC_RELAXED) < ORPHANS_MOST)
        return false;
    return write_own(t, false);
}

void lpoc_thread_end(void *thread)
{
    struct lpoc_thread *t = thread;

    if (lpoc_tls.self != t)
        return;
    lpoc_guard();
    lpoc_tls.self = NULL;
    lpoc_tls.busy = 0; /* the thread may have been cancelled inside the collector */
    lpoc_window_thread_end(t);
    if (write_last(t))
        __atomic_store_n(&t->taken, FREE, __ATOMIC_RELEASE);
    lpoc_unguard();
}

/* In a child of fork. The pages that were emptied are filled again, and the tail is its parent's.
 */
static void leave_parent(struct lpoc_thread *t)
{
    pthread_mutex_init(&t->writing, NULL);
    t->shared = NULL;
    use_own_buffer(t);
}

void lpoc_thread_survive(struct lpoc_thread *t, bool inside)
{
    struct lpoc_thread *to = NULL;

    leave_parent(t);
    reset_stream(t);
    /* The interrupted call goes on in the child too, but its event is the parent's. */
    if (inside && (to = move_stream(t)))
        t = to;
    t->write_at_ticks = 0; /* the next event opens the child's file first */
    t->forked = t->eager = true;
    t->quiet = false; /* its open ranges are the first events of the child's file */
    for (uint32_t d = 0; d < t->owner->defs.ndomains; d++)
        t->stacks[d].filed = t->stacks[d].depth;
    t->inherited = t->owner->defs.ndomains;
}

void lpoc_thread_vanish(struct lpoc_thread *t)
{
    leave_parent(t);
    reset_stream(t);
    __atomic_store_n(&t->taken, FREE, __ATOMIC_RELEASE);
}

int lpoc_stack_grow(struct lpoc_stack *s)
{
    uint32_t cap = s->cap ? s->cap * 2 : STACK_FIRST;
    uint32_t *names;

    if (cap > STACK_MOST)
        return -1;
    names = lpoc_map(cap * sizeof *names);
    if (!names)
        return -1;
    if (s->names)
        memcpy(names, s->names, s->cap * sizeof *names);
    lpoc_unmap(s->names, s->cap * sizeof *names);
    s->names = names;
    s->cap = cap;
    return 0;
}
