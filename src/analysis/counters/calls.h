/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/calls.h - what was sampled in each single call of a region.
 *
 * A call has figures where it is long enough against the samples: these cover nine tenths of its
 * GPU time, and at most a quarter of it lies in samples in which something else than this call ran,
 * too. All others are counted and have none. */
#pragma once

#include "util/base.h"

struct lpo_sampled_gpu;

enum lpo_call_figure {
    LPO_CALL_DRAM_BYTES, /* both ways */
    LPO_CALL_DRAM_RATE,  /* bytes of a second of GPU time */
    LPO_CALL_TENSOR_ACTIVE,
    LPO_CALL_SM_ACTIVE, /* percent of the GPU time */
    LPO_CALL_FIGURES,
};

/* One call that has figures. NAN: this counter was not sampled. */
struct lpo_sampled_call {
    double figure[LPO_CALL_FIGURES];
    double gpu_ns, border_ns; /* of its operations; in samples that others had a part in */
    uint32_t node;
    bool first; /* the first call of its region on this GPU */
};

/* All calls of a region, or of several. */
struct lpo_call_spread {
    uint64_t calls;           /* in which something ran on this GPU */
    uint64_t counted;         /* of those: with figures */
    double gpu_ns, border_ns; /* of those with figures */
    /* The first call apart, as it may load or tune what later ones use: of several regions the
     * median of their first calls. The other three are of the later calls. */
    struct lpo_measure first[LPO_CALL_FIGURES], least[LPO_CALL_FIGURES];
    struct lpo_measure median[LPO_CALL_FIGURES], most[LPO_CALL_FIGURES];
};

struct lpo_call_spread lpo_counters_call_spread(const struct lpo_sampled_gpu *g,
                                                const uint32_t *nodes, size_t count);
