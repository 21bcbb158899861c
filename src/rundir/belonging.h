/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/belonging.h - what of a folder belongs together.
 *
 * Tools leave the ranks of a job, stages, later recordings and whole other programs in one folder.
 * Traces are one group where their names differ in the number of a rank alone, or where they say
 * that they are ranks of one world and began at about the same time. What says that it is of
 * another job, or is the same rank again, is in another group. */
#pragma once

#include "util/base.h"

struct lpo_rundir_group {
    const char *name; /* "1700000-TP-*-DECODE": of its files, relative to the folder */
    LPO_VEC(const char *) files;
};

struct lpo_rundir_groups {
    LPO_VEC(struct lpo_rundir_group) all; /* by name */
    LPO_VEC(const char *) left;           /* files that lpo does not read, relative */
};

/* Looks at the beginning of each file. Texts live in the arena. */
int lpo_rundir_groups_find(struct lpo_arena *a, const char *dir, struct lpo_rundir_groups *out,
                           struct lpo_err *err);
/* The rank that a name says: "rank3.json", "trace_rank_3.json.gz", "r3.json", "rank3/trace.json",
 * SGLang's "…-TP-3.trace.json.gz". -1: it says none. */
int32_t lpo_rundir_rank_of_name(const char *path);
/* The ranks of files whose names differ in numbers of ranks alone ("…-TP-1-DP-0", "report_3"),
 * counted from 0 in their order; -1 for all where the names say nothing of that kind. */
void lpo_rundir_name_ranks(struct lpo_arena *a, const char *const *names, size_t count,
                           int32_t *ranks);
void lpo_rundir_groups_free(struct lpo_rundir_groups *g);

/* The folders of the other ranks inside a run folder: ranks/rank3.
 *
 * Where one lpo ran in each task of a job, rank 0 moves their traces into its own folders at the
 * end. What it did not move is read where it is: files that each machine has of its own (nsys,
 * NVML, counters), and everything where rank 0 was lost before the end. */

/* "ranks/rank1", "ranks/rank2", … by number, and how many. Links are not followed. */
size_t lpo_rundir_members(struct lpo_arena *a, const char *dir, const char ***out);
/* 3 for "ranks/rank3/nsys/run.sqlite"; -1: not in the folder of another rank. */
int32_t lpo_rundir_member_rank(const char *file);
