/* SPDX-License-Identifier: Apache-2.0 */
/* region/windows.h - when the outer regions were open, on the clock of the trace.
 *
 * For joining a trace with something sampled beside it. Windows of one region that overlap
 * (threads, ranks) are one; so the time of all its windows is time that passed. Push/pop regions
 * only. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;

struct lpo_region_window {
    uint32_t node; /* of the tree */
    int64_t start_ns, end_ns;
};

struct lpo_region_windows {
    LPO_VEC(struct lpo_region_window) rows; /* by node, then time; none overlap */
};

/* Of regions up to `depth` levels below the top ones (0: only those). What lies in what: as in
 * trace/host.h. */
struct lpo_region_windows *lpo_region_windows_create(const struct lpo_region_tree *tree,
                                                     unsigned depth);
void lpo_region_windows_destroy(struct lpo_region_windows *w); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_windows);
