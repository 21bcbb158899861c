/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/read.h - one file into a trace, through ncu where lpo alone cannot read it. */
#pragma once

#include "util/base.h"

struct lpo_rundir_many;
struct lpo_trace;

/* lpo_trace_read(); but a report of Nsight Compute that only ncu can read (another format version,
 * range results alone) is then converted with `ncu --import`, where the program `ncu`, a name or a
 * path, is found, and a note says so. */
int lpo_rundir_read_trace(const char *path, const char *ncu, struct lpo_trace *into,
                          struct lpo_err *err);
/* Does its name say that it is a report of Nsight Systems? */
bool lpo_rundir_is_named_report(const char *path);

/* Several traces read at the same time, a worker for each core.
 *
 * Each is read into a trace of its own, and taken in the order of the list, so what comes out is
 * what one worker alone would give. At most two for each worker are read and not yet taken. */
struct lpo_rundir_many_file {
    const char *path;
    const char *program; /* see lpo_rundir_read_trace() */
    uint32_t file_rank;  /* of struct lpo_trace */
};

/* Copies the list; its texts must stay. NULL: one core, or fewer than two files. */
struct lpo_rundir_many *lpo_rundir_many_start(const struct lpo_rundir_many_file *files,
                                              size_t count, unsigned skip);
/* The next file of the list, appended to `into`. */
int lpo_rundir_many_append(struct lpo_rundir_many *m, struct lpo_trace *into, struct lpo_err *err);
void lpo_rundir_many_destroy(struct lpo_rundir_many *m); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_rundir_many);
