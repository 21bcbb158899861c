/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/power/regions.h - samples of NVML joined with a trace: energy by region. */
#pragma once

#include "util/base.h"

struct lpo_power;
struct lpo_power_gpu;
struct lpo_region_tree;
struct lpo_rundir;
struct lpo_source;
struct lpo_trace;

/* The samples in a folder of a run; NULL: `folder` (may be NULL) has none. */
int lpo_power_read(const struct lpo_rundir *d, const char *folder, struct lpo_power **out,
                   struct lpo_err *err);
/* Those of a GPU of a trace; NULL where it is not known which of NVML's it is (`p` may be NULL). */
const struct lpo_power_gpu *lpo_power_gpu_of(const struct lpo_power *p, const struct lpo_trace *t,
                                             uint16_t device);

struct lpo_region_power {
    uint32_t node;
    int64_t host_ns;           /* time that passed with the region open */
    uint64_t windows;          /* stretches of it */
    struct lpo_measure joules; /* of all GPUs in use; unknown where samples are missing */
    uint64_t slowed;           /* throttle reasons that were seen and make the GPU slower */
    bool reasons_known;
};

struct lpo_power_join {
    const struct lpo_region_tree *tree;
    LPO_VEC(struct lpo_region_power) rows; /* most energy first */
};

/* Of the two outermost levels. NULL when the trace's clock is not that of the samples. */
struct lpo_power_join *lpo_power_join_create(const struct lpo_power *p,
                                             const struct lpo_region_tree *tree);
void lpo_power_join_destroy(struct lpo_power_join *j); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_power_join);

/* Energy over the tokens that the same stage generated, from the regions `prefill` and `decode`. */
struct lpo_power_token_energy {
    struct lpo_measure all, decode; /* joules per token; of decode: the first token left out */
};

struct lpo_power_token_energy lpo_power_token_energy(const struct lpo_rundir *d,
                                                     const struct lpo_source *s,
                                                     const struct lpo_power_join *join);
