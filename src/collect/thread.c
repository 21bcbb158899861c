#include "collect/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/mem.h"

enum { STACK_FIRST = 1024, STACK_MOST = 1 << 20 };
enum { FREE = 0, TAKEN = 1, RESERVED = 2 };

__thread struct lpoc_tls lpoc_tls;

static uint64_t period(const struct lpoc *c)
{
    return (uint64_t)c->knobs.flush_ms * c->clock.ticks_per_ms;
}

/* A place of a thread that has ended, or a new one in the list. */
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
    t->at = lpoc_map(buffer);
    t->stacks = lpoc_map(stacks);
    if (!t->at || !t->stacks) {
        lpoc_unmap(t->at, buffer);
        lpoc_unmap(t->stacks, stacks);
        lpoc_unmap(t, sizeof *t);
        return NULL;
    }
    t->room = (uint32_t)(buffer - LPOC_EVENT_MAX);
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
    t->sequence = 0;
    prctl(PR_GET_NAME, name);
    def[1] = (uint64_t)t->tid;
    if (name[0]) {
        size_t len = strlen(name);
        uint32_t id = lpoc_defs_string(&c->defs, name, len, lpoc_defs_hash(name, len), true);
        def[2] = id == LPOC_NAME_FULL ? 0 : id;
    }
    lpoc_defs_add(&c->defs, LPOT_DEF_THREAD, def, 3);
}

static void start_over(struct lpoc_thread *t)
{
    t->used = t->flushed = 0;
    __atomic_store_n(&t->events, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->committed, 0, __ATOMIC_RELEASE);
}

static void reset_stream(struct lpoc_thread *t)
{
    start_over(t);
    t->last_ticks = t->last_node = t->last_original = 0;
    t->last_corr = 0;
}

static void clear_stacks(struct lpoc_thread *t, uint32_t domains)
{
    for (uint32_t d = 0; d < domains; d++)
        t->stacks[d].depth = 0;
}

/* From reserved to taken. The place may still be in the hands of a thread that writes all. */
static void move_in(struct lpoc *c, struct lpoc_thread *t)
{
    pthread_mutex_lock(&t->writing);
    reset_stream(t);
    t->owner = c;
    t->counter = c->clock.counter;
    t->eager = t->busy = false;
    t->inherited = 0;
    pthread_mutex_lock(&c->lock);
    clear_stacks(t, c->defs.ndomains);
    introduce(c, t);
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_unlock(&t->writing);
    t->write_at_ticks = lpoc_thread_ticks(t) + period(c);
    __atomic_store_n(&t->taken, TAKEN, __ATOMIC_RELEASE);
}

struct lpoc_thread *lpoc_thread_make(void)
{
    struct lpoc *c = lpoc_get();
    struct lpoc_thread *t = NULL;
    int saved = errno;

    if (lpoc_tls.making || __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == LPOC_OFF)
        return NULL;
    lpoc_tls.making = true;
    if (lpoc_ready(c)) {
        pthread_mutex_lock(&c->lock);
        t = take_place(c);
        pthread_mutex_unlock(&c->lock);
    }
    if (t) {
        move_in(c, t);
        pthread_setspecific(c->key, t);
        lpoc_tls.self = t;
    }
    lpoc_tls.making = false;
    errno = saved;
    return t;
}

void lpoc_thread_reentered(struct lpoc_thread *t)
{
    lpoc_count(t->owner, LPOT_COUNT_REENTERED, 1);
}

