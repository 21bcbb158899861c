/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/kernel_profile.h - one measured kernel, and what it was held back by.
 *
 * The class follows from the two figures of ncu's SpeedOfLight section, as percentages of what the
 * device sustains: compute (SM) and memory. Neither high: latency. Both high and near each other:
 * balanced. Else the higher one. Unknown figures give no class. */
#pragma once

#include "util/base.h"

struct lpo_trace;

#define LPO_BOUND_LOW_PERCENT 60.0 /* below it, neither is the limit */
#define LPO_BOUND_NEAR_POINTS 10.0 /* nearer than this, both are */

enum lpo_bound {
    LPO_BOUND_UNKNOWN,
    LPO_BOUND_LATENCY,
    LPO_BOUND_BALANCED,
    LPO_BOUND_MEMORY,
    LPO_BOUND_COMPUTE,
};

enum lpo_bound lpo_counters_bound_of(struct lpo_measure compute_percent,
                                     struct lpo_measure memory_percent);
const char *lpo_counters_bound_name(enum lpo_bound bound); /* "memory", …; NULL when unknown */

/* A message of one of ncu's rules about a launch. Texts are NULL where the source has none. */
struct lpo_kernel_rule {
    const char *section, *rule, *title, *text;
    unsigned kind, speedup;     /* enum lpo_rule_kind, enum lpo_rule_speedup */
    struct lpo_measure percent; /* of its time that ncu expects to be saved */
};

/* One launch that ncu measured. */
struct lpo_kernel_profile {
    const char *kernel; /* demangled */
    bool shaped;        /* grid and block are known */
    uint32_t grid[3], block[3];
    struct lpo_measure duration_ns;
    struct lpo_measure compute_percent, memory_percent; /* of peak */
    struct lpo_measure tensor_percent, l1_percent, l2_percent, dram_percent;
    struct lpo_measure registers, waves;
    const char *level; /* the busiest part of memory: "L1", "L2", "DRAM"; NULL unknown */
    struct lpo_measure dram_bytes_per_second;
    struct lpo_measure occupancy_percent; /* achieved */
    enum lpo_bound bound;
    struct lpo_kernel_rule *rules; /* in the order of ncu */
    size_t nrules;
};

struct lpo_kernel_profiles {
    struct lpo_kernel_profile *at;
    size_t len;
};

/* Of the trace of a .ncu-rep or of ncu's CSV, raw or details page. The arena owns what it gives;
 * nothing of the trace is borrowed. */
struct lpo_kernel_profiles lpo_counters_kernel_profiles(struct lpo_arena *a,
                                                        const struct lpo_trace *t);
