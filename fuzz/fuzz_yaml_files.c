/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML files that users write besides configs: a hardware sheet, the list of kernels of
 * `lpo kernels --kernel-config`, and rules of kernels and operators. */
#include "scratch.h"

#include <math.h>

#include "analysis/operators/cost.h"
#include "gpu/sheets.h"
#include "pipeline/ncu/kernels.h"
#include "region/classes.h"
#include "util/arena.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_rules(const char *path)
{
    LPO_AUTO(lpo_region_own_rules) classes = NULL;
    LPO_AUTO(lpo_operators_rules) operators = NULL;
    char text[4096];
    const char *rule = text;
    struct lpo_err err = { 0 };

    snprintf(text, sizeof text, "file:%s", path);
    if (lpo_region_own_rules_read(&rule, 1, &classes, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
    else
        lpo_region_class_by(classes, "void my::gemm_kernel<4, Functor<float> >(int)");
    err = (struct lpo_err){ 0 };
    if (lpo_operators_rules_read(&rule, 1, &operators, &err) < 0)
        insist(lpo_err_cause(&err)[0] != '\0');
}

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
    read_rules(path);
    return 0;
}
