/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run/program_runs.h - what is said before a program of the user's own starts: how often it
 * will, and whose standard input is. */
#pragma once

#include "util/base.h"

struct lpo_pipeline;
struct lpo_progress;

/* Before the first stage, the manifest filled: says in two lines that the program runs several
 * times and why, and lets one that runs once read lpo's standard input. Refuses input for one that
 * runs several times: each would get a part of it. `alone`: no other job of a sweep runs it.
 * `progress` NULL: nothing is said. */
int lpo_cli_program_runs_settle(struct lpo_pipeline *p, bool alone, struct lpo_progress *progress,
                                struct lpo_err *err);
