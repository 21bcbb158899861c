/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/run.h - every trace of a run (or of a list of files), read and attributed once.
 *
 * `lpo run` opens it when the run starts: a stage asks for the analysis of an earlier one, the
 * reports and the closing table take the same. The analysis of a source hangs on the source
 * (`analysis` in struct lpo_source). */
#pragma once

#include "util/base.h"

struct lpo_analysis;
struct lpo_operators_rules;
struct lpo_power;
struct lpo_rundir;
struct lpo_rundir_kind;
struct lpo_rundir_options;

struct lpo_analysis_run {
    struct lpo_rundir *dir;
    size_t attributed; /* traces that were attributed; each once, or sharing is broken */
    struct lpo_operators_rules *rules; /* of the user; NULL: none */
    struct lpo_power *power;           /* of the GPUs while it ran; NULL: not sampled */
};

/* Reads nothing yet: see lpo_rundir_open(). */
struct lpo_analysis_run *lpo_analysis_run_open(const char *dir,
                                               const struct lpo_rundir_kind *const *kinds);
/* After the run: reads what is left, lays counters of representatives over the most trusted trace,
 * and puts every analysis under the selection of report.*. See lpo_rundir_load(). */
int lpo_analysis_run_load(struct lpo_analysis_run *run, const char *const *overrides,
                          struct lpo_err *err);
/* Both, of a finished run. */
int lpo_analysis_run_create(const char *dir, const struct lpo_rundir_options *options,
                            struct lpo_analysis_run **out, struct lpo_err *err);
/* A run folder, or traces that belong together: see lpo_rundir_of_paths(). */
int lpo_analysis_run_of_paths(const char *const *paths, size_t count,
                              const struct lpo_rundir_options *options,
                              struct lpo_analysis_run **out, struct lpo_err *err);
void lpo_analysis_run_destroy(struct lpo_analysis_run *run); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_analysis_run);

/* Rules of the user for what operators compute (operators/cost.h), in place of those of the config.
 * Before operators are asked for. */
int lpo_analysis_run_operator_rules(struct lpo_analysis_run *run, const char *const *texts,
                                    size_t count, struct lpo_err *err);

/* Of the traces that a stage left; NULL: none can be read. Before lpo_analysis_run_load() nothing
 * is selected. */
const struct lpo_analysis *lpo_analysis_run_stage(struct lpo_analysis_run *run, const char *stage);
/* A stage starts again: what was read of it is no longer true. */
void lpo_analysis_run_forget(struct lpo_analysis_run *run, const char *stage);
/* Of the source that says most about where time goes; NULL: there is none. */
const struct lpo_analysis *lpo_analysis_run_main(struct lpo_analysis_run *run);
