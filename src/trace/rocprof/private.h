/* SPDX-License-Identifier: Apache-2.0 */
/* trace/rocprof/private.h - the pieces of the readers of rocprofv3.
 *
 * rocprof.c walks the JSON and rocpd.c the database; build.c puts their rows into the trace. */
#pragma once

#include "util/json_pull.h"

struct lpo_trace;

/* The numbers of a row, by the name of the object that they are in and their own. */
enum rocprof_number {
    R_KIND,
    R_OPERATION,
    R_THREAD,
    R_CORRELATION,
    R_START,
    R_END,
    R_BYTES,
    R_AGENT,
    R_SOURCE,
    R_TARGET,
    R_QUEUE,
    R_STREAM,
    R_KERNEL,
    R_GROUP_SEGMENT,
    R_GROUP, /* x, y, z */
    R_GRID = R_GROUP + 3,
    R_ID = R_GRID + 3,
    R_TYPE,
    R_CUS,
    R_ORDINAL,
    R_CLOCK,
    R_VGPRS,
    R_KEY,
    R_NUMBERS,
};

enum rocprof_text { R_NAME, R_OTHER_NAME, R_LINKER, R_VALUE, R_TEXTS };

/* One object of a list, whatever it is. Texts are good until the next is read. */
struct rocprof_row {
    int64_t n[R_NUMBERS]; /* LPO_NO_TIME: not given */
    struct lpo_json_pull_text text[R_TEXTS];
};

struct lpo_rocprof_build;

struct lpo_rocprof_build *lpo_rocprof_build_create(struct lpo_trace *t);
void lpo_rocprof_build_destroy(struct lpo_rocprof_build *b); /* NULL is fine */
/* The next process of the file. */
void lpo_rocprof_build_process(struct lpo_rocprof_build *b, int64_t pid);
/* Names of the calls of one kind, in order: kinds come in order, too. */
void lpo_rocprof_build_kind(struct lpo_rocprof_build *b);
void lpo_rocprof_build_operation(struct lpo_rocprof_build *b,
                                 const struct lpo_json_pull_text *name);
/* A row of the list `list`; other lists are passed over. */
void lpo_rocprof_build_row(struct lpo_rocprof_build *b, const char *list,
                           const struct rocprof_row *row);
bool lpo_rocprof_build_wants(const char *list);
void lpo_rocprof_build_finish(struct lpo_rocprof_build *b);
