/* SPDX-License-Identifier: Apache-2.0 */
/* trace/times.h - times that no clock can have shown. Private to trace/. */
#pragma once

#include "util/base.h"

#define LPO_LONGEST_NS ((int64_t)1 << 55) /* of one event: 417 days */

struct lpo_trace;

/* Where each array of the trace ended before a file was read. */
struct lpo_trace_mark {
    size_t gpu_ops, launches, captures, ranges, paths, frames, ops, summaries, calls, python;
    uint64_t damaged;
};

struct lpo_trace_mark lpo_trace_mark(const struct lpo_trace *t);

/* What was read since `mark`: an event longer than a year has no duration, with a note, and times
 * far outside any clock move to the end of the allowed span. After this the durations of a trace
 * can be summed in any order without overflow. LPO_E_RANGE when they cannot. */
int lpo_trace_times_check(struct lpo_trace *t, const struct lpo_trace_mark *mark,
                          struct lpo_err *err);
