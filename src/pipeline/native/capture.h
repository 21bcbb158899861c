/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/native/capture.h - when the collector records: the keys of pipeline.native.capture as
 * its environment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lpo_arena;
struct lpo_err;
struct lpo_step;

struct lpo_native_capture {
    const char *range, *calls, *signal, *attach;
    int64_t every, in_a_row, after_ns, for_ns;
    int64_t ring_ns, ring_mb, slow_ns; /* the last seconds in memory; 0: not */
    bool count, control, wait;
};

/* Fails where the keys make no sense together, or ask for more than the collector can do. */
int lpo_pipeline_native_capture_check(const struct lpo_native_capture *c, struct lpo_err *err);
/* Sets what differs from recording everything; checks it first. */
int lpo_pipeline_native_capture_env(struct lpo_arena *a, const struct lpo_native_capture *c,
                                    struct lpo_step *step, struct lpo_err *err);
