/* SPDX-License-Identifier: Apache-2.0 */
/* trace/recorded.h - which part of a stretch of host time was recorded.
 *
 * A process that was recorded in windows has ranges that began before one and end after it. What
 * happened to them outside is not in the trace, so their time there counts for nothing. */
#pragma once

#include "util/base.h"

struct lpo_trace;
struct lpo_trace_recorded;

/* NULL where no process was recorded in windows: all of every stretch was. Copies what it keeps. */
struct lpo_trace_recorded *lpo_trace_recorded_create(const struct lpo_trace *t);
void lpo_trace_recorded_destroy(struct lpo_trace_recorded *r); /* NULL is fine */

/* The part of `start_ns` to `end_ns` that lies in windows of `process`. Of a process whose trace
 * was cut short the last windows may not be in the file: what follows the known ones counts. */
int64_t lpo_trace_recorded_ns(const struct lpo_trace_recorded *r, uint16_t process,
                              int64_t start_ns, int64_t end_ns);
/* Does any moment of it? */
bool lpo_trace_recorded_touches(const struct lpo_trace_recorded *r, uint16_t process,
                                int64_t start_ns, int64_t end_ns);
