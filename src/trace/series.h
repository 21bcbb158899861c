/* SPDX-License-Identifier: Apache-2.0 */
/* trace/series.h - quantities over time, with a bound on what they take.
 *
 * A source may have millions of points and a picture a thousand columns, so a series that grows
 * too long is thinned: of every four neighbours the smallest and the largest stay. No value is
 * invented, and the least and the most of the whole series are exact. */
#pragma once

#include "trace/trace.h"

/* Names of what segments of a snapshot held without using it. */
#define LPO_SNAPSHOT_UNUSED_LARGE "Unused in the large pool (snapshot)"
#define LPO_SNAPSHOT_UNUSED_SMALL "Unused in the small pool (snapshot)"

/* Find or add; the index stays good. LPO_NONE: there are too many. `unit` may be NULL. */
uint32_t lpo_trace_series(struct lpo_trace *t, enum lpo_series_kind kind, const char *name,
                          const char *unit, uint16_t device);
/* A value that is no number is passed over. Points may come in any order: see _sort. */
void lpo_trace_series_add(struct lpo_series *s, int64_t ns, double value);
void lpo_trace_series_sort(struct lpo_series *s);
/* No more points than that, four or more, and no room for others. */
void lpo_trace_series_thin(struct lpo_series *s, size_t most);
