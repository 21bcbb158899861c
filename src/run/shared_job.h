/* SPDX-License-Identifier: Apache-2.0 */
/* run/shared_job.h - one lpo in each task of a job (srun lpo run -- …), one run folder.
 *
 * Rank 0 makes the folder and writes the number of the job into it. Every other rank waits for
 * that, and has a run folder of its own inside, ranks/rank3, with its own manifest and logs: no two
 * processes write one file. At the end rank 0 moves what the ranks recorded to where the traces of
 * a run are, and notes in its manifest what became of each. All waiting has a limit. */
#pragma once

#include "lpo/launchers.h"
#include "util/base.h"

struct lpo_manifest;

struct lpo_shared_job {
    struct lpo_rank rank;
    const char *id;   /* the same in every task, another one in the next job; a file name */
    const char *dir;  /* the run folder of all, absolute */
    bool leads;       /* rank 0 */
    int64_t limit_ns; /* how long anybody is waited for */
};

/* False: this lpo is not one of several tasks. */
bool lpo_run_shared_job_find(struct lpo_arena *a, struct lpo_shared_job *out);
/* Rank 0, before it makes the folder: LPO_E_USAGE where a run is there already. */
int lpo_run_shared_job_check(struct lpo_arena *a, const struct lpo_shared_job *j,
                             struct lpo_err *err);
/* Rank 0, in the folder that is not published yet. */
int lpo_run_shared_job_mark(const struct lpo_shared_job *j, const char *dir, struct lpo_err *err);
/* The others: 1 the folder is there, 0 it did not come (a disk that is not shared, or rank 0
 * ended), LPO_E_USAGE where it is that of another job. */
int lpo_run_shared_job_wait(struct lpo_arena *a, const struct lpo_shared_job *j,
                            struct lpo_err *err);
/* Where a rank's own run folder is. */
const char *lpo_run_shared_job_member(struct lpo_arena *a, const struct lpo_shared_job *j,
                                      int32_t rank);
/* Rank 0, after its last stage: waits for the others, moves their traces, notes what they say.
 * Gives how many ranks did not end well. */
unsigned lpo_run_shared_job_gather(struct lpo_manifest *m, const struct lpo_shared_job *j);
