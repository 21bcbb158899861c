/* SPDX-License-Identifier: Apache-2.0 */
/* Kineto files as texts in the tests: events, and how they are read. */
#pragma once

#include "../unit.h"

#include "trace/reader.h"
#include "trace/trace.h"
#include "util/err.h"

#define X(cat, name, pid, tid, ts, dur, args)                                                      \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name "\", \"pid\": " pid                  \
    ", \"tid\": " tid ", \"ts\": " ts ", \"dur\": " dur ", \"args\": {" args "}}"
#define FILE_OF(events) "{\"traceEvents\": [" events "]}"
#define GPU             "\"device\": 0, \"stream\": 7, \"correlation\": 5"

/* NULL where it is refused: `err` says why. */
static inline struct lpo_trace *kineto_read(const char *text, uint32_t skip, struct lpo_err *err)
{
    struct lpo_trace *t = lpo_trace_create();
    char path[UNIT_PATH];
    int rc;

    unit_file(text, strlen(text), path);
    t->skip = skip;
    rc = lpo_trace_read(path, t, err);
    unlink(path);
    if (rc == 0)
        return t;
    lpo_trace_destroy(t);
    return NULL;
}
