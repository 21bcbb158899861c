/* SPDX-License-Identifier: Apache-2.0 */
/* sweep/launcher.h - who starts the jobs of a sweep, and waits for them.
 *
 * hydra.launcher of the config chooses one by its `_target_` and holds its settings. Hydra's own
 * launcher ("basic": one job after the other, in this process) has no row: cli/run/multirun.c is
 * it. */
#pragma once

#include "sweep/plan.h"

struct lpo_node;

struct lpo_sweep_run {
    struct lpo_sweep_plan *plan;
    struct lpo_sweep_result *results; /* of each job */
    const struct lpo_node *settings;  /* hydra.launcher, a map */
    const char *program;              /* lpo itself */
    bool resumed;                     /* the user came back for the results: wait for them */
    bool interrupted;                 /* the user asked to stop; set by the launcher */
    void *ctx;
    void (*say)(void *ctx, const char *line);  /* a line that stays */
    void (*show)(void *ctx, const char *line); /* the one line that is redrawn */
    void (*changed)(void *ctx);                /* a job began or ended: multirun.json */
};

enum lpo_sweep_kind {
    LPO_SWEEP_TEXT,   /* or a number */
    LPO_SWEEP_COUNT,  /* a whole number above 0 */
    LPO_SWEEP_TRUTH,  /* true or false */
    LPO_SWEEP_LIST,   /* of texts */
    LPO_SWEEP_MAP,    /* of texts */
    LPO_SWEEP_IGNORED /* of another launcher's config; means nothing here */
};

struct lpo_sweep_key {
    const char *name; /* NULL ends the table */
    enum lpo_sweep_kind kind;
};

struct lpo_sweep_launcher {
    const char *name;
    const char *const *targets; /* ends of _target_, NULL-terminated */
    const struct lpo_sweep_key *keys;
    /* Says what it would start, for --dry-run. May fail for a wrong setting, as `run` would. */
    int (*plan)(const struct lpo_sweep_run *s, struct lpo_str *out, struct lpo_err *err);
    /* Runs every open job and fills the results. Returns when all have ended, or when the user
     * asked to stop and those that ran have ended. */
    int (*run)(struct lpo_sweep_run *s, struct lpo_err *err);
};

/* *out is NULL for Hydra's basic launcher. LPO_E_CONFIG for one that is not known, and for settings
 * that it does not have. */
int lpo_sweep_launcher_find(const struct lpo_node *settings, const struct lpo_sweep_launcher **out,
                            struct lpo_err *err);

/* A setting as text; NULL where it is null or not there. */
const char *lpo_sweep_launcher_text(const struct lpo_sweep_run *s, const char *key);
/* The same as a number; `fallback` where it is not there. */
long long lpo_sweep_launcher_count(const struct lpo_sweep_run *s, const char *key,
                                   long long fallback);

extern const struct lpo_sweep_launcher lpo_sweep_local, lpo_sweep_slurm;

/* "job 3 (2 of 8): done in 12.3 s" */
void lpo_sweep_watch_say_end(struct lpo_sweep_run *s, size_t job);
/* "2 of 8 done, 1 failed, 2 running, 3 waiting"; `why` they wait, or NULL. */
void lpo_sweep_watch_show(struct lpo_sweep_run *s, const char *why);

/* The batch script and the answers of Slurm's commands as text. Private to sweep/;
 * apart from slurm.c so that they are tested without a cluster. */

extern const struct lpo_sweep_key lpo_sweep_slurm_keys[];

/* The script of one array job: the jobs `first` to `past` (rows of the plan) that are `wanted`, of
 * which task k is job offset + k. */
int lpo_sweep_slurm_script(const struct lpo_sweep_run *s, const bool *wanted, size_t first,
                           size_t past, int64_t offset, struct lpo_str *out, struct lpo_err *err);

/* A time limit as sbatch takes it, in seconds: minutes, m:s, h:m:s, d-h, d-h:m, d-h:m:s. 0: none of
 * these. */
int64_t lpo_sweep_slurm_seconds(const char *text);

/* One line of `squeue -h -r -o "%F|%K|%T|%r"`. False: not a task of an array. */
struct lpo_sweep_slurm_task {
    char id[24];
    int64_t task;
    bool running;
    char reason[80]; /* why it waits; "" */
};

bool lpo_sweep_slurm_read_task(const char *line, size_t len, struct lpo_sweep_slurm_task *out);
/* The id in the answer of `sbatch --parsable`: "17" or "17;cluster". */
bool lpo_sweep_slurm_read_id(const char *answer, size_t len, char out[24]);
/* JobState and Reason of `scontrol -o show job`: "TIMEOUT", "NODE_FAIL (None)". */
void lpo_sweep_slurm_read_state(const char *answer, size_t len, struct lpo_str *out);
