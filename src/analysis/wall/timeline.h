/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/timeline.h - when the GPUs were busy, and why they were not.
 *
 * Per device: span is first start to last end; busy the union of all GPU operations; idle the rest
 * of the span; compute the union of kernels that are not communication; communication the union of
 * the kernels of class collective; exposed what of it no compute covers.
 *
 * Per (device, stream): a gap lies between the latest end so far and the next start. Its cause is
 * *host* when the launch call of the next operation began after that end, else *dependency* when it
 * is shorter than 30 us, else *other*; without a launch record it is never *host*.
 *
 * A gap lies inside a region when the operations on both sides of it do. */
#pragma once

#include "region/tree.h"

#define LPO_DEPENDENCY_NS 30000

enum lpo_gap_cause { LPO_GAP_HOST, LPO_GAP_DEPENDENCY, LPO_GAP_OTHER, LPO_GAP_CAUSES };

const char *lpo_wall_gap_name(enum lpo_gap_cause cause); /* "host", "dependency", "other" */

struct lpo_gap_sum {
    uint64_t count;
    int64_t ns;
};

struct lpo_gaps {
    struct lpo_gap_sum by[LPO_GAP_CAUSES];
};

int64_t lpo_wall_gaps_ns(const struct lpo_gaps *g);

struct lpo_stream_time {
    struct lpo_gaps gaps;
    int64_t start_ns, end_ns, busy_ns;
    uint64_t gpu_ops;
    uint32_t stream;
    uint16_t device;
    uint32_t last_place; /* of the operation that ended last; while building, as the next */
    size_t last_window;  /* the recorded part of the run that launched it */
};

struct lpo_device_time {
    struct lpo_gaps gaps; /* of all its streams */
    int64_t start_ns, end_ns, span_ns, busy_ns, idle_ns;
    int64_t compute_ns, communication_ns, exposed_ns;
    bool overlap_unknown; /* communication ran in CUDA graphs timed as a whole: the three above do
                             not show how it lay beside the computing, and exposed_ns is 0 */
    uint64_t gpu_ops;
    uint16_t device;
};

/* What of the gaps in a region comes once. */
struct lpo_wall_first_gaps {
    int64_t host_ns, other_ns; /* a launch of its first visit ends them */
    int64_t launch_ns; /* of host gaps in later visits: around the first launch of a kernel */
};

struct lpo_wall_timeline {
    LPO_VEC(struct lpo_device_time) devices;
    LPO_VEC(struct lpo_stream_time) streams; /* by device, then stream */
    struct lpo_gaps *nodes;                  /* per node of the tree: gaps inside it */
    struct lpo_wall_first_gaps *first_nodes; /* per node: the part of them in its first visits */
    uint64_t untimed;                        /* operations without a place on the clock (ncu) */
};

struct lpo_wall_timeline *lpo_wall_timeline_create(const struct lpo_region_tree *tree);
/* The same without the operations at the places of `aside` (one per place of the tree; NULL: none)
 * and without the idle time that borders on one of them: span is then busy and idle together, and a
 * device or stream that did nothing else is not listed or has no operations. */
struct lpo_wall_timeline *lpo_wall_timeline_create_without(const struct lpo_region_tree *tree,
                                                           const bool *aside);
void lpo_wall_timeline_destroy(struct lpo_wall_timeline *t); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_wall_timeline);
