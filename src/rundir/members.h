/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/members.h - the folders of the other ranks inside a run folder: ranks/rank3.
 *
 * Where one lpo ran in each task of a job, rank 0 moves their traces into its own folders at the
 * end. What it did not move is read where it is: files that each machine has of its own (nsys,
 * NVML, counters), and everything where rank 0 was lost before the end. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lpo_arena;

/* "ranks/rank1", "ranks/rank2", … by number, and how many. Links are not followed. */
size_t lpo_rundir_members(struct lpo_arena *a, const char *dir, const char ***out);
/* 3 for "ranks/rank3/nsys/run.sqlite"; -1: not in the folder of another rank. */
int32_t lpo_rundir_member_rank(const char *file);
