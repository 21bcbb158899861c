/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/lives.h - a rank as its stretches between collectives, and the job made of them.
 *
 * A device computes, copies, is idle, or only waits in a collective. Without the last it has a
 * clock of its own, which stands still while it waits: its position. A collective is posted at a
 * position; where the device then had nothing else to do until it ended, it is joined at one. What
 * lies between two posts is a stretch: so long, so much of it computing, copying, idle.
 *
 * That is all that is kept of a rank, and all that the job is made of: a collective ends when the
 * last of its ranks has posted it and the data was sent. Run as it is, that gives the measured
 * times; with a stretch shorter, what the job would take then. */
#pragma once

#include "analysis/ranks/private.h"

enum ranks_part { RANKS_COMPUTE, RANKS_COPY, RANKS_IDLE, RANKS_PARTS };

/* A collective on one rank, and the stretch before it. Times are on the clock of the first rank. */
struct ranks_stop {
    int64_t start_ns, end_ns;
    int64_t post_ns;            /* it is asked for: before its start where its stream was busy */
    int64_t at_ns;              /* the position at that moment */
    int64_t parts[RANKS_PARTS]; /* of the stretch before it */
    int64_t more[RANKS_PARTS];  /* than the median of the ranks that do the same, else of the
                                 * kernels in it */
    int64_t wait_ns, send_ns;   /* until the last rank came; from then on */
    uint64_t same;              /* equal on ranks that do the same before it; 0: nobody else does */
    uint32_t op;                /* row of gpu_ops */
    uint32_t meeting;           /* LPO_NONE: no other rank is known to take part */
    uint32_t family;
    uint16_t line; /* the stream, as the life numbers them */
    bool alone;    /* it ended before the last one came */
    bool compared; /* other ranks do the same before it */
    bool odd;      /* one of `more` is more than the ranks differ by anyway */
};

/* Position and moment at which the device waited until this collective had ended. */
struct ranks_join {
    int64_t at_ns, ns;
    uint32_t stop;
};

struct ranks_life {
    uint32_t row; /* of the ranks */
    uint16_t device;
    uint16_t lines;
    int64_t start_ns, end_ns;         /* on the clock of the first rank */
    int64_t start_at_ns, end_at_ns;   /* positions of both */
    LPO_VEC(struct ranks_stop) stops; /* by start */
    LPO_VEC(struct ranks_join) joins; /* by moment */
};

struct ranks_lives {
    LPO_VEC(struct ranks_life) all; /* by rank */
    uint32_t meetings;
    uint32_t *members; /* of each meeting: how many lives */
    const ranks_families *families;
    int64_t start_ns, end_ns;
    int64_t gaps_ns; /* of that, between the windows that were recorded of the job */
};

struct lpo_program_steps;

void lpo_ranks_lives_find(const struct lpo_region_tree *tree, const struct lpo_program_steps *steps,
                          const struct lpo_ranks *r, struct ranks_lives *out);
void lpo_ranks_lives_free(struct ranks_lives *l);

/* What is changed. */
struct ranks_change {
    uint32_t life;      /* LPO_NONE: none; UINT32_MAX - 1: all */
    unsigned parts;     /* bits: those that become the median of the others */
    uint32_t only_stop; /* LPO_NONE: all of its stretches */
    bool only_odd;
    uint64_t link;       /* of this group of ranks … ; 0: none */
    const double *rates; /* … per family: sending takes that part of the time */
    bool free_sends;     /* whoever receives does not wait for the sender */
};
enum { RANKS_ALL_LIVES = UINT32_MAX - 1 };

/* When the collectives of one life begin and end; room for as many as it has. */
struct ranks_times {
    uint32_t life;
    int64_t *start_ns, *end_ns;
};

/* The wall time; -1: it does not come to an end. `times` may be NULL. */
int64_t lpo_ranks_lives_run(const struct ranks_lives *l, const struct ranks_change *c,
                            const struct ranks_times *times);
/* Equal for families of the same ranks. */
uint64_t lpo_ranks_group_of(const struct ranks_family *f);
