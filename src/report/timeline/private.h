/* SPDX-License-Identifier: Apache-2.0 */
/* report/timeline/private.h - what the parts of the timeline share while it is made. */
#pragma once

#include "util/base.h"

struct lpo_analysis;
struct lpo_doc;
struct lpo_figure;
struct lpo_gpu_op;
struct lpo_rank_row;
struct lpo_rundir;
struct lpo_source;

struct lpo_timeline {
    const struct lpo_analysis *a;
    struct lpo_doc *doc;
    struct lpo_figure *f;
    int64_t zero_ns;                    /* the first moment: viewers like small numbers */
    const struct lpo_rank_row **clocks; /* by process: of its rank; NULL: it has one of its own */
    const char **node_names;
    const char **share_names; /* by name id: operations whose time is estimated */
    uint32_t *call_lanes;     /* by thread: the lane of its calls; LPO_NONE: it has none */
    size_t left;              /* events of the host, and arrows, that the file may still have */
};

/* A moment of a process, on the clock of the first rank, after the first moment. */
int64_t lpo_timeline_at(const struct lpo_timeline *b, uint16_t process, int64_t ns);
/* "GPU 0", "GPU 0 of rank 3". */
const char *lpo_timeline_group(struct lpo_timeline *b, uint16_t device);
/* The name of a lane of a thread: "thread 7 (decoder), operators". */
const char *lpo_timeline_thread_name(struct lpo_timeline *b, uint32_t thread, const char *what);
/* Operators and calls of the runtime, a lane each for every thread. */
void lpo_timeline_add_host(struct lpo_timeline *b);
/* From the call that launched an operation to the operation, which is in `lane`. */
void lpo_timeline_add_arrow(struct lpo_timeline *b, const struct lpo_gpu_op *op, uint32_t lane);
/* Operations that were launched and had not started yet, on one device. */
void lpo_timeline_count_waiting(struct lpo_timeline *b, const uint32_t *ops, size_t count,
                                uint32_t lane);
/* Power, memory and sampled counters, each a counter of its GPU. */
void lpo_timeline_add_charts(struct lpo_timeline *b, const struct lpo_rundir *d,
                             const struct lpo_source *s);
/* Spans that overlap another of their lane without lying in it go to a lane of their own, because
 * viewers drop them: kernels beside each other on one stream, ranges that cross. */
void lpo_timeline_nest(struct lpo_figure *f);
/* The longest gaps of every device; and the findings, over the time they are about. */
void lpo_timeline_add_gaps(struct lpo_timeline *b);
void lpo_timeline_add_findings(struct lpo_timeline *b, const struct lpo_rundir *d,
                               const struct lpo_source *s);
