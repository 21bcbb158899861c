/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/regions.h - regions over ranks: the least, the median and the most GPU time, and
 * the ranks that differ.
 *
 * A rank is odd in a region where its time differs from the median by more than a twentieth of it
 * and by more than four times the median difference. A rank that never entered the region has 0. */
#pragma once

#include "util/base.h"

struct lpo_region_scope;

enum { LPO_RANK_ODD = 3 /* that are named */ };

struct lpo_rank_region {
    uint32_t row; /* of the region table of the whole trace */
    int64_t min_ns, median_ns, max_ns;
    int32_t min_rank, max_rank;
    uint32_t odd;                   /* ranks that differ */
    int32_t odd_rank[LPO_RANK_ODD]; /* those that differ most */
    int64_t odd_ns[LPO_RANK_ODD];
};

struct lpo_ranks_regions {
    LPO_VEC(struct lpo_rank_region) rows; /* the largest difference first */
};

/* `all` is the region table of the whole trace. NULL: fewer than two ranks, or no region. */
struct lpo_ranks_regions *lpo_ranks_regions_create(const struct lpo_region_scope *all);
void lpo_ranks_regions_destroy(struct lpo_ranks_regions *r); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_ranks_regions);
