/* trace/overlay.h - hardware counters of a few launches laid over a trace of all of them.
 *
 * One launch of each distinct (kernel, grid, block) is measured by ncu; every launch of that
 * configuration in the base trace gets its values. Counts and times stay the base's own, exact.
 * Where a configuration was not measured, one of the same kernel stands in, its sums scaled by
 * time; where the kernel was not measured either, the launch stays without metrics. */
#pragma once

#include <stdint.h>

struct lpo_trace;

struct lpo_overlay {
    uint64_t launches; /* kernels of the base trace */
    uint64_t by_shape; /* covered by the same configuration */
    uint64_t by_name;  /* covered by another configuration of the same kernel */
    uint64_t uncovered;
    int64_t ns, by_shape_ns, by_name_ns, uncovered_ns; /* the same by GPU time */
    uint64_t configs;                                  /* distinct configurations measured */
    uint64_t measured;                                 /* launches measured */
};

/* Adds metric rows to `base` and points its kernels at them; sets LPO_WORK_ESTIMATED. With several
 * measurements of a configuration their mean is used, and the standard deviation is added as the
 * metric "<name>:sd". Returns what was covered. */
struct lpo_overlay lpo_trace_overlay(struct lpo_trace *base, const struct lpo_trace *counters);
