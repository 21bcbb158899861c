/* SPDX-License-Identifier: Apache-2.0 */
/* trace/xprof/private.h - the pieces of the readers of jax.profiler.
 *
 * xprof.c walks the JSON and xplane.c the other form, build.c puts their events into the trace. */
#pragma once

#include "util/json_pull.h"

struct lpo_trace;

/* Text points into the window: good until the next event is read. */
struct xprof_event {
    char ph; /* 'X' a stretch, 'M' a name of a process or thread; others are passed over */
    int64_t pid, tid;
    int64_t start_ns, dur_ns;              /* LPO_NO_TIME: not given */
    struct lpo_json_pull_text phase, name; /* the phase is `ph` as JSON has it */
    /* of args */
    int64_t correlation, step, graph; /* LPO_NO_TIME */
    struct lpo_json_pull_text label, module, op, place, kernel, copy, fill;
};

struct lpo_xprof_build;

struct lpo_xprof_build *lpo_xprof_build_create(struct lpo_trace *t);
void lpo_xprof_build_destroy(struct lpo_xprof_build *b); /* NULL is fine */
void lpo_xprof_build_add(struct lpo_xprof_build *b, const struct xprof_event *e);
/* After the last event. */
void lpo_xprof_build_finish(struct lpo_xprof_build *b);
