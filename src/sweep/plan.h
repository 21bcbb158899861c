/* SPDX-License-Identifier: Apache-2.0 */
/* sweep/plan.h - the jobs of a sweep as files: what each is to run, and what became of it.
 *
 *     <sweep>/.sweep/plan.json   every job with its overrides; which array jobs were submitted
 *     <sweep>/.sweep/3.json      what became of job 3, written by the lpo that runs it
 *     <sweep>/multirun.json      both together, for people and scripts (cli/run/job.h)
 *
 * A job is started by `lpo run --resume <sweep> --job 3`, on this machine or another one that sees
 * the folder, so nothing but files goes from one lpo to the other. They may come from anybody: what
 * is read is bounded. */
#pragma once

#include "util/base.h"

#define LPO_SWEEP_FOLDER ".sweep"
#define LPO_SWEEP_SCHEMA "lpo.sweep/1"

struct lpo_sweep_plan_job {
    int64_t num;        /* hydra.job.num */
    const char **words; /* all its overrides, NULL-terminated */
    size_t shown;       /* how many of them say what the job is; the rest is hydra's */
};

/* An array job of a cluster: task k runs job offset + k. */
struct lpo_sweep_array {
    const char *id;
    int64_t offset;
};

struct lpo_sweep_plan {
    struct lpo_arena *arena;              /* everything below lives here */
    const char *dir;                      /* of the sweep, absolute; not written */
    const char *cwd;                      /* where lpo was called */
    const char *config_dir, *config_name; /* as given; NULL */
    const char **words;                   /* of the whole sweep, NULL-terminated */
    const char **program;                 /* after `--`, NULL-terminated; NULL: none */
    struct lpo_sweep_plan_job *jobs;
    size_t count;
    struct lpo_sweep_array *arrays; /* the oldest first */
    size_t narrays;
};

/* A word that must not reach a file, so that the plan cannot be written; NULL: there is none. */
const char *lpo_sweep_plan_secret(const struct lpo_sweep_plan *plan);
/* Forgets what an earlier sweep left in the same folder. */
int lpo_sweep_plan_begin(const struct lpo_sweep_plan *plan, struct lpo_err *err);
int lpo_sweep_plan_save(const struct lpo_sweep_plan *plan, struct lpo_err *err);
/* Is there a plan in this folder? */
bool lpo_sweep_plan_exists(struct lpo_arena *a, const char *dir);
int lpo_sweep_plan_load(struct lpo_arena *a, const char *dir, struct lpo_sweep_plan *out,
                        struct lpo_err *err);
void lpo_sweep_plan_add_array(struct lpo_sweep_plan *plan, const char *id, int64_t offset);

/* Only one lpo at a time starts jobs of a sweep. Returns a descriptor to close at the end; -1, and
 * no error, where the file system has no locks. */
int lpo_sweep_plan_lock(const struct lpo_sweep_plan *plan, int *fd, struct lpo_err *err);

enum lpo_sweep_state {
    LPO_SWEEP_PENDING,
    LPO_SWEEP_RUNNING,
    LPO_SWEEP_ENDED, /* `exit_code`, or `error` where it could not begin */
    LPO_SWEEP_LOST,  /* it ended without a word; `error` says what is known */
};

struct lpo_sweep_result {
    enum lpo_sweep_state state;
    int exit_code;
    const char *error;                     /* NULL: none */
    const char *run_dir;                   /* NULL: none was made */
    const char *host;                      /* NULL: not known */
    int64_t wall_ns;                       /* 0: unknown */
    struct lpo_measure total_ms, tokens_s; /* of the workload alone */
    struct lpo_measure gpu_ns;
};

/* "pending", "running", "done", "failed", "missing", "interrupted", "lost" */
const char *lpo_sweep_result_word(const struct lpo_sweep_result *r);
/* Has the job to run (again)? */
bool lpo_sweep_result_open(const struct lpo_sweep_result *r);
/* 0, or the worst exit code of all; a lost job counts as 1. */
int lpo_sweep_result_worst(const struct lpo_sweep_result *results, size_t count);

int lpo_sweep_result_save(const struct lpo_sweep_plan *plan, size_t job,
                          const struct lpo_sweep_result *r, struct lpo_err *err);
/* When the file was written last; 0: there is none. A file that did not change need not be read. */
int64_t lpo_sweep_result_stamp(const struct lpo_sweep_plan *plan, size_t job);
/* Pending where there is no file, or none that can be read. */
void lpo_sweep_result_load(const struct lpo_sweep_plan *plan, size_t job,
                           struct lpo_sweep_result *out);

/* --- all jobs of a sweep together (result.c) ------------------------------------------------- */

#define LPO_SWEEP_SUMMARY_SCHEMA "lpo.multirun/1"

/* <sweep>/multirun.json; makes the folder where it is not there. */
int lpo_sweep_summary_save(const struct lpo_sweep_plan *plan,
                           const struct lpo_sweep_result *results, struct lpo_err *err);
/* One row for each job, whatever became of it. */
void lpo_sweep_summary_add_table(const struct lpo_sweep_plan *plan,
                                 const struct lpo_sweep_result *results, struct lpo_str *out);
