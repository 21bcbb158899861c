/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/wall.h - where the wall time of each GPU went, and why it was idle.
 *
 * Per device, over all its streams: the span runs from the first start to the last end of its GPU
 * operations. Each nanosecond of it is in one part: compute (a kernel runs that is not
 * communication), else exposed communication (a kernel of class collective runs), else exposed copy
 * (a copy or memset runs), else idle. So the four parts add up to the span.
 *
 * A gap is a stretch of the span with no operation on any stream. Its launch is that of the
 * operation that starts where it ends (of several, the call that began first). Its cause:
 * - unknown: that operation has no launch record, or its process recorded no calls and the launch
 *   began after the gap did, so that blocked and host cannot be told apart;
 * - blocked: of all runtime and driver calls on the launching thread, the one with the largest
 *   overlap (of equals the one that began first) covers at least half of the gap, and its name has
 *   no "launch" in it;
 * - host: else, when the launch call began after the gap did: the program came too late;
 * - queued: else: the work had been submitted and waited for something else.
 *
 * The gaps of streams, by the older rule, are in timeline.h. */
#pragma once

#include "analysis/wall/timeline.h"

enum lpo_idle_cause {
    LPO_IDLE_BLOCKED,
    LPO_IDLE_HOST,
    LPO_IDLE_QUEUED,
    LPO_IDLE_UNKNOWN,
    LPO_IDLE_CAUSES
};

const char *lpo_wall_cause_name(enum lpo_idle_cause cause); /* "blocked", "host", … */

enum {
    LPO_WALL_GAPS = 10,   /* longest gaps that are kept of a device */
    LPO_WALL_FRAMES = 16, /* operators, and Python functions, that are kept of a gap */
};

/* What the launching thread was in for at least half of a gap, outermost first: name ids. Where
 * there are more than fit, the innermost. */
struct lpo_wall_stack {
    uint32_t names[LPO_WALL_FRAMES];
    uint32_t count;
};

/* A stretch without any operation on a device. */
struct lpo_wall_gap {
    int64_t start_ns, ns; /* start on the clock of the trace */
    uint32_t op;          /* the operation that ends it: row of gpu_ops */
    uint32_t call;        /* the call of the launching thread with the largest overlap: row of
                             `calls`; LPO_NONE: none overlaps. Blocked: the call it is blocked in */
    enum lpo_idle_cause cause;
    /* filled for the longest gaps of a device only, see struct lpo_wall_device */
    struct lpo_wall_stack operators, python;
};

/* The idle time of a device that was spent in calls of one name. */
struct lpo_wall_call {
    uint32_t name;
    int64_t idle_ns;
    uint64_t gaps;
};

struct lpo_wall_device {
    uint16_t device;    /* into devices of the trace */
    bool parts_unknown; /* communication ran in CUDA graphs timed as a whole: how much of it was
                           exposed is not known, nor how much of the rest was compute or copy */
    int64_t start_ns, end_ns, span_ns;
    int64_t compute_ns, exposed_communication_ns, exposed_copy_ns, idle_ns;
    int64_t class_ns[LPO_CLASSES];            /* they add up to compute_ns: where kernels overlap,
                                                 the time is that of the one which began first */
    struct lpo_gap_sum idle[LPO_IDLE_CAUSES]; /* their times add up to idle_ns */
    double idle_squares;                      /* ns², over all gaps: how uneven they are */
    LPO_VEC(struct lpo_wall_call) calls;      /* of blocked gaps: most idle time first */
    LPO_VEC(struct lpo_wall_gap) longest;     /* at most LPO_WALL_GAPS, longest first */
};

struct lpo_wall_region {
    int64_t ns[LPO_IDLE_CAUSES];
    uint64_t gaps;
};

/* Called for each gap of a device in order of time; `operators` and `python` are empty. */
typedef void lpo_wall_gap_fn(void *ctx, uint16_t device, const struct lpo_wall_gap *gap);

struct lpo_wall {
    LPO_VEC(struct lpo_wall_device) devices; /* longest span first */
    /* Idle time by the innermost region that launched the operation after it, summed over devices:
     * per node of the tree, then one for what was launched outside every region or has no launch
     * record. Each gap is in one of them. */
    struct lpo_wall_region *regions;
    bool no_calls; /* some gap is unknown because no calls were recorded in its process */
};

/* Of the whole trace. */
struct lpo_wall *lpo_wall_create(const struct lpo_region_tree *tree);
/* Without the operations at the places of `aside` (one per place of the tree; NULL: none) and
 * without the idle time that borders on one of them, as in lpo_wall_timeline_create_without(): the
 * span is then the sum of the parts. */
struct lpo_wall *lpo_wall_create_without(const struct lpo_region_tree *tree, const bool *aside);
/* Shows every gap of the same, device by device: they are too many to keep. */
void lpo_wall_each_gap(const struct lpo_region_tree *tree, const bool *aside, lpo_wall_gap_fn *each,
                       void *ctx);
/* The launching thread of the operation that ends a gap; LPO_NONE: no launch record. */
void lpo_wall_destroy(struct lpo_wall *w); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_wall);
