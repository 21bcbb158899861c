/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/power/power.h - what NVML reported about the GPUs during a run: nvml/samples.csv.
 *
 * A sample is one reading of one GPU. A cell that NVML did not answer is unknown, not 0. Between
 * two samples power is taken to change evenly; where they lie more than LPO_POWER_HOLE_NS apart
 * nothing is known of the time between, and energy over it is unknown.
 *
 * Energy of a window of LPO_POWER_COUNTER_NS and more is that of the GPU's own counter where it has
 * one (measured); the counter moves in steps of a tenth of a second, so shorter windows, and GPUs
 * without one, get the integral of power (estimated). */
#pragma once

#include "util/base.h"

#define LPO_POWER_HOLE_NS    1000000000LL
#define LPO_POWER_COUNTER_NS 2000000000LL

enum lpo_power_column {
    LPO_POWER_MW,
    LPO_POWER_SM_MHZ,
    LPO_POWER_MEMORY_MHZ,
    LPO_POWER_CELSIUS,
    LPO_POWER_MEMORY_BYTES,
    LPO_POWER_GPU_PERCENT,
    LPO_POWER_MEMORY_PERCENT,
    LPO_POWER_THROTTLE, /* bits, see lpo_power_throttle_add */
    LPO_POWER_ENERGY_MJ,
    LPO_POWER_COLUMNS
};

struct lpo_power_sample {
    int64_t unix_ns;
    uint64_t value[LPO_POWER_COLUMNS];
    unsigned known;     /* one bit per column */
    double joules;      /* integral of power from the first sample to here */
    int64_t unknown_ns; /* of that time */
};

struct lpo_power_gpu {
    uint64_t gpu;                             /* as NVML numbers it */
    LPO_VEC(struct lpo_power_sample) samples; /* strictly in order of time */
};

struct lpo_power {
    LPO_VEC(struct lpo_power_gpu) gpus; /* by number */
    uint64_t skipped;                   /* lines that are not samples: cut, or out of order */
};

/* The first line names the columns: unknown ones are passed over, unix_ns and gpu must be there. */
int lpo_power_parse(const char *text, size_t len, struct lpo_power **out, struct lpo_err *err);
void lpo_power_destroy(struct lpo_power *p); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_power);

/* Samples inside [from, to]; where there is none, the last one before it, if it is near. */
struct lpo_power_window {
    size_t samples;
    struct lpo_measure mean[LPO_POWER_COLUMNS], max[LPO_POWER_COLUMNS];
    uint64_t reasons; /* all throttle bits that were seen */
    size_t slowed;    /* samples with a reason that makes the GPU slower */
};

void lpo_power_look(const struct lpo_power_gpu *g, int64_t from_ns, int64_t to_ns,
                    struct lpo_power_window *out);
struct lpo_measure lpo_power_joules(const struct lpo_power_gpu *g, int64_t from_ns, int64_t to_ns);

/* Reasons that make a GPU slower than it could be; idleness and clocks that someone set do not. */
extern const uint64_t lpo_power_throttle_slows;
/* Appends "power cap, heat (software)"; "none" for 0; bits that have no name as a number. */
void lpo_power_throttle_add(struct lpo_str *s, uint64_t reasons);
