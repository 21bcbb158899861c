/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/phases/phases.h - which part of a run comes once, and which is steady.
 *
 * A program loads, warms up and compiles once; the time that people wait for is the rest. This is
 * the one answer to "is this steady?": findings, limits, summaries, windows and ladders ask it and
 * have no rule of their own. What comes once:
 *
 *   prepare     a region whose outermost range is named load, warm-up or the like
 *   first call  the first visit of a range or call of an operator, much longer than later ones, and
 *               the first of ranges that differ in numbers only (step0, step1, …)
 *   compile     torch.compile at work, modules loaded by the driver
 *
 * Names are in conf/rules/steps.yaml. Made once from a tree and its steps, then const. */
#pragma once

#include "util/base.h"

struct lpo_program_steps;
struct lpo_region_tree;

enum lpo_run_phase {
    LPO_PHASE_STEADY,
    LPO_PHASE_PREPARE,
    LPO_PHASE_FIRST_CALL,
    LPO_PHASE_COMPILE,
};

/* A stretch of time in which a process does what it does once. */
struct lpo_phase_stretch {
    int64_t start_ns, end_ns;
    uint16_t process;
    uint8_t phase; /* enum lpo_run_phase, never steady */
};

/* The first visit of a range, or first call of an operator with these input shapes, that took at
 * least twice as long as the median of at least three later ones. */
struct lpo_first_call {
    int64_t start_ns, end_ns, later_ns; /* later: the median of the others */
    int64_t idle_ns;                    /* for findings: idle time that was counted as its own */
    size_t later;                       /* how many others */
    uint32_t name;
    uint16_t process;
    bool numbered; /* the others are not of this name: theirs differ from it in numbers */
};

typedef LPO_VEC(struct lpo_first_call) lpo_first_calls;

/* The time that a person waits for, of one process. With steps: from the start of the first steady
 * step to the end of the last one, or of the GPU work it launched if that is later; without: from
 * the first to the last event of the threads that launch GPU work, and of that work. */
struct lpo_phases_window {
    int64_t start_ns, end_ns;
    uint16_t process;
    size_t first_step, steps; /* rows of the program's steps; 0 steps: it has none */
};

struct lpo_phases {
    bool *nodes;        /* per node of the tree: it prepares */
    bool *places;       /* the same per place */
    bool any_prepares;  /* of them some do */
    bool *steady_steps; /* per step; NULL: the program has none */
    lpo_first_calls
        first_calls; /* each at least 1 % of the span longer than later; longest first */
    LPO_VEC(struct lpo_phase_stretch) once;    /* by process and time; they do not overlap */
    LPO_VEC(struct lpo_phases_window) windows; /* by process, of those that have one */
};

/* `steps` may be NULL: the program has none. */
struct lpo_phases *lpo_phases_create(const struct lpo_region_tree *tree,
                                     const struct lpo_program_steps *steps);
void lpo_phases_destroy(struct lpo_phases *p); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_phases);

/* What a process does at a moment. */
enum lpo_run_phase lpo_phases_at(const struct lpo_phases *p, uint16_t process, int64_t ns);
/* How much of [start, end) is not steady. */
int64_t lpo_phases_once_ns(const struct lpo_phases *p, uint16_t process, int64_t start_ns,
                           int64_t end_ns);
/* NULL: nothing is known of this process. */
const struct lpo_phases_window *lpo_phases_window_of(const struct lpo_phases *p, uint16_t process);

/* Does a region prepare? By its path, as lpo_region_add_path() writes it. */
bool lpo_phases_path_prepares(const char *path);
