/* SPDX-License-Identifier: Apache-2.0 */
/* report/what_ran.h - what a run was about: a model, or a program of the user's. */
#pragma once

struct lpo_rundir;

/* The model's name; NULL where none is known. */
const char *lpo_report_run_model(const struct lpo_rundir *d);
/* The program of workload=command: "bench", or the script that a Python runs; NULL with another
 * workload. */
const char *lpo_report_run_program(const struct lpo_rundir *d);
/* Its whole command, quoted for a shell. Unless report.private: absolute paths by their last part
 * alone, and no value of an option that is named like a secret. NULL with another workload. */
const char *lpo_report_run_command(const struct lpo_rundir *d);
