/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/balance.h - is the work of the ranks equal? By numbers that the program gave with
 * its ranges (tokens, batch sizes) and by the sizes of all-to-alls, which carry tokens to experts.
 *
 * Of each rank the sum is compared; where ranks have different counts of calls, the mean of a call.
 * Where all have as many calls, the first of each belong together and so on: what a job waits for
 * is the largest of each call, so `call_ratio` is the sum of those over the sum of the means. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;

enum lpo_rank_balance_kind {
    LPO_BALANCE_NUMBER,   /* of the program */
    LPO_BALANCE_RECEIVED, /* elements of all-to-alls */
    LPO_BALANCE_SENT
};

struct lpo_rank_balance {
    enum lpo_rank_balance_kind kind;
    uint32_t node;  /* NUMBER: its region; LPO_NODE_OUTSIDE: none */
    uint32_t name;  /* NUMBER: LPO_NONE is the payload of the range */
    uint32_t group; /* all-to-all: name id of the group of ranks, or of its list; LPO_NONE */
    uint32_t ranks;
    uint64_t calls; /* of the rank with most of them */
    bool per_call;  /* ranks have different counts of calls, so means are compared */
    double mean, least, most;
    int32_t least_rank, most_rank;
    double ratio;                  /* most over mean */
    struct lpo_measure call_ratio; /* unknown: calls of the ranks cannot be put together */
};

struct lpo_ranks_balance {
    LPO_VEC(struct lpo_rank_balance) rows; /* largest ratio first */
};

/* NULL: nothing of that kind was recorded by two ranks. */
struct lpo_ranks_balance *lpo_ranks_balance_create(const struct lpo_region_tree *tree);
void lpo_ranks_balance_destroy(struct lpo_ranks_balance *b); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_ranks_balance);
