/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML files that users write besides configs: a hardware sheet, and the list of kernels of
 * `lpo kernels --kernel-config`. */
#include "scratch.h"

#include <math.h>

#include "gpu/sheets.h"
#include "pipeline/ncu/kernels.h"
#include "util/arena.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *const dirs[] = { scratch(), NULL };
    struct lpo_wanted_kernels wanted = { 0 };
    struct lpo_hardware hw = { 0 };
    struct lpo_err err = { 0 };
    const char *path;

    if (size > 16384)
        return 0;
    path = scratch_file("mine.yaml", data, size);
    if (lpo_gpu_hardware_read(a, dirs, path, &hw, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    else
        insist(isfinite(hw.bandwidth) && hw.bandwidth >= 0);
    if (lpo_pipeline_ncu_wanted_read(a, &wanted, path, 0, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    for (size_t i = 0; i < wanted.len; i++)
        insist(wanted.at[i].regex != NULL);
    return 0;
}
