/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/steps.h - the steps of a program on the ranks of a job: a table of ranks × steps.
 *
 * A step of one rank belongs to that of another with the same number; where the names of steps have
 * none, with the same place in the order, or, where ranks recorded different counts of steps and
 * their clocks are aligned, to the one that began nearest to it. Where there are many steps, a
 * column stands for several of them that follow each other, and its cells are sums: nothing is left
 * out.
 *
 * Bubbles: where ranks send to each other, a step of all of them lasts from its first GPU operation
 * on any rank to that of the next step (of the last one: to its last end), on one clock. What a
 * rank that sends or receives does not fill with other work is its bubble. Without ranks of sends,
 * as the framework recorded them, and without one clock nothing is said. */
#pragma once

#include "util/base.h"

struct lpo_program_steps;
struct lpo_ranks;
struct lpo_region_tree;

enum lpo_rank_step_part {
    LPO_RANK_STEP_WALL,
    LPO_RANK_STEP_COMPUTE,
    LPO_RANK_STEP_COMMUNICATION, /* exposed */
    LPO_RANK_STEP_COPY,          /* exposed */
    LPO_RANK_STEP_IDLE,
    LPO_RANK_STEP_BUBBLE, /* of a stage of a pipeline */
    LPO_RANK_STEP_PARTS
};

/* "wall", "compute", …: for people; static. */
const char *lpo_ranks_step_part_name(enum lpo_rank_step_part part);

/* The steps of one column on one rank. */
struct lpo_rank_step {
    uint32_t steps;                  /* 0: the rank did not record it */
    uint32_t on_gpu;                 /* of them with work on a GPU: the parts but wall are theirs */
    uint32_t bubbles;                /* of them whose bubble is known */
    int64_t ns[LPO_RANK_STEP_PARTS]; /* summed */
};

struct lpo_rank_step_column {
    int64_t first, last;                    /* numbers of its steps; else their places, from 0 */
    int64_t median_ns[LPO_RANK_STEP_PARTS]; /* of one step, over the ranks */
    /* The rank whose compute or idle time is furthest above the median, by more than a twentieth of
     * the step and more than four times the median distance from it; -1: none. */
    int32_t odd_rank;
    enum lpo_rank_step_part odd_part;
    int64_t odd_ns; /* above the median, of one step */
};

/* The bubbles of one rank, over all its steps that have one. */
struct lpo_rank_bubble {
    int32_t rank;
    uint64_t steps;
    int64_t step_ns;    /* length of those steps */
    int64_t bubble_ns;  /* of it: in the next two */
    int64_t idle_ns;    /* nothing ran */
    int64_t waiting_ns; /* nothing ran but sends and receives; the sending itself is in it */
};

struct lpo_ranks_steps {
    const char *family; /* who names steps so; static */
    bool numbered;      /* by the names of the steps */
    size_t steps;       /* of all ranks together: those that share a number count once */
    size_t per_column;
    uint64_t left_out;                            /* steps of a rank without a column */
    LPO_VEC(int32_t) ranks;                       /* rows, by rank */
    LPO_VEC(struct lpo_rank_step_column) columns; /* in order */
    struct lpo_rank_step *cells;                  /* row after row */
    LPO_VEC(struct lpo_rank_bubble) bubbles;      /* largest share first; of no pipeline: none */
};

/* `clocks` may be NULL. NULL: fewer than two ranks have steps. */
struct lpo_ranks_steps *lpo_ranks_steps_create(const struct lpo_region_tree *tree,
                                               const struct lpo_program_steps *steps,
                                               const struct lpo_ranks *clocks);
void lpo_ranks_steps_destroy(struct lpo_ranks_steps *s); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_ranks_steps);

static inline const struct lpo_rank_step *lpo_ranks_steps_cell(const struct lpo_ranks_steps *s,
                                                               size_t row, size_t column)
{
    return &s->cells[row * s->columns.len + column];
}
/* The steps of a cell that a part is known of. */
static inline uint32_t lpo_ranks_step_known(const struct lpo_rank_step *cell,
                                            enum lpo_rank_step_part part)
{
    return part == LPO_RANK_STEP_WALL     ? cell->steps
           : part == LPO_RANK_STEP_BUBBLE ? cell->bubbles
                                          : cell->on_gpu;
}

/* A part of one step of a cell; it must be known. */
static inline int64_t lpo_ranks_step_mean(const struct lpo_rank_step *cell,
                                          enum lpo_rank_step_part part)
{
    return cell->ns[part] / lpo_ranks_step_known(cell, part);
}
