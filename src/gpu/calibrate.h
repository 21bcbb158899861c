/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/calibrate.h - ceilings that a GPU reaches here and now: a device copy and a large product.
 *
 * The driver and cuBLAS are opened at run time. Random numbers are multiplied, because a GPU that
 * multiplies zeros draws less power and runs faster than it ever will on real data. */
#pragma once

#include "gpu/hardware.h"

/* One product [m, k] by [k, n] in bf16, as a layer of a model has it. */
struct lpo_calibration_shape {
    int m, n, k;
    double seconds; /* 0: not measured */
};

enum { LPO_CALIBRATION_SHAPES = 12 };

struct lpo_calibration {
    const char *gpu;          /* as the driver names it */
    double bandwidth;         /* bytes a second, read and written, of a device-to-device copy */
    double flops[LPO_DTYPES]; /* of a product of 8192 x 8192 matrices; 0: not measured */
    struct lpo_calibration_shape shapes[LPO_CALIBRATION_SHAPES];
};

/* About `seconds` for each of the measurements. LPO_E_MISSING without a driver or a GPU; a format
 * that cuBLAS does not take is left at 0, and so are all when there is no cuBLAS. */
int lpo_gpu_calibrate(struct lpo_arena *a, int device, double seconds, struct lpo_calibration *out,
                      struct lpo_err *err);

/* Writes <dir>/hardware/<entry>.measured.yaml, where lpo_gpu_hardware_read() finds it
 * (gpu/sheets.h). */
int lpo_gpu_calibration_write(struct lpo_arena *a, const char *dir, const char *entry,
                              const struct lpo_calibration *c, const char **path,
                              struct lpo_err *err);
