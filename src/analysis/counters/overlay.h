/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/overlay.h - hardware counters of a few launches laid over a trace of all of
 * them.
 *
 * ncu measures the first launches of each distinct (kernel, grid, block); every launch of that
 * configuration in the base trace gets its values. Counts and times stay the base's own, exact.
 *
 * One configuration may hold launches of different size: a persistent matrix kernel fills the GPU
 * whatever its problem. So each measured launch is found again in the base trace (same
 * configuration, same ranges, same order), and its values go first to its peers: the launches at
 * the same place of other layers and steps. Other launches of its configuration get them in
 * proportion to their time where that clearly differs: sums are scaled, rates and percentages taken
 * over. Where a configuration was not measured the same kernel in another one stands in, in
 * proportion to its threads; then another instance of the same template in this configuration
 * (element-wise kernels of one size do much the same). Where there is none either, the launch stays
 * without. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;
struct lpo_trace;

struct lpo_overlay {
    uint64_t launches; /* kernels of the base trace */
    uint64_t measured; /* of these, the very ones that were measured */
    uint64_t by_peers; /* covered by a peer, the measured ones too */
    uint64_t by_shape; /* covered by the same configuration, those above too */
    uint64_t by_name;  /* covered by another configuration of the kernel or its template */
    uint64_t uncovered;
    int64_t ns, measured_ns, by_shape_ns, by_name_ns, uncovered_ns; /* the same by GPU time */
    uint64_t configs;  /* distinct configurations measured */
    uint64_t readings; /* launches that ncu measured */
};

/* Adds metric rows to `base` and points its kernels at them; sets LPO_GPU_OP_ESTIMATED on all but
 * the measured ones. Where a configuration was measured several times the standard deviation is
 * added as the metric "<name>:sd". Returns what was covered. */
struct lpo_overlay lpo_counters_overlay(struct lpo_trace *base,
                                        const struct lpo_region_tree *base_tree,
                                        const struct lpo_region_tree *counters);
