/* SPDX-License-Identifier: Apache-2.0 */
/* collect/thread.h - one thread's stream of events.
 *
 * A thread owns its buffer: an event is a few bytes appended and one released store, with no lock.
 * The buffer is written when it is full, when it is older than the flush period, when the thread
 * ends and when the process does. The last is done by another thread: it takes `writing` and
 * writes what was committed; the owner only starts over at the front under the same lock.
 *
 * A disk that fails for a while: a buffer that cannot be written waits while it has room. When it
 * is full its events are lost and counted, and the stream goes on in a block that stands for
 * itself, as where only the last seconds are kept (ring.h).
 *
 * The buffer lies in the process's tail where it can (tail.h), so that _exit(), SIGKILL or a crash
 * lose nothing that was committed. In a copy of the process that must not write there: the kernel
 * empties the first pages of this struct in it, and the next event finds no buffer.
 *
 * Signal handlers. A call that interrupts the collector in its own thread finds `busy` set, is
 * counted and not recorded. A handler may also leave by siglongjmp(), and then the interrupted
 * call never ends: `busy` holds its stack address, by which a later call sees that it is gone
 * (lpoc_enter_slowly). Each event is written so that it may stop at any instruction: what was not
 * committed did not happen, and what was is completed by lpoc_thread_recover(). */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/calls.h"
#include "collect/collect.h"
#include "collect/encode.h"
#include "collect/guard.h"
#include "lpo/trace_format.h"

enum {
    LPOC_CACHE = 256,    /* names that a thread finds without the shared table */
    LPOC_EVENT_MAX = 96, /* bytes of the largest event, less a name written in place */
    LPOC_PAGE = 4096,    /* on machines with larger ones no buffer is in a tail */
};

/* Names up to 16 bytes are compared by their two words; longer ones by hash, then bytes. */
struct lpoc_known {
    uint64_t a, b;
    uint32_t len; /* 0: empty slot */
    uint32_t id;
};

/* Open push/pop ranges of one domain: their number, their names for a child of fork, and how many
 * of them are in the file where windows are recorded. */
struct lpoc_stack {
    uint32_t depth, cap, filed;
    uint32_t *names;
};

/* What the next event is written relative to, beside the ticks in lpot_tail_slot. */
struct lpoc_base {
    uint64_t node, original;
    uint32_t corr;
};

struct lpoc_thread {
    uint8_t *at;                   /* behind its struct lpot_tail_slot; NULL: none yet */
    uint32_t used, room;           /* an event may start while used <= room */
    uint64_t write_at_ticks;       /* the buffer is too old from here on */
    struct lpoc_base last, coming; /* of the last event; and of the one that is being written */
    uint64_t coming_ticks;
    uint64_t events; /* since the buffer was last empty */
    uint64_t filed;  /* of those, in the file, or there a second time */
    struct lpoc_known known[LPOC_CACHE];

    /* From here on a copy of the process has what its parent had. */
    _Alignas(LPOC_PAGE) bool counter; /* which clock */
    bool forked;                      /* child of fork: not in its file yet */
    bool fresh;                       /* the buffer stands for itself: ring.h */
    bool hole;                        /* events before the next one are lost */
    bool windowed;                    /* windows are recorded: the rest of the run is not */
    bool quiet;                       /* some open range is not in the file: it began outside */
    bool eager;       /* child of fork, without a tail: these seldom end in the ordinary way */
    uint32_t domains; /* that had ranges; counted where windows are recorded */
    struct lpoc_stack *stacks;     /* by domain */
    struct lpot_tail_slot *shared; /* its buffer in the tail; NULL: there is none */
    struct lpot_tail_slot *own;    /* and in private memory: never in use beside the other */
    uint32_t replaced;             /* how often lpoc_thread_recover() took another place */
    struct lpoc_calls calls;
    struct {
        bool open, recorded;
        uint32_t domain, depth;
        uint64_t start; /* ticks */
    } chosen;           /* the call of the chosen range that this thread is in */

    pthread_mutex_t writing;
    struct lpoc *owner;
    struct lpoc_thread *next;
    uint32_t flushed, sequence, number;
    uint32_t inherited; /* domains whose stacks came from the parent of a fork; 0: none */
    int taken;          /* atomic: 0 free, 1 owned by a live thread, 2 on its way */
    pid_t tid;
    char wide[LPOC_NAME_MAX]; /* a wide name as UTF-8; not on the program's stack, which may be
                                 small */
};

struct lpoc_guard_state {
    unsigned depth;
    int cancel, saved_errno;
    bool masked;
    uint64_t signals;
};

/* Not an address: the thread is inside a step that may take locks and always comes to its end. */
#define LPOC_BUSY_HELD ((uintptr_t)1)

