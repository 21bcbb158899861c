/* SPDX-License-Identifier: Apache-2.0 */
/* writer/reports.h - every report of a run, from the artifacts in its folder alone: the main report
 * in its formats, and the pages of report/pages.h. A file of the run that cannot be read is
 * reported there; it is not an error. */
#pragma once

#include "util/base.h"

struct lpo_paths;
struct lpo_rundir;

/* Where reports go, and the files of the main report that were written there. */
struct lpo_report_out {
    struct lpo_arena *arena; /* owns the names */
    const char *dir;         /* NULL: the run folder */
    struct lpo_paths *files; /* run/folder.h; appended to, relative to the folder; may be NULL */
};

/* Of a run that was loaded and analysed (analysis/run.h). `out` may be NULL. */
int lpo_writer_all_reports(const struct lpo_rundir *d, const struct lpo_report_out *out,
                           struct lpo_err *err);
