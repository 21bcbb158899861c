/* SPDX-License-Identifier: Apache-2.0 */
/* trace/host.h - one timeline of each host thread: what was open when.
 *
 * NVTX ranges, operators, Python frames, modules and API calls are slices of their thread. Each
 * kind has one sorted order per thread, and each slice a parent: the slice of its kind that it lies
 * in. Launches and captures stand on the same timeline.
 *
 * One rule for every question (tests/trace/test_host.c is its table):
 * - a slice contains a moment t when start <= t < end;
 * - it contains a stretch, such as another slice or the call of a launch, when start <= the start
 *   of the stretch and the end of the stretch <= end, on the same thread;
 * - of several, the innermost is the one that started last; of those that started together the
 *   one that ends first, then the kind that stands further down in enum lpo_host_kind, then the
 *   one further down in the file. A range that was never closed ends with its process.
 *
 * The orders are made when they are first asked for and kept with the trace (what nobody asks for
 * costs nothing), by whichever thread asks first, and made again when rows were added to it. */
#pragma once

#include "util/base.h"

struct lpo_range;
struct lpo_trace;

enum lpo_host_kind {
    LPO_HOST_RANGE = 1,  /* push/pop ranges and user annotations: rows of ranges */
    LPO_HOST_MODULE = 2, /* calls of PyTorch modules: rows of python */
    LPO_HOST_PYTHON = 4, /* other Python frames: rows of python */
    LPO_HOST_OP = 8,     /* operators: rows of ops */
    LPO_HOST_CALL = 16,  /* calls of the CUDA API: numbers as of lpo_trace_call() */
    LPO_HOST_SLICES = 31,
    /* On the same timeline, in order of time; nothing lies in them. */
    LPO_HOST_CAPTURE = 32,    /* rows of captures */
    LPO_HOST_LAUNCH = 64,     /* rows of launches */
    LPO_HOST_CAPTURED = 128,  /* rows of captured_launches */
    LPO_HOST_START_END = 256, /* start/end ranges: rows of ranges */
    LPO_HOST_PATH = 512, /* rows of paths, as their thread first came there; not to be walked */
};

/* Slices nested deeper than this have the parent of those at this depth. */
#define LPO_HOST_DEPTH 2048

struct lpo_slice {
    int64_t start_ns, end_ns;
    uint32_t name;   /* LPO_NONE: it has none */
    uint32_t thread; /* into threads */
    uint32_t row;    /* of the array of its kind, where the rest of it stands */
    uint32_t kind;   /* enum lpo_host_kind */
};

/* Rows of one kind and thread, in order: by start, of equals the one that ends last, then as they
 * stand in the file. */
struct lpo_host_rows {
    const uint32_t *at;
    size_t len;
};

struct lpo_host_rows lpo_host_rows(const struct lpo_trace *t, uint32_t thread,
                                   enum lpo_host_kind kind);
struct lpo_slice lpo_host_slice(const struct lpo_trace *t, enum lpo_host_kind kind, uint32_t row);
int64_t lpo_host_range_end(const struct lpo_trace *t, const struct lpo_range *r);
/* The last moment seen of a process: where its open ranges end. */
int64_t lpo_host_process_end(const struct lpo_trace *t, uint16_t process);

/* The innermost slice of `kinds` that contains the moment, that contains the stretch, that contains
 * the launch, that contains another slice. False: there is none. `thread` and `launch` may be
 * LPO_NONE. */
bool lpo_host_at(const struct lpo_trace *t, uint32_t thread, int64_t ns, unsigned kinds,
                 struct lpo_slice *out);
bool lpo_host_holding(const struct lpo_trace *t, uint32_t thread, int64_t start_ns, int64_t end_ns,
                      unsigned kinds, struct lpo_slice *out);
bool lpo_host_around(const struct lpo_trace *t, uint32_t launch, unsigned kinds,
                     struct lpo_slice *out);
bool lpo_host_parent(const struct lpo_trace *t, const struct lpo_slice *s, unsigned kinds,
                     struct lpo_slice *out);

/* The innermost slice of each kind that contains the moment and all of its kind around it,
 * outermost first; the innermost `room` of them. Returns how many. */
size_t lpo_host_open(const struct lpo_trace *t, uint32_t thread, int64_t ns, unsigned kinds,
                     struct lpo_slice *out, size_t room);

/* All slices of a thread in one order, outer ones before those in them:
 *
 *     struct lpo_host_walk w = lpo_host_walk(t, thread, LPO_HOST_OP | LPO_HOST_LAUNCH);
 *     struct lpo_slice s;
 *     while (lpo_host_next(&w, &s)) … */
struct lpo_host_cursor {
    const uint32_t *at, *end;
    size_t source;         /* private to host.c: where rows of its kind stand */
    struct lpo_slice head; /* of the row at `at` */
};

struct lpo_host_walk {
    const struct lpo_trace *t;
    size_t count;
    struct lpo_host_cursor cursors[9]; /* one for each kind */
};

struct lpo_host_walk lpo_host_walk(const struct lpo_trace *t, uint32_t thread, unsigned kinds);
bool lpo_host_next(struct lpo_host_walk *w, struct lpo_slice *out);

/* Per trace, made by trace.c. */
struct lpo_host;
struct lpo_host *lpo_host_create(void);
void lpo_host_destroy(struct lpo_host *h); /* NULL is fine */
