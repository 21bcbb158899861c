/* SPDX-License-Identifier: Apache-2.0 */
/* report/what_ran.h - what ran and how it ended, in words that every report shares. */
#pragma once

#include "util/base.h"

struct lpo_doc;
struct lpo_rundir;
struct lpo_stage_record;
struct lpo_trace;

/* The model's name; NULL where none is known. */
const char *lpo_report_run_model(const struct lpo_rundir *d);
/* The program of workload=command: "bench", or the script that a Python runs; NULL with another
 * workload. */
const char *lpo_report_run_program(const struct lpo_rundir *d);
/* Its whole command, quoted for a shell. Unless report.private: absolute paths by their last part
 * alone, and no value of an option that is named like a secret. NULL with another workload. */
const char *lpo_report_run_command(const struct lpo_rundir *d);

/* --- how the stages ended --- */

/* The message of a stage, with files below the run folder relative to it; NULL: none. */
const char *lpo_report_stage_message(const struct lpo_rundir *d, const struct lpo_stage_record *r);
/* Why a stage that ran left no trace; NULL where it left one, did not run or has no message. */
const char *lpo_report_why_stage_left_no_trace(const struct lpo_rundir *d, const char *stage);

/* A warning for every way in which stages did not end well, each with its first message. */
void lpo_report_add_stage_endings(struct lpo_doc *doc, const struct lpo_rundir *d);
/* Why there is no trace that can be read, as one sentence or more. */
const char *lpo_report_why_no_trace(const struct lpo_rundir *d);
/* What to do where there is none. */
const char *lpo_report_how_to_get_a_trace(const struct lpo_rundir *d);

/* --- of traces without a config or an env.json, as they say it; NULL: they do not --- */

/* "2 x NVIDIA H100 80GB HBM3": the GPUs with operations in the main trace. */
const char *lpo_report_traced_gpus(const struct lpo_rundir *d);
/* "0, 1 of 128" */
const char *lpo_report_traced_ranks(const struct lpo_rundir *d);
/* "PyTorch, vLLM": by the names of operators, Python functions and kernels. */
const char *lpo_report_traced_framework(const struct lpo_rundir *d);
/* "rank0.json.gz, rank1.json.gz (the trace of the PyTorch profiler)"; without folders. */
const char *lpo_report_traced_files(const struct lpo_rundir *d);
/* The command, or the program's name, of the process with most GPU operations. As recorded: it may
 * hold paths and secrets. */
const char *lpo_report_traced_command(const struct lpo_rundir *d);

/* Durations of kernels that a profiler ran alone and repeatedly? */
bool lpo_report_is_replay(const struct lpo_trace *t);
/* Why idle time is not known of a trace that has no span, as a sentence of a list. */
const char *lpo_report_why_no_clock(const struct lpo_trace *t);
