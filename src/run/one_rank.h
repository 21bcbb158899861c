/* SPDX-License-Identifier: Apache-2.0 */
/* run/one_rank.h - a tool around the program in one rank of a job, with lpo outside the launcher.
 *
 * "ncu … mpirun -n 8 ./train" would measure all eight ranks. Between the launcher and the program
 * stands lpo itself: "mpirun -n 8 lpo __rank 0 5 ncu a b c d ./train" starts the five words before
 * the program in rank 0, and the program alone in the others. A launcher that starts Python by
 * itself (torchrun train.py) has no word for the program: there our sitecustomize, imported by each
 * interpreter at its start, becomes the tool in the one rank (workloads/lpo_sitecustomize/). */
#pragma once

#include "run/step.h"

struct lpo_json_writer;
struct lpo_node;

enum lpo_one_rank_way {
    LPO_ONE_RANK_NONE,   /* the program is no launcher that is known here */
    LPO_ONE_RANK_WORDS,  /* its words have the program at `at` */
    LPO_ONE_RANK_PYTHON, /* it starts Python */
};

struct lpo_one_rank {
    enum lpo_one_rank_way way;
    const char *launcher; /* "mpirun" */
    size_t at;
};

/* LPO_E_CONFIG where the launcher is known and the program cannot be found in its words. */
int lpo_run_one_rank_find(const char *const *argv, size_t argc, struct lpo_one_rank *out,
                          struct lpo_err *err);
/* The words of `o` with the tool in between, or the variable for Python. May be called again. */
void lpo_run_one_rank_wrap(struct lpo_arena *a, const struct lpo_one_rank *o, int32_t rank,
                           const struct lpo_words *tool, const struct lpo_words *program,
                           struct lpo_step *step);

/* lpo __rank RANK COUNT TOOL… PROGRAM…: becomes one of them; returns only where it cannot. */
int lpo_run_one_rank_main(int argc, const char *const *argv);

/* Which ranks of a job are profiled: run.ranks.
 *
 * Which rank a process is, and the launchers that say so: lpo/launchers.h. */

/* As the collector takes it in LPO_COLLECT_RANKS: "all", "node", or numbers with commas. */
const char *lpo_run_ranks_word(struct lpo_arena *a, const struct lpo_node *config);
/* The one that is measured where only one can be: the first that run.ranks names, else 0. */
int32_t lpo_run_ranks_first(struct lpo_arena *a, const struct lpo_node *config);
/* The first, and the table of launchers, as members of an object for the profiler in Python
 * programs. */
void lpo_run_ranks_json(struct lpo_arena *a, const struct lpo_node *config,
                        struct lpo_json_writer *w);
void lpo_run_ranks_launchers_json(struct lpo_json_writer *w); /* the table alone */
