/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/steady.h - the steady part of a trace: without loading and warming up.
 *
 * Tables without the regions that prepare (analysis/phases/phases.h). */
#pragma once

#include "analysis/wall/wall.h"
#include "region/scope.h"

struct lpo_analysis;

struct lpo_wall_steady {
    const bool *prepares, *places;      /* per node of the tree and per place: of the phases */
    bool any;                           /* some node prepares */
    struct lpo_region_cells cells;      /* of the steady part; all but `cells.cells` is borrowed */
    const struct lpo_wall *wall;        /* of the steady part; NULL where launches were skipped */
    const struct lpo_region_scope *all; /* its region table */
    lpo_top_rows top;                   /* its kernels by name, most expensive first */
    /* where some node prepares: else everything above is that of the whole trace */
    struct lpo_wall *own_wall;
    struct lpo_region_scope *own_all;

    /* sums over all kernels */
    int64_t class_ns[LPO_CLASSES], kernel_ns;
    uint64_t launches;
};

/* Borrows the analysis. */
struct lpo_wall_steady *lpo_wall_steady_create(const struct lpo_analysis *a);
void lpo_wall_steady_destroy(struct lpo_wall_steady *w); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_wall_steady);
