/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/jobs.h - are the ranks that were given those of one job?
 *
 * Two traces of different jobs can have ranks that fit together. What they say of their jobs does
 * not: its number of ranks, the size of the group of all of them, the day it ran. Then they can be
 * laid beside each other, and nothing that one rank did says anything about another. */
#pragma once

#include "util/base.h"

struct lpo_trace;

enum lpo_ranks_apart {
    LPO_RANKS_ONE_JOB,  /* or nothing says otherwise */
    LPO_RANKS_WORLDS,   /* they say different numbers of ranks */
    LPO_RANKS_GROUPS,   /* the group of all ranks has different sizes */
    LPO_RANKS_OVERFULL, /* a rank has a number that its job does not have */
    LPO_RANKS_TIMES,    /* they were recorded days apart */
};

struct lpo_ranks_jobs {
    enum lpo_ranks_apart why;
    int64_t a, b; /* the two numbers of ranks; the rank and the number of ranks; a: the days */
};

struct lpo_ranks_jobs lpo_ranks_jobs(const struct lpo_trace *t);
