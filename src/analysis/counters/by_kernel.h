/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/by_kernel.h - what ncu measured of each kernel: a few figures, by its name.
 *
 * Shares of peaks and occupancy are means over the measured launches, weighted by their time;
 * registers and waves are plain means. Figures that were not collected are unknown. */
#pragma once

#include "util/base.h"

struct lpo_gpu_op;
struct lpo_trace;

enum lpo_kernel_figure {
    LPO_FIGURE_SM,
    LPO_FIGURE_TENSOR,
    LPO_FIGURE_L1,
    LPO_FIGURE_L2,
    LPO_FIGURE_DRAM,
    LPO_FIGURE_OCCUPANCY,
    LPO_FIGURE_REGISTERS,
    LPO_FIGURE_WAVES,
    LPO_KERNEL_FIGURES,
};

struct lpo_kernel_counters {
    const char *kernel, *linker; /* as the trace prints them; linker "" when it has none */
    uint64_t launches;           /* measured */
    struct lpo_measure figure[LPO_KERNEL_FIGURES];
};

struct lpo_counters_by_kernel {
    struct lpo_kernel_counters *at;
    size_t len;
    bool has[LPO_KERNEL_FIGURES]; /* of any kernel */
};

/* Of launches that ncu measured itself, not of samples. len 0: none has any of the figures. The
 * trace must live as long as the result. */
struct lpo_counters_by_kernel lpo_counters_by_kernel(struct lpo_arena *a,
                                                     const struct lpo_trace *t);
/* The kernel of that linker's name, else of that name; NULL: it was not measured. */
const struct lpo_kernel_counters *lpo_counters_find_kernel(const struct lpo_counters_by_kernel *all,
                                                           const char *kernel, const char *linker);
/* One figure of one launch. */
struct lpo_measure lpo_counters_kernel_figure(const struct lpo_trace *t,
                                              const struct lpo_gpu_op *op,
                                              enum lpo_kernel_figure figure);
/* The part of the memory system that ncu's figure for all of it comes from, which is the nearest
 * one (each has a peak of its own); where that is unknown the busiest: "L1", "L2" or "DRAM". NULL:
 * unknown. */
const char *lpo_counters_memory_level(struct lpo_measure memory, struct lpo_measure l1,
                                      struct lpo_measure l2, struct lpo_measure dram);
