/* SPDX-License-Identifier: Apache-2.0 */
/* collect/window.h - when to record: the whole run, or windows of it.
 *
 * A window is open while the gate is (time, a signal, `lpo ctl`; without those always) and, where a
 * range was chosen, while one of its chosen calls runs. Outside a window CUPTI makes no kernel
 * records, since these are what costs; copies, memsets and whole graphs go on being reported,
 * because CUPTI crashes when graph records are switched, and those outside are dropped here. So are
 * kernels where graphs are recorded by node, and launches.
 *
 * Ranges that begin outside are not written, but the thread's stack knows them: at its first event
 * inside, those that are still open are written, with the flag LPOT_EV_INHERITED. A range that is
 * in the file ends there at its true time, inside or outside. Start/end ranges are few and always
 * written. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lpo/trace_format.h"

struct lpoc;
struct lpoc_name;
struct lpoc_thread;

enum {
    LPOC_CHOSEN_STARTS = 64,   /* start/end ranges of the chosen name that are open at one time */
    LPOC_WINDOWS_BYTES = 2048, /* of windows that were not written yet */
    LPOC_NOTED = 1 << 20,      /* launches whose records are still to come: those of a second */
};

struct lpoc_window {
    bool used;            /* false: everything is recorded, and none of this matters */
    bool on;              /* atomic */
    pthread_mutex_t lock; /* all below that is not atomic; outside every other lock */
    bool gate;
    unsigned why;            /* enum lpot_window: what opened the gate */
    uint32_t holds;          /* chosen calls that run now */
    uint64_t from;           /* ticks: of the open window */
    uint64_t seen, recorded; /* atomic: calls of the chosen range */
    uint64_t count;          /* windows so far */
    uint64_t starts[LPOC_CHOSEN_STARTS];
    uint8_t *matches; /* by string id: enum match, filled when first asked for */
    uint64_t *noted;  /* by id of a launch, modulo LPOC_NOTED: it, and if its record came; atomic */
    uint32_t highest; /* id that was noted; atomic */
    _Alignas(64) uint64_t launched; /* ids noted, and of these: */
    _Alignas(64) uint64_t came;     /* those whose first record came */
    uint64_t lost;                  /* those that no record is waited for; all atomic */
    uint64_t records;               /* that came; atomic */
    uint8_t windows[LPOC_WINDOWS_BYTES];
    size_t windows_used;
    uint64_t windows_at; /* ticks: when they were last written */
    uint64_t last_end;   /* of the last in `windows` */
    uint32_t sequence;
};

/* With the settings known, before the first event. */
void lpoc_window_start(struct lpoc *c);
/* The gate, by time, signal or control. */
void lpoc_window_gate(struct lpoc *c, bool open, unsigned why);
/* In a child of fork. */
void lpoc_window_forked(struct lpoc *c, struct lpoc_thread *self);
/* A part that was recorded from `from` to now; of the ring. */
void lpoc_window_add(struct lpoc *c, uint64_t from, unsigned why);
/* Writes what is not in the file yet; the open window too when the program ends. */
void lpoc_window_finish(struct lpoc *c, bool exits);

/* By the owner of `t`, before each of its events: may it be written? */
bool lpoc_window_sync(struct lpoc_thread *t);
/* Its open ranges into the file, whatever the window says: a graph is captured in them. */
void lpoc_window_resume(struct lpoc_thread *t);
/* A range begins: the same, after counting it where it is the chosen one. */
bool lpoc_window_push(struct lpoc_thread *t, uint32_t domain, struct lpoc_name name);
/* A range ends: is its push in the file, so that its pop must be too? */
bool lpoc_window_pop(struct lpoc_thread *t, uint32_t domain);
/* A range of this depth has ended, and its pop is written. */
void lpoc_window_popped(struct lpoc_thread *t, uint32_t domain, int depth);
void lpoc_window_range_start(struct lpoc_thread *t, struct lpoc_name name, uint64_t id);
void lpoc_window_thread_end(struct lpoc_thread *t); /* it may end inside a chosen call */
void lpoc_window_range_end(struct lpoc_thread *t, uint64_t id);

/* What is launched inside a window is noted. Copies and graph launches are reported outside windows
 * too, kernels where their records are not switched (gpu.h, steady): these are kept only if noted.
 */
void lpoc_window_note(struct lpoc *c, uint32_t correlation);
/* That launch failed: it has no record. */
void lpoc_window_note_failed(struct lpoc *c, uint32_t correlation);
bool lpoc_window_noted(struct lpoc *c, uint32_t correlation);
/* Launches inside windows whose record has not come. `records`: all that came so far; a CUDA graph
 * has many of one launch. */
uint64_t lpoc_window_outstanding(const struct lpoc *c, uint64_t *records);
/* Those are not waited for any longer; where a record comes after all, it is kept. */
void lpoc_window_give_up(struct lpoc *c);
