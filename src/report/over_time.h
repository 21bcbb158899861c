/* SPDX-License-Identifier: Apache-2.0 */
/* report/over_time.h - what the run has over time: power and clocks of NVML, memory of an
 * allocator, sampled counters, launches that wait (analysis/queue/). One chart for each quantity,
 * one line in it for each GPU. The page draws them, and the timeline for Perfetto has them as
 * counters.
 *
 * A quantity of a trace needs nothing here: a series (trace/series.h) becomes a chart. */
#pragma once

#include "trace/trace.h"

struct lpo_rundir;
struct lpo_source;

enum lpo_chart_clock {
    LPO_CLOCK_TRACE, /* that of the main trace: charts and the timeline are read together */
    LPO_CLOCK_UNIX,  /* the time of day */
    LPO_CLOCK_OTHER, /* that of another trace of the run */
};

typedef LPO_VEC(struct lpo_series_point) lpo_chart_points;

struct lpo_chart_line {
    const char *scope;       /* "device:0", "rank:1/device:0", "machine of rank 8, device:0" */
    uint32_t device;         /* of the main trace; LPO_NONE: not known which */
    lpo_chart_points points; /* in order of time; NaN: not known from here on */
    uint64_t seen;           /* points that the source had */
};

struct lpo_chart {
    const char *chapter; /* id of its section: "power", "memory", "counters" */
    const char *title, *unit;
    enum lpo_chart_clock clock;
    LPO_VEC(struct lpo_chart_line) lines;
};

struct lpo_charts {
    LPO_VEC(struct lpo_chart) all;
    struct lpo_arena *arena;
};

/* `s` is the main source; NULL: there is none. */
struct lpo_charts *lpo_report_charts_create(const struct lpo_rundir *d, const struct lpo_source *s);
void lpo_report_charts_destroy(struct lpo_charts *c); /* NULL is fine */
/* The source whose memory is shown: the main one, else that of the framework's profiler; NULL. */
const struct lpo_source *lpo_report_memory_source(const struct lpo_rundir *d,
                                                  const struct lpo_source *s);
/* Leaves at most `most` points of a line: of neighbours the smallest and the largest. */
void lpo_report_chart_thin(lpo_chart_points *p, size_t most);
