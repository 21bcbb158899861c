/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/nsys_export.h - a report of Nsight Systems (.nsys-rep), as the SQLite file that lpo reads.
 *
 * For a report that lpo cannot read itself (trace/nsysrep): damaged, or of a later version. An
 * export that lies beside it is taken; else `nsys export` makes one in a temporary folder. */
#pragma once

#include <stdbool.h>

#include "util/auto.h"

struct lpo_arena;
struct lpo_err;
struct lpo_rundir_export;

bool lpo_rundir_is_named_report(const char *path); /* it ends in .nsys-rep or .qdrep */
/* LPO_E_MISSING without nsys: the error is the command that makes the export elsewhere. */
int lpo_rundir_export_create(struct lpo_arena *a, const char *report,
                             struct lpo_rundir_export **out, struct lpo_err *err);
const char *lpo_rundir_export_path(const struct lpo_rundir_export *e);
void lpo_rundir_export_destroy(
    struct lpo_rundir_export *e); /* NULL is fine; removes what it made */
LPO_AUTO_DEFINE(lpo_rundir_export);
