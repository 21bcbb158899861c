/* collect/thread.h - one thread's stream of events.
 *
 * A thread owns its buffer: an event is a few bytes appended and one released store, with no lock.
 * The buffer is written when it is full, when it is older than the flush period, when the thread
 * ends and when the process does. The last is done by another thread: it takes `writing` and
 * writes what was committed; the owner only starts over at the front under the same lock. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/collect.h"
#include "collect/wire.h"
#include "lpo/trace_format.h"

enum {
    LPOC_CACHE = 256,    /* names a thread knows without asking the shared table */
    LPOC_EVENT_MAX = 96, /* bytes of the largest event, less a name written in place */
};

/* Names up to 16 bytes are compared by their two words; longer ones by hash, then bytes. */
struct lpoc_known {
    uint64_t a, b;
    uint32_t len; /* 0: empty slot */
    uint32_t id;
};

/* Open push/pop ranges of one domain: their number, and their names for a child of fork. */
struct lpoc_stack {
    uint32_t depth, cap;
    uint32_t *names;
};

struct lpoc_thread {
    uint8_t *at;
    uint32_t used, room; /* an event may start while used <= room */
    uint32_t committed;  /* atomic: what another thread may write */
    uint32_t last_corr;
    uint64_t last_ticks, write_at_ticks;
    uint64_t last_node, last_original;
    uint64_t events;           /* since the buffer was last empty */
    bool busy;                 /* inside the collector: a signal handler must not come in */
    bool counter;              /* which clock */
    bool eager;                /* child of fork: these seldom end in the ordinary way */
    struct lpoc_stack *stacks; /* by domain */
    struct lpoc_known known[LPOC_CACHE];

    pthread_mutex_t writing;
    struct lpoc *owner;
    struct lpoc_thread *next;
    uint32_t flushed, sequence, number;
    uint32_t inherited; /* domains whose stacks came from the parent of a fork; 0: none */
    int taken;          /* atomic: 0 free, 1 owned by a live thread, 2 on its way */
    pid_t tid;
};

struct lpoc_tls {
    struct lpoc_thread *self;
    bool making; /* a signal arrived while `self` was being made */
};
extern __thread struct lpoc_tls lpoc_tls
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define LPOC_RARE(x) __builtin_expect(!!(x), 0)

struct lpoc_thread *lpoc_thread_make(void);
void lpoc_thread_reentered(struct lpoc_thread *t);
/* By the owner, before an event at `now`: writes the buffer and starts over. */
void lpoc_thread_write(struct lpoc_thread *t, uint64_t now);
/* By the owner, after a pop in a child of fork: worker processes end by _exit(), so what is older
 * than a fifth of a millisecond goes out now. */
void lpoc_thread_write_early(struct lpoc_thread *t, uint64_t now);
/* By anyone. */
void lpoc_thread_write_committed(struct lpoc_thread *t);
/* In a child of fork, for the thread that survived and for those that did not. */
void lpoc_thread_survive(struct lpoc_thread *t);
void lpoc_thread_vanish(struct lpoc_thread *t);
void lpoc_thread_end(void *thread); /* destructor of the key */
int lpoc_stack_grow(struct lpoc_stack *s);

/* The calling thread's state, or NULL when nothing can be recorded now. Leave again. */
static inline struct lpoc_thread *lpoc_enter(void)
{
    struct lpoc_thread *t = lpoc_tls.self;

    if (LPOC_RARE(!t) && !(t = lpoc_thread_make()))
        return NULL;
    if (LPOC_RARE(t->busy)) {
        lpoc_thread_reentered(t);
        return NULL;
    }
    t->busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return t;
}

static inline void lpoc_leave(struct lpoc_thread *t)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->busy = false;
}

static inline uint64_t lpoc_thread_ticks(const struct lpoc_thread *t)
{
    return lpoc_ticks(t->counter);
}

/* Begins an event; `extra` bytes may follow beside LPOC_EVENT_MAX. End it with lpoc_commit(). */
static inline uint8_t *lpoc_event(struct lpoc_thread *t, unsigned tag, uint64_t now, size_t extra)
{
    uint8_t *p;

    if (LPOC_RARE(t->used + extra > t->room || now >= t->write_at_ticks))
        lpoc_thread_write(t, now);
    if (LPOC_RARE(now < t->last_ticks))
        now = t->last_ticks; /* two cores may disagree by a few ticks */
    p = t->at + t->used;
    *p++ = (uint8_t)tag;
    p = lpoc_put_v(p, now - t->last_ticks);
    t->last_ticks = now;
    return p;
}

static inline void lpoc_commit(struct lpoc_thread *t, const uint8_t *end)
{
    t->used = (uint32_t)(end - t->at);
    __atomic_store_n(&t->events, t->events + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&t->committed, t->used, __ATOMIC_RELEASE);
}

/* The 0-based depth of the new range. */
static inline int lpoc_stack_push(struct lpoc_thread *t, uint32_t domain, uint32_t name)
{
    struct lpoc_stack *s = &t->stacks[domain];

    if (LPOC_RARE(s->depth >= s->cap))
        lpoc_stack_grow(s);
    if (s->depth < s->cap)
        s->names[s->depth] = name;
    return (int)s->depth++;
}

/* The depth of the range that ends, or -1 when none is open. */
static inline int lpoc_stack_pop(struct lpoc_thread *t, uint32_t domain)
{
    struct lpoc_stack *s = &t->stacks[domain];

    return s->depth ? (int)--s->depth : -1;
}
