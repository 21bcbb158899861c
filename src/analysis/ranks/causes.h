/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/causes.h - what the ranks of a job wait for, and what each of that costs the job.
 *
 * Ranks that do the same between the same two collectives are compared stretch by stretch: a cause
 * is a rank that computes longer there, or whose device is idle longer, than their median; a group
 * of ranks that sends slower than other groups do; stages of a pipeline that wait for each other.
 * Its saving is the wall time of the job less that of the job run again without it (lives.h).
 *
 * The ladder of one rank, the observer, shows them: it is the one that causes least itself, so what
 * the others cause is the time that its collectives take longer. */
#pragma once

#include "util/base.h"

struct lpo_program_steps;
struct lpo_ranks;
struct lpo_region_tree;

enum lpo_rank_cause_kind {
    LPO_RANK_CAUSE_COMPUTE, /* it computes longer */
    LPO_RANK_CAUSE_EXPERTS, /* the same between two all-to-alls */
    LPO_RANK_CAUSE_HOST,    /* its GPU is idle longer */
    LPO_RANK_CAUSE_PAUSE,   /* either, in one stretch */
    LPO_RANK_CAUSE_LINK,    /* a group sends slower */
    LPO_RANK_CAUSE_BUBBLES, /* stages of a pipeline wait for each other */
    LPO_RANK_CAUSE_UNEVEN,  /* now one rank is last, now another */
};

struct lpo_rank_cause {
    enum lpo_rank_cause_kind kind;
    int32_t rank;              /* LINK: the first of the group; -1: no single one */
    uint16_t device;           /* of it */
    int64_t saving_ns;         /* of the job, by itself */
    int64_t own_ns, usual_ns;  /* LINK: of one collective; else what it has more, and all of it */
    int64_t first_ns, last_ns; /* of the stretches that are longer: clock of the observer */
    uint32_t name; /* the kernel that is slower, the range that the host was in; LPO_NONE */
    int64_t name_ns, name_usual_ns;
    const char *collective; /* LINK: its kind; static */
    struct lpo_measure bytes;
    uint32_t ranks;         /* LINK: of the group */
    LPO_VEC(int64_t) times; /* of the longer stretches, on the clock of the observer */
    int64_t *less_ns;       /* per collective of the observer: what it would be shorter */
};

/* A collective on one rank. */
struct lpo_rank_wait {
    int64_t ns;        /* until the last rank came */
    uint32_t op;       /* row of gpu_ops */
    uint32_t observed; /* of the observer: place in `less_ns`; else LPO_NONE */
};

struct lpo_ranks_causes {
    LPO_VEC(struct lpo_rank_cause) rows; /* most saving first */
    int32_t observer;                    /* rank; -1: there is no job to run again */
    LPO_VEC(struct lpo_rank_wait) waits; /* by op; those of the observer, and who waited */
};

/* NULL: the ranks cannot be put together. */
struct lpo_ranks_causes *lpo_ranks_causes_create(const struct lpo_region_tree *tree,
                                                 const struct lpo_program_steps *steps,
                                                 const struct lpo_ranks *r);
void lpo_ranks_causes_destroy(struct lpo_ranks_causes *c); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_ranks_causes);

/* What a GPU operation of the observer, a row of gpu_ops, would be shorter without the cause. */
int64_t lpo_ranks_causes_less(const struct lpo_ranks_causes *c, const struct lpo_rank_cause *cause,
                              uint32_t op);
/* How long a collective waited for the last rank; `c` may be NULL. */
int64_t lpo_ranks_causes_waiting(const struct lpo_ranks_causes *c, uint32_t op);
