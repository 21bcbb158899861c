/* SPDX-License-Identifier: Apache-2.0 */
/* trace/xprof/private.h - the pieces of the reader of jax.profiler's trace.json.gz.
 *
 * xprof.c walks the file, event.c reads one event, build.c puts it into the trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/json_pull.h"

struct lpo_trace;

/* Text points into the window: good until the next event is read. */
struct xprof_event {
    char ph; /* 'X' a stretch, 'M' a name of a process or thread; others are passed over */
    int64_t pid, tid;
    int64_t start_ns, dur_ns; /* LPO_NO_TIME: not given */
    struct lpo_json_pull_text name;
    /* of args */
    int64_t correlation, step, graph; /* LPO_NO_TIME */
    struct lpo_json_pull_text label, module, op, place, kernel, copy, fill;
};

/* An lpo_json_fn: one event object. */
int lpo_xprof_event_read(struct lpo_pull *q, struct xprof_event *e);
/* The number behind "key:" in a text of such pairs ("regs:32 grid:8,1,1"); false: there is none. */
bool lpo_xprof_detail(const struct lpo_json_pull_text *text, const char *key, uint64_t out[3]);

struct lpo_xprof_build;

struct lpo_xprof_build *lpo_xprof_build_create(struct lpo_trace *t);
void lpo_xprof_build_destroy(struct lpo_xprof_build *b); /* NULL is fine */
void lpo_xprof_build_add(struct lpo_xprof_build *b, const struct xprof_event *e);
/* After the last event. */
void lpo_xprof_build_finish(struct lpo_xprof_build *b);
