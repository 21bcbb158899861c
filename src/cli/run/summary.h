/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run/summary.h - the last lines that `lpo run` prints: the stages with their times, the
 * regions that took the time, and where the report is. */
#pragma once

struct lpo_analysis_run;
struct lpo_app;
struct lpo_manifest;
struct lpo_rundir;

void lpo_cli_run_summary_print(struct lpo_app *app, const struct lpo_manifest *m,
                               struct lpo_analysis_run *run);
/* "what to do first": the verdict and the first three rungs; nothing where no trace was read. */
void lpo_cli_findings_print(const struct lpo_app *app, const struct lpo_rundir *d);
