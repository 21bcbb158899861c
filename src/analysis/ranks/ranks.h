/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/ranks.h - the ranks of a job beside each other: their clocks, and who waits for
 * whom.
 *
 * Collectives are matched across ranks: those of one group, kind, type and size, in their order.
 * A collective that every rank takes part in ends everywhere at the same moment, whenever each of
 * them came to it. So the difference of two clocks is the median of the differences of those ends,
 * and its error is their median distance from it. Where there are enough of them and they change
 * with time by more than they scatter, the difference is a line over time: an offset in the middle
 * and a drift. Where ranks recorded different parts of the job, the difference is looked for that
 * most pairs of ends agree about.
 *
 * With the clocks aligned, a collective has an arrival for each rank, the start of its kernel
 * there. Until the last one has arrived the others wait; from then on data is sent. Whoever comes
 * last by more than the error of the clocks is late. That is said only of complete collectives:
 * where a rank of the group was not recorded, the others may wait for that one, and a sender waits
 * for nobody. Times of one rank are not changed by any of this. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;

struct lpo_rank_row {
    int32_t rank;
    bool aligned;                   /* its clock could be compared with that of the first rank */
    bool other_run;                 /* what it did does not fit what the others did: not aligned */
    int64_t offset_ns, error_ns;    /* its clock minus that of the first rank … */
    int64_t middle_ns;              /* … at this moment on its own clock */
    double drift;                   /* seconds that it gains in a second; 0: none can be seen */
    double fit;                     /* part of the ends it was found by, of those it could be */
    uint64_t collectives;           /* kernels */
    uint64_t matched;               /* of them with a counterpart on another rank */
    int64_t waiting_ns, sending_ns; /* of the complete ones */
    /* of the exposed communication of its wall time; they add up to it. Unknown: not complete */
    int64_t exposed_waiting_ns, exposed_sending_ns, exposed_unknown_ns;
    uint64_t late;    /* collectives at which it was the last by more than the error */
    int64_t delay_ns; /* after the second to last, summed over those */
};

/* Collectives of one kind and size. */
struct lpo_rank_collective {
    const char *kind;         /* static */
    struct lpo_measure bytes; /* of a message */
    uint32_t ranks;           /* that were seen at it, at most */
    uint64_t calls;
    int64_t skew_ns, max_skew_ns; /* first to last arrival: median, largest */
    int64_t transfer_ns;          /* last arrival to the last end: median */
    struct lpo_measure bus_rate;  /* without the waiting, by the median */
    int32_t late_rank;            /* most often last; -1: nobody beyond the error */
    uint64_t late_calls;
};

/* What the rank with the largest delay did while the others waited for it. */
struct lpo_rank_late {
    int64_t compute_ns, other_ns, idle_ns; /* of its device, in the time that it was late */
    uint32_t kernel;                       /* name of the kernel with most of it; LPO_NONE */
    int64_t kernel_ns;
};

struct lpo_ranks {
    LPO_VEC(struct lpo_rank_row) rows;               /* by rank */
    LPO_VEC(struct lpo_rank_collective) collectives; /* most waiting first */
    size_t latest;                                   /* into rows; == rows.len: nobody is late */
    struct lpo_rank_late late;
    uint64_t matched;        /* collectives that at least two ranks recorded */
    uint64_t complete;       /* of them: all ranks of the group did, and each waits for all */
    struct ranks_kept *kept; /* private: the collectives themselves */
};

/* A moment of the rank's own clock on that of the first rank, and back. */
int64_t lpo_ranks_common_ns(const struct lpo_rank_row *r, int64_t own_ns);
int64_t lpo_ranks_own_ns(const struct lpo_rank_row *r, int64_t common_ns);

/* NULL: fewer than two ranks, or no collectives. */
struct lpo_ranks *lpo_ranks_create(const struct lpo_region_tree *tree);
void lpo_ranks_destroy(struct lpo_ranks *r); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_ranks);
