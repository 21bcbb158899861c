/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/findings/counters.h - what ncu says of one kernel of the critical device, and sums of
 * kernels by name. Private to findings/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/findings/findings.h"
#include "util/map.h"
#include "util/vec.h"

struct lpo_findings_work;
struct lpo_gpu_op;
struct lpo_trace;

enum lpo_findings_counter {
    LPO_COUNTER_GRID, /* blocks */
    LPO_COUNTER_BLOCK,
    LPO_COUNTER_WAVES,
    LPO_COUNTER_LIMIT_REGISTERS, /* blocks of one SM */
    LPO_COUNTER_LIMIT_SHARED_MEMORY,
    LPO_COUNTER_LIMIT_WARPS,
    LPO_COUNTER_LIMIT_BLOCKS,
    LPO_COUNTER_LIMIT_BARRIERS,
    LPO_COUNTER_THEORETICAL, /* the rest is percent of a peak */
    LPO_COUNTER_ACHIEVED,
    LPO_COUNTER_SM,
    LPO_COUNTER_MEMORY,
    LPO_COUNTERS
};

struct lpo_findings_counters {
    const struct lpo_trace *trace;
    uint32_t columns[LPO_COUNTERS]; /* metrics of the trace; LPO_NONE: not collected */
    double value[LPO_COUNTERS];     /* of the kernel that was read last; NaN: unknown */
};

/* False where the trace has no waves: nothing was counted. */
bool lpo_findings_counters_open(const struct lpo_findings_work *w, struct lpo_findings_counters *c);
/* Reads what was counted of this kernel, or of another launch with the same grid and block; false:
 * nothing, or the kernel is short, or its time is not its own. */
bool lpo_findings_counters_read(struct lpo_findings_counters *c, const struct lpo_gpu_op *op);

/* Kernels of a finding by name. */
struct lpo_findings_kernel {
    int64_t gpu_ns, most_ns;
    double waves; /* of its launch with the most to save */
    uint32_t name;
};

struct lpo_findings_kernels {
    LPO_VEC(struct lpo_findings_kernel) names;
    struct lpo_map_pair rows;
    uint64_t launches;
    int64_t gpu_ns;
    double weighted[LPO_COUNTERS], weight[LPO_COUNTERS]; /* by time */
};

void lpo_findings_kernels_add(struct lpo_findings_kernels *k, const struct lpo_findings_counters *c,
                              const struct lpo_gpu_op *op, int64_t saving_ns);
/* How many, their time, and the name with most of it if that is a fifth, which is
 * returned; NULL: none. */
const struct lpo_findings_kernel *lpo_findings_kernels_facts(const struct lpo_findings_kernels *k,
                                                             struct lpo_finding *f);
/* Their mean by time, as a share; nothing where it was not collected. */
void lpo_findings_kernels_share(const struct lpo_findings_kernels *k, struct lpo_finding *f,
                                enum lpo_findings_counter counter, enum lpo_fact fact);
void lpo_findings_kernels_free(struct lpo_findings_kernels *k);
