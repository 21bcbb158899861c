/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/private.h - the parts of lpo_rundir_load(). */
#pragma once

#include "rundir/rundir.h"

/* A sentence for `problems` about a file that could not be read. The folder's own path is left
 * out, so that a report is the same wherever its folder lies. */
const char *lpo_rundir_problem(struct lpo_rundir *d, const char *file, const struct lpo_err *err);

struct lpo_paths;

/* The files of a folder of traces, relative; without reports that lpo wrote there. */
int lpo_rundir_folder_files(struct lpo_arena *a, const char *dir, struct lpo_paths *out,
                            struct lpo_err *err);
/* A timeline that lpo itself wrote is a Chrome trace as the profiler's are. */
bool lpo_rundir_is_own_timeline(const char *path);
bool lpo_rundir_is_counters(const char *path);

/* Opens a file of sampled counters; one that cannot be read is a problem. */
void lpo_rundir_add_counters(struct lpo_rundir *d, const char *name, const char *path);

/* workload/<stage>/server.json with the client's JSON; one that cannot be read is a problem. */
void lpo_rundir_add_served(struct lpo_rundir *d, const char *stage, const char *file);

/* What the run's config and the overrides say about report.*. An override is checked by the
 * schema, as before a run; a recorded config is taken as it is. */
int lpo_rundir_options_read(struct lpo_rundir *d, const char *const *overrides,
                            struct lpo_err *err);

/* Were traces left by these stages found below the folder? */
bool lpo_rundir_any_trace_files(const char *dir, const struct lpo_rundir_kind *const *kinds);
/* The program that converts files of this kind which lpo alone cannot read; "": there is none. */
const char *lpo_rundir_program(const struct lpo_rundir *d, const struct lpo_rundir_kind *kind);
/* The selection of report.* and of the kind for every source that was read. */
int lpo_rundir_selections_make(struct lpo_rundir *d, struct lpo_err *err);
/* A source per kind, most trusted first, with no trace. */
void lpo_rundir_sources_list(struct lpo_rundir *d, const struct lpo_rundir_kind *const *kinds);
/* Reads every trace that was not read yet, and makes the selection of each source. */
int lpo_rundir_sources_read(struct lpo_rundir *d, struct lpo_err *err);

/* Files that tools leave beside another with the same content.
 *
 * In a folder the other one is read: the report of nsys and not its export, XLA's profile and not
 * the JSON that XProf made of it. */

bool lpo_rundir_is_second_form(const char *path);
