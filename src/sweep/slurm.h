/* SPDX-License-Identifier: Apache-2.0 */
/* sweep/slurm.h - the batch script and the answers of Slurm's commands as text. Private to sweep/;
 * apart from slurm.c so that they are tested without a cluster. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sweep/launcher.h"

struct lpo_err;
struct lpo_str;

extern const struct lpo_sweep_key lpo_sweep_slurm_keys[];

/* The script of one array job: the jobs `first` to `past` (rows of the plan) that are `wanted`, of
 * which task k is job offset + k. */
int lpo_sweep_slurm_script(const struct lpo_sweep_run *s, const bool *wanted, size_t first,
                           size_t past, int64_t offset, struct lpo_str *out, struct lpo_err *err);
/* "0-2,5": the tasks of --array, without the limit of how many at once. */
void lpo_sweep_slurm_tasks(const struct lpo_sweep_run *s, const bool *wanted, size_t first,
                           size_t past, int64_t offset, struct lpo_str *out);

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
