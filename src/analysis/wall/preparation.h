/* analysis/wall/preparation.h - a trace without loading and warming up: the time that somebody
 * waits for.
 *
 * A region prepares when the outermost range of its path is named for it: load, loading,
 * load_model, load_weights, model_load, warmup or warm_up, in any case and with - or a space for
 * the _, and a number behind it or not. The marks of lpo's own workloads are among them. Whoever
 * tells what can be won leaves those regions out by this one rule. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "region/cells.h"
#include "util/auto.h"

struct lpo_analysis;
struct lpo_wall_timeline;

/* By the path as lpo_region_add_path() writes it. */
bool lpo_wall_path_prepares(const char *path);

struct lpo_wall_steady {
    bool *nodes;                        /* per node of the tree: it prepares */
    bool *places;                       /* the same per place */
    bool any;                           /* some node does */
    struct lpo_region_cells cells;      /* without theirs; all but `cells.cells` is borrowed */
    struct lpo_wall_timeline *timeline; /* without theirs; NULL where the analysis has none */
};

/* Borrows the analysis. */
struct lpo_wall_steady *lpo_wall_steady_create(const struct lpo_analysis *a);
void lpo_wall_steady_destroy(struct lpo_wall_steady *w); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_wall_steady);
