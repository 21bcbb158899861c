/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/nsys_export.h - a report of Nsight Systems (.nsys-rep), as the SQLite file that lpo reads.
 *
 * The report's own format is not published: nsys alone reads it. An export that lies beside the
 * report is taken; else `nsys export` makes one in a temporary folder. */
#pragma once

#include <stdbool.h>

#include "util/auto.h"

struct lpo_arena;
struct lpo_err;
struct lpo_rundir_export;

/* Only its name says so: a file that ends in .nsys-rep or .qdrep and is none of the formats that
 * lpo recognises by their contents. */
bool lpo_rundir_is_nsys_report(const char *path);
/* The export beside the report (run.sqlite for run.nsys-rep), where it is not older; else NULL. */
const char *lpo_rundir_nsys_export_beside(struct lpo_arena *a, const char *report);
/* LPO_E_MISSING without nsys: the error is the command that makes the export elsewhere. */
int lpo_rundir_export_create(struct lpo_arena *a, const char *report,
                             struct lpo_rundir_export **out, struct lpo_err *err);
const char *lpo_rundir_export_path(const struct lpo_rundir_export *e);
void lpo_rundir_export_destroy(
    struct lpo_rundir_export *e); /* NULL is fine; removes what it made */
LPO_AUTO_DEFINE(lpo_rundir_export);
