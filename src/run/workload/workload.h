/* SPDX-License-Identifier: Apache-2.0 */
/* run/workload/workload.h - the program under study, as every stage runs it.
 *
 * Its command line is built here and nowhere else, from the one config: a stage only says where
 * the outputs go and whether a profiler is watching. Kinds of workload are rows of a table. */
#pragma once

#include "util/dtype.h"

struct lpo_node;
struct lpo_step;

struct lpo_workload_request {
    const char *out_dir;  /* absolute: metrics.json, predictions.jsonl, settings.json go here */
    const char *call_dir; /* absolute: where lpo was called */
    bool profiled;        /* run.representative_max_new_tokens applies */
    int64_t most_tokens;  /* no more than these; 0: as the config says */
    bool predictions;     /* write predictions.jsonl */
    bool light;           /* one repeat */
    bool own_warmup;      /* `warmup` repeats before the measured ones, not run.warmup */
    int64_t warmup;
    bool tell_settings; /* any program finds settings.json by the variable LPO_SETTINGS */
};

/* Appends the program and its words to step->argv, its variables to step->env, sets step->cwd.
 * Nothing is written; what is looked up is where programs are. */
int lpo_workload_plan(struct lpo_arena *a, const struct lpo_node *config,
                      const struct lpo_workload_request *request, struct lpo_step *step,
                      struct lpo_err *err);

/* The number format of the run's matrix products, as far as the config says. */
enum lpo_dtype lpo_workload_dtype(const struct lpo_node *config);

/* Is it one of our programs, whose tokens run.* and infer.* limit? Any other command generates what
 * it likes. */
bool lpo_workload_generates_tokens(const struct lpo_node *config);

/* Whether a Python interpreter may run in it, as far as its command line says: scripts and shells
 * may start one. */
bool lpo_workload_may_be_python(struct lpo_arena *a, const struct lpo_node *config,
                                const char *call_dir);

/* Before the planned step starts: checks the inputs once more and writes the files that the program
 * reads into request->out_dir. */
int lpo_workload_prepare(struct lpo_arena *a, const struct lpo_node *config,
                         const struct lpo_workload_request *request, struct lpo_err *err);

/* What can be known before a run folder is made: files that the config names and that are not
 * there, a command without a program. LPO_E_CONFIG. */
int lpo_workload_check(struct lpo_arena *a, const struct lpo_node *config, const char *call_dir,
                       struct lpo_err *err);

/* Where run.device asks for a GPU, which this machine does not have: what the built-in model does
 * then. NULL: nothing to say. */
const char *lpo_workload_device_note(struct lpo_arena *a, const struct lpo_node *config);

/* Is the program of workload=command here? LPO_E_NOPROGRAM. */
int lpo_workload_program_check(struct lpo_arena *a, const struct lpo_node *config,
                               struct lpo_err *err);

/* The settings every stage shares, as JSON (also inputs.yaml's content): what a workload program
 * reads with --settings. */
struct lpo_json_writer;

void lpo_workload_settings(const struct lpo_node *config,
                           const struct lpo_workload_request *request, struct lpo_json_writer *w);

/* Workload=server: a server and its clients as one command line. */

/* `lpo __server …` (run/server/server.h) as the words of the step. Where workload.argv is empty,
 * the built-in toy_server with the model of the config, and toy_client. */
int lpo_workload_server_build(struct lpo_arena *a, const struct lpo_node *config,
                              const char *out_dir, struct lpo_step *step, struct lpo_err *err);
/* Is this workload a server that is to be recorded while it is under load, and not before? */
bool lpo_workload_server_under_load(const struct lpo_node *config);
/* What can be known before anything is made. LPO_E_CONFIG. */
int lpo_workload_server_check(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_err *err);
