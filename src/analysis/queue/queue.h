/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/queue/queue.h - how many launches wait for the GPU, and how long each of them waits.
 *
 * A launch waits on a stream from the beginning of its call to the start of its first operation
 * there. The delay is that time; the depth of a queue at a moment is the number of launches that
 * wait. (Holistic Trace Analysis counts its queue length the same way.) A graph launch is one
 * launch. Launches whose work started before the call, by two clocks, are left out and counted.
 *
 * A depth that is often 0 means that the GPU waits for the host; a delay of milliseconds, that the
 * host is far ahead, which is good for throughput.
 *
 * Percentiles: of delays the smallest that so many percent do not exceed; of depths the same in
 * time, from the first launch to the last start. */
#pragma once

#include "trace/trace.h"

/* Of a stream, or of all streams of a GPU. */
struct lpo_queue_sum {
    uint64_t launches;
    int64_t min_ns, median_ns, p90_ns, p99_ns, max_ns; /* delays */
    uint64_t median, p90, most;                        /* depths */
    int64_t waiting_ns; /* sum of the delays: over span_ns it is the mean depth */
    int64_t span_ns;    /* first launch to last start */
    int64_t empty_ns;   /* of it with none waiting */
};

struct lpo_queue_stream {
    uint32_t stream;
    struct lpo_queue_sum sum;
};

struct lpo_queue_device {
    uint16_t device;
    struct lpo_queue_sum all;
    uint64_t skewed;                          /* launches left out: their work started first */
    LPO_VEC(struct lpo_queue_stream) streams; /* by number */
    struct lpo_series depth, delay;           /* over time; delays in us at the start of the work */
};

struct lpo_queue {
    LPO_VEC(struct lpo_queue_device) devices; /* with launches, in their order */
};

struct lpo_queue *lpo_queue_create(const struct lpo_trace *t);
void lpo_queue_destroy(struct lpo_queue *q); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_queue);
