/* SPDX-License-Identifier: Apache-2.0 */
/* report/traced_facts.h - what ran, as the traces themselves say it: for traces that lpo did not
 * record, where there is neither a config nor an env.json. NULL: the traces do not say. */
#pragma once

#include <stdbool.h>

struct lpo_rundir;
struct lpo_trace;

/* "2 x NVIDIA H100 80GB HBM3": the GPUs with operations in the main trace. */
const char *lpo_report_traced_gpus(const struct lpo_rundir *d);
/* "0, 1 of 128" */
const char *lpo_report_traced_ranks(const struct lpo_rundir *d);
/* "PyTorch, vLLM": by the names of operators, Python functions and kernels. */
const char *lpo_report_traced_framework(const struct lpo_rundir *d);
/* "rank0.json.gz, rank1.json.gz (the trace of the PyTorch profiler)"; without folders. */
const char *lpo_report_traced_files(const struct lpo_rundir *d);
/* The command, or the program's name, of the process with most GPU operations. As recorded: it may
 * hold paths and secrets, see report/what_ran.h. */
const char *lpo_report_traced_command(const struct lpo_rundir *d);

/* Durations of kernels that a profiler ran alone and repeatedly? */
bool lpo_report_is_replay(const struct lpo_trace *t);
/* Why idle time is not known of a trace that has no span, as a sentence of a list. */
const char *lpo_report_why_no_clock(const struct lpo_trace *t);
