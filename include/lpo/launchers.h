/* SPDX-License-Identifier: Apache-2.0 */
/* lpo/launchers.h - which rank of a job this process is, from what its launcher put into the
 * environment.
 *
 * The table is the one place: the collector names its file after the rank, lpo itself (one per task
 * of srun) and the profiler in Python programs do the same. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct lpo_launcher {
    const char *name;
    const char *rank, *local_rank, *world_size; /* variables; NULL: it has none for this */
};

/* The innermost launcher comes first: torchrun under srun gives each of its processes a RANK, while
 * SLURM_PROCID is then the number of the node. */
static const struct lpo_launcher lpo_launchers[] = {
    { "torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE" }, /* accelerate, deepspeed, Ray Train too */
    { "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE" },
    { "MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE" },
    { "jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_SIZE" },
    { "MPICH", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE" }, /* Intel MPI too */
    { "Flux", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE" },
    { "Slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS" },
    { "PMIx", "PMIX_RANK", NULL, NULL },
    { "Kubernetes", "JOB_COMPLETION_INDEX", NULL, NULL }, /* a pod of an indexed job */
};

enum { LPO_LAUNCHERS = sizeof lpo_launchers / sizeof *lpo_launchers, LPO_RANK_MAX = 9999999 };

struct lpo_rank {
    const char *launcher; /* NULL: this process is not a rank; the rest is -1 */
    int32_t rank, local_rank, world_size;
};

/* -1 for anything that is not a plain number up to `most`. */
static inline int64_t lpo_launcher_number(const char *text, int64_t most)
{
    int64_t value = 0;

    if (!text || !*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = value * 10 + (*text - '0');
        if (value > most)
            return -1;
    }
    return value;
}

/* Slurm gives the batch script, and the shell of salloc, the variables of a task 0 of the job; they
 * are not one of its tasks. Only a step that srun made has an ordinary number. */
static inline bool lpo_launcher_outside_step(void)
{
    enum { LAST_STEP = 0x7fffffff };
    const char *step = getenv("SLURM_STEP_ID"), *where = getenv("ENVIRONMENT");

    if (step)
        return lpo_launcher_number(step, LAST_STEP) < 0;
    return where && strcmp(where, "BATCH") == 0;
}

static inline int32_t lpo_launcher_env(const char *name)
{
    return name ? (int32_t)lpo_launcher_number(getenv(name), LPO_RANK_MAX) : -1;
}

static inline struct lpo_rank lpo_launcher_rank(void)
{
    for (int i = 0; i < LPO_LAUNCHERS; i++) {
        const struct lpo_launcher *l = &lpo_launchers[i];
        struct lpo_rank r = { l->name, lpo_launcher_env(l->rank), lpo_launcher_env(l->local_rank),
                              lpo_launcher_env(l->world_size) };

        if (r.rank < 0 || (strcmp(l->rank, "SLURM_PROCID") == 0 && lpo_launcher_outside_step()))
            continue;
        if (r.world_size <= r.rank) /* it cannot be the size of the job that this rank is in */
            r.world_size = -1;
        return r;
    }
    return (struct lpo_rank){ NULL, -1, -1, -1 };
}

/* run.ranks as one word: "all", "node" (the first of each node), or numbers with commas between
 * them. What is not a rank, and what cannot be decided, is chosen: a trace too many can be left
 * out later, a missing one cannot be had. */
static inline bool lpo_launcher_chosen(const struct lpo_rank *r, const char *ranks)
{
    if (!r->launcher || !ranks || !*ranks || strcmp(ranks, "all") == 0)
        return true;
    if (strcmp(ranks, "node") == 0)
        return r->local_rank <= 0;
    while (*ranks) {
        char number[12] = { 0 };
        size_t len = strcspn(ranks, ",");

        if (len < sizeof number) {
            memcpy(number, ranks, len);
            if (lpo_launcher_number(number, LPO_RANK_MAX) == r->rank)
                return true;
        }
        ranks += len + (ranks[len] == ',');
    }
    return false;
}
