/* SPDX-License-Identifier: Apache-2.0 */
/* report/stage_results.h - how the stages of a run ended, in words that every report shares. */
#pragma once

#include <stdbool.h>

struct lpo_doc;
struct lpo_rundir;
struct lpo_stage_record;

/* The message of a stage, with files below the run folder relative to it; NULL: none. */
const char *lpo_report_stage_message(const struct lpo_rundir *d, const struct lpo_stage_record *r);
/* The stage's part in run.json, or NULL. */
const struct lpo_stage_record *lpo_report_run_stage(const struct lpo_rundir *d, const char *stage);
/* Why a stage that ran left no trace; NULL where it left one, did not run or has no message. */
const char *lpo_report_why_stage_left_no_trace(const struct lpo_rundir *d, const char *stage);

/* A warning for every way in which stages did not end well, each with its first message. */
void lpo_report_add_stage_endings(struct lpo_doc *doc, const struct lpo_rundir *d);
/* Why there is no trace that can be read, as one sentence or more. */
const char *lpo_report_why_no_trace(const struct lpo_rundir *d);
/* What to do where there is none. */
const char *lpo_report_how_to_get_a_trace(const struct lpo_rundir *d);
