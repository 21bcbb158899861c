/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/private.h - what timeline.c and wall.c share: operations in order, unions. */
#pragma once

#include "analysis/wall/order.h"
#include "trace/trace.h"

struct lpo_region_tree;

/* A union of intervals that come in order of their starts. */
struct lpo_wall_cover {
    int64_t end_ns, sum_ns;
};

static inline void lpo_wall_cover_add(struct lpo_wall_cover *c, const struct lpo_gpu_op *op)
{
    if (op->start_ns > c->end_ns)
        c->end_ns = op->start_ns;
    if (op->end_ns > c->end_ns) {
        c->sum_ns += op->end_ns - c->end_ns;
        c->end_ns = op->end_ns;
    }
}

/* The latest end so far on a device, of operations set aside too. */
struct lpo_wall_edge {
    int64_t end_ns;
    bool aside;
    size_t window; /* lpo_wall_window() of the operation that ended last */
};

/* Idle time before `op`: none where an operation set aside borders on it, and none between two
 * windows, where what ran was not recorded. */
static inline int64_t lpo_wall_edge_move(struct lpo_wall_edge *e, const struct lpo_gpu_op *op,
                                         bool aside, size_t window)
{
    bool known = !aside && !e->aside && window == e->window;
    int64_t idle_ns = op->start_ns > e->end_ns && known ? op->start_ns - e->end_ns : 0;

    if (op->start_ns > e->end_ns)
        e->end_ns = op->start_ns;
    if (op->end_ns >= e->end_ns)
        *e = (struct lpo_wall_edge){ op->end_ns, aside, window };
    return idle_ns;
}

/* Is the kernel of this name communication? */
bool lpo_wall_communicates(const struct lpo_region_tree *t, uint32_t name);