/* Writes [flushed, end) as one block. The caller holds `writing`. */
static int write_block(struct lpoc_thread *t, uint32_t end)
{
    struct lpoc *c = t->owner;
    bool over = false;

    if (end == t->flushed)
        return 0;
    if (getpid() != c->pid) { /* a copy of the process that fork handlers did not see */
        __atomic_store_n(&c->state, LPOC_OFF, __ATOMIC_RELEASE);
        return -1;
    }
    lpoc_write_defs(c);
    if (lpoc_file_block(&c->file, &c->clock, LPOT_THREAD, t->number, t->sequence,
                        t->at + t->flushed, end - t->flushed, &over) < 0) {
        if (over)
            lpoc_note(c, LPOT_NOTE_SIZE_LIMIT, 0,
                      "the trace reached its size limit (LPO_COLLECT_MAX_MB or the process's file "
                      "size limit); events after this are not recorded");
        return -1;
    }
    t->sequence++;
    t->flushed = end;
    return 0;
}

/* The ranges that were open at fork, so that the child's pops find what they close. */
static void push_inherited(struct lpoc_thread *t, uint64_t now)
{
    for (uint32_t d = 0; d < t->inherited; d++) {
        const struct lpoc_stack *s = &t->stacks[d];
        for (uint32_t i = 0; i < s->depth && t->used <= t->room; i++) {
            uint8_t *p = t->at + t->used;
            *p++ = (uint8_t)(LPOT_EV_PUSH | LPOT_EV_INHERITED | (d ? LPOT_EV_DOMAIN : 0));
            p = lpoc_put_v(p, now - t->last_ticks);
            t->last_ticks = now;
            if (d)
                p = lpoc_put_v(p, d);
            p = lpoc_put_v(p, i < s->cap ? s->names[i] : 0);
            lpoc_commit(t, p);
        }
    }
    t->inherited = 0;
}

static void write_own(struct lpoc_thread *t)
{
    pthread_mutex_lock(&t->writing);
    if (write_block(t, t->used) < 0)
        lpoc_count(t->owner, LPOT_COUNT_EVENTS_LOST, t->events);
    start_over(t);
    pthread_mutex_unlock(&t->writing);
}

void lpoc_thread_write(struct lpoc_thread *t, uint64_t now)
{
    struct lpoc *c = t->owner;
    int saved = errno;

    if (__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == LPOC_FORKED && lpoc_ready(c)) {
        pthread_mutex_lock(&c->lock);
        introduce(c, t);
        pthread_mutex_unlock(&c->lock);
        push_inherited(t, now);
    } else {
        write_own(t);
    }
    t->write_at_ticks = now + period(c);
    errno = saved;
}

void lpoc_thread_write_early(struct lpoc_thread *t, uint64_t now)
{
    struct lpoc *c = t->owner;
    uint64_t since = now - (t->write_at_ticks - period(c));

    if (since > c->clock.ticks_per_ms / 5)
        lpoc_thread_write(t, now);
}

void lpoc_thread_write_committed(struct lpoc_thread *t)
{
    if (__atomic_load_n(&t->taken, __ATOMIC_ACQUIRE) != TAKEN)
        return;
    pthread_mutex_lock(&t->writing);
    if (write_block(t, __atomic_load_n(&t->committed, __ATOMIC_ACQUIRE)) < 0)
        lpoc_count(t->owner, LPOT_COUNT_EVENTS_LOST, __atomic_load_n(&t->events, __ATOMIC_RELAXED));
    pthread_mutex_unlock(&t->writing);
}

void lpoc_thread_end(void *thread)
{
    struct lpoc_thread *t = thread;

    if (lpoc_tls.self != t)
        return;
    lpoc_tls.self = NULL;
    if (__atomic_load_n(&t->owner->state, __ATOMIC_ACQUIRE) == LPOC_ON)
        write_own(t);
    __atomic_store_n(&t->taken, FREE, __ATOMIC_RELEASE);
}

void lpoc_thread_survive(struct lpoc_thread *t)
{
    pthread_mutex_init(&t->writing, NULL);
    reset_stream(t);
    t->write_at_ticks = 0; /* the next event opens the child's file first */
    t->eager = true;
    t->inherited = t->owner->defs.ndomains;
}

void lpoc_thread_vanish(struct lpoc_thread *t)
{
    pthread_mutex_init(&t->writing, NULL);
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
