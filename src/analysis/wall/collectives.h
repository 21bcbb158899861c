/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/collectives.h - collectives by kind and size: how long, how much of it exposed, how
 * fast.
 *
 * A collective is a kernel of class collective. Its kind is the one that the framework recorded,
 * else what its name says. Exposed is the time in which no kernel that computes ran on the same
 * GPU; collectives that run beside each other are exposed each for itself, so rows may add up to
 * more than the exposed communication of the wall time, which counts such time once.
 *
 * Algorithm and bus bandwidth are defined as in nccl-tests: bytes of the message over the time of
 * the kernel, and that times 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter and
 * all-to-all, 1 else; n are the ranks of the group. The message is what a rank sends in an
 * all-reduce, reduce-scatter, all-to-all and broadcast, and what it receives in an all-gather. A
 * kernel also waits for the other ranks, so the links were at least that fast. */
#pragma once

#include "util/base.h"

struct lpo_collective;
struct lpo_reference;
struct lpo_reference_answer;
struct lpo_region_tree;
struct lpo_trace;

struct lpo_collective_row {
    const char *kind;         /* "all-reduce"; static */
    struct lpo_measure bytes; /* of one message; unknown: the source does not say */
    uint32_t dtype;           /* name id; LPO_NONE: the source does not say */
    uint32_t ranks;           /* of the group; 0: not known */
    uint32_t group;           /* name id; LPO_NONE: the source does not say */
    uint64_t calls;
    int64_t ns, min_ns, max_ns; /* of the kernels */
    int64_t exposed_ns;
    bool exposed_unknown;             /* some ran in CUDA graphs timed as a whole */
    struct lpo_measure rate;          /* bytes per second over all calls of the row */
    struct lpo_measure bus_rate;      /* the same as it loads the busiest link */
    struct lpo_measure best_bus_rate; /* of the fastest call */
};

/* Behind which computing kernels the time of collectives is hidden: the rows of one kind add up to
 * its time less its exposed time. */
struct lpo_wall_hiding_row {
    const char *kind; /* of the collective; static */
    uint32_t kernel;  /* name of the one that computes */
    uint32_t region;  /* node that it was launched in; LPO_NONE: none */
    bool backward;    /* it was launched in none: `region` is that of its forward */
    int64_t ns;
    uint64_t overlaps; /* times that one of these kernels hid a part of one collective */
};

struct lpo_wall_hiding {
    LPO_VEC(struct lpo_wall_hiding_row) rows; /* most time first */
    uint64_t left_out; /* collectives that were not looked at: too much work */
};

struct lpo_wall_collectives {
    LPO_VEC(struct lpo_collective_row) rows; /* most time first */
    struct lpo_wall_hiding hiding;
};

/* Of the whole trace, all GPUs together. */
struct lpo_wall_collectives *lpo_wall_collectives_create(const struct lpo_region_tree *tree);
void lpo_wall_collectives_destroy(struct lpo_wall_collectives *c); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_wall_collectives);

/* What the framework said about a collective kernel, a row of gpu_ops; NULL: nothing. */
const struct lpo_collective *lpo_wall_collective_said(const struct lpo_trace *t, uint32_t op);
/* Bytes of its message; `said` may be NULL. */
struct lpo_measure lpo_wall_collective_bytes(const struct lpo_trace *t,
                                             const struct lpo_collective *said);
/* How many times that loads the busiest link of a group of ranks, by the kind's name. */
double lpo_wall_collective_traffic(const char *kind, uint32_t ranks);

/* NCCL's best measured time for a message of so many bytes among so many GPUs of one node. False
 * where that was not measured. */
bool lpo_wall_collective_best(const struct lpo_reference *r, const char *kind, uint32_t ranks,
                              struct lpo_measure bytes, struct lpo_reference_answer *out);

/* The kind that a text of the source or the name of a kernel means: "allreduce",
 * "_allgather_base", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL". "other" where it says none. */
const char *lpo_wall_collective_kind(const char *text);
