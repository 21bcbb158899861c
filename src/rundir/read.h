/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/read.h - one file into a trace, through ncu where lpo alone cannot read it. */
#pragma once

#include <stdbool.h>

struct lpo_err;
struct lpo_trace;

/* lpo_trace_read(); but a report of Nsight Compute that only ncu can read (another format version,
 * range results alone) is then converted with `ncu --import`, where the program `ncu`, a name or a
 * path, is found, and a note says so. */
int lpo_rundir_read_trace(const char *path, const char *ncu, struct lpo_trace *into,
                          struct lpo_err *err);
/* Does its name say that it is a report of Nsight Systems? */
bool lpo_rundir_is_named_report(const char *path);
