/* SPDX-License-Identifier: Apache-2.0 */
/* run/ranks.h - which ranks of a job are profiled: run.ranks.
 *
 * Which rank a process is, and the launchers that say so: lpo/launchers.h. */
#pragma once

#include <stdint.h>

struct lpo_arena;
struct lpo_json_writer;
struct lpo_node;

/* As the collector takes it in LPO_COLLECT_RANKS: "all", "node", or numbers with commas. */
const char *lpo_run_ranks_word(struct lpo_arena *a, const struct lpo_node *config);
/* The one that is measured where only one can be: the first that run.ranks names, else 0. */
int32_t lpo_run_ranks_first(struct lpo_arena *a, const struct lpo_node *config);
/* The first, and the table of launchers, as members of an object for the profiler in Python
 * programs. */
void lpo_run_ranks_json(struct lpo_arena *a, const struct lpo_node *config,
                        struct lpo_json_writer *w);
void lpo_run_ranks_launchers_json(struct lpo_json_writer *w); /* the table alone */