struct lpoc_tls {
    struct lpoc_thread *self;
    uintptr_t busy; /* inside the collector: where on the stack, or LPOC_BUSY_HELD; 0: outside */
    uintptr_t busy_before_fork;
    struct lpoc_guard_state guard; /* guard.h */
    /* Calls turned away since the collector was entered at `busy`. */
    uint32_t turned_away, turned_away_at;
    uint64_t turned_away_ticks;
};
extern __thread struct lpoc_tls lpoc_tls
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define LPOC_RARE(x) __builtin_expect(!!(x), 0)

/* The rare side of lpoc_enter(): the first call of a thread, and calls while it is busy. */
struct lpoc_thread *lpoc_enter_slowly(uintptr_t here);
/* The calling thread's state, made if it is not there yet. NULL: nothing can be recorded. */
struct lpoc_thread *lpoc_thread_make(void);
/* By the owner, whose last call was left by a jump and never ended: its place, ready for the next
 * event. `alive`: that call may still go on, so it keeps its place and the stream moves to another
 * one; NULL when there is none. */
struct lpoc_thread *lpoc_thread_recover(struct lpoc_thread *t, bool alive);
/* By the owner, before an event at `now`: writes the buffer and starts over. */
void lpoc_thread_write(struct lpoc_thread *t, uint64_t now);
/* By the owner, after a pop in a child of fork: worker processes end by _exit(), so what is older
 * than a fifth of a millisecond is written now. */
void lpoc_thread_write_early(struct lpoc_thread *t, uint64_t now);
/* By anyone. `last`: at the end of the process, so what cannot be written is lost. */
void lpoc_thread_write_committed(struct lpoc_thread *t, bool last);
/* In a child of fork, for the thread that survived and for those that did not. `inside`: fork was
 * called by a signal handler that interrupted the collector. */
void lpoc_thread_survive(struct lpoc_thread *t, bool inside);
void lpoc_thread_vanish(struct lpoc_thread *t);
void lpoc_thread_end(void *thread); /* destructor of the key */
int lpoc_stack_grow(struct lpoc_stack *s);

/* The calling thread's state, or NULL when nothing can be recorded now. Leave again. */
static inline struct lpoc_thread *lpoc_enter(void)
{
    char here; /* its address is where on the stack this call is */
    struct lpoc_thread *t = lpoc_tls.self;

    if (LPOC_RARE(!t || lpoc_tls.busy))
        return lpoc_enter_slowly((uintptr_t)&here);
    lpoc_tls.busy = (uintptr_t)&here;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return t;
}

static inline void lpoc_leave(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lpoc_tls.busy = 0;
}

/* The head of the buffer that is in use. */
static inline struct lpot_tail_slot *lpoc_slot(const struct lpoc_thread *t)
{
    return (struct lpot_tail_slot *)(void *)t->at - 1;
}

static inline uint64_t lpoc_thread_ticks(const struct lpoc_thread *t)
{
    return lpoc_ticks(t->counter);
}

/* Begins an event; `extra` bytes may follow beside LPOC_EVENT_MAX. End it with lpoc_commit(). */
static inline uint8_t *lpoc_event(struct lpoc_thread *t, unsigned tag, uint64_t now, size_t extra)
{
    struct lpot_tail_slot *slot;
    uint8_t *p;

    if (LPOC_RARE(t->used + extra > t->room || now >= t->write_at_ticks))
        lpoc_thread_write(t, now);
    slot = lpoc_slot(t);
    if (LPOC_RARE(now < slot->ticks))
        now = slot->ticks; /* two cores may disagree by a few ticks */
    p = t->at + t->used;
    *p++ = (uint8_t)tag;
    p = lpoc_put_v(p, now - slot->ticks);
    t->coming_ticks = now;
    return p;
}

/* One store makes the event part of the stream; `used` follows last, so that used != committed
 * shows an event that was committed but whose base was not stored yet. */
static inline void lpoc_commit_base(struct lpoc_thread *t, const uint8_t *end, bool ids)
{
    struct lpot_tail_slot *slot = lpoc_slot(t);
    size_t used = (size_t)(end - t->at);

    if (LPOC_RARE(!t->at))
        return; /* a raw clone made a copy of the process in the middle of this event */
    __atomic_store_n(&t->events, t->events + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->committed, (uint32_t)used, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (ids)
        t->last = t->coming;
    slot->ticks = t->coming_ticks;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->used = (uint32_t)used;
}

static inline void lpoc_commit(struct lpoc_thread *t, const uint8_t *end)
{
    lpoc_commit_base(t, end, false);
}

/* For events that change `coming` beside its ticks. */
static inline void lpoc_commit_ids(struct lpoc_thread *t, const uint8_t *end)
{
    lpoc_commit_base(t, end, true);
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
