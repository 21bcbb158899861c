/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/hardware.h - what a device could do at most.
 *
 * Rates are dense (no structured sparsity) and per second; a rate of 0 says the device has no such
 * unit. Entries are read from conf/hardware (gpu/sheets.h); an unknown GPU is computed
 * from its attributes by the same formula that the sheets follow. */
#pragma once

#include "util/dtype.h"

struct lpo_hardware {
    const char *name;   /* "h200_sxm" */
    const char *label;  /* "NVIDIA H200 SXM" */
    const char *source; /* "sheet", "computed", "achievable" (what the best kernels reach) or
                         * "measured": printed beside every share of a peak */
    double flops[LPO_DTYPES];
    double bandwidth; /* bytes a second to and from the device's memory */
    double memory;    /* bytes; 0: unknown */
    double l2_bytes;
    double link; /* bytes a second to the other GPUs, both directions together; 0: none */
    double watts;
    uint32_t sms, cc_major, cc_minor;
    double boost_hz, tensor_hz;
    const struct lpo_hardware *sheet; /* when `source` is not the sheet: the sheet; else NULL */
};

/* The entry whose rates MFU is counted against. */
static inline const struct lpo_hardware *lpo_gpu_hardware_sheet(const struct lpo_hardware *hw)
{
    return hw->sheet ? hw->sheet : hw;
}

/* The rate for products in this format. When the device has no unit for it, the next wider one
 * that it has; *used (may be NULL) says which. 4-bit integers are weights only: they multiply as
 * bf16. Returns 0 when nothing fits. */
double lpo_gpu_hardware_peak(const struct lpo_hardware *hw, enum lpo_dtype dtype,
                             enum lpo_dtype *used);

/* FLOPs per byte at which the device turns from memory-bound to compute-bound. */
double lpo_gpu_hardware_ridge(const struct lpo_hardware *hw, enum lpo_dtype dtype);

/* The attributes that a driver or a trace reports for a GPU. */
struct lpo_gpu_attributes {
    const char *name; /* "NVIDIA H200" */
    uint32_t sms, cc_major, cc_minor;
    double clock_hz, memory_clock_hz, bus_bits;
    double memory, l2_bytes;
};

/* Rates by the formula SMs x clock x operations per clock; marked as computed. GeForce boards are
 * recognised by their name; in doubt the lower row is taken. `out->name` borrows `gpu->name`.
 * False when the compute capability is not in the table. */
bool lpo_gpu_hardware_compute(const struct lpo_gpu_attributes *gpu, struct lpo_hardware *out);
