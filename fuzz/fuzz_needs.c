/* SPDX-License-Identifier: Apache-2.0 */
/* report.needs and hardware.json of any bytes: what is accepted is used, and no number appears that
 * the input does not support. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/limits/limits.h"
#include "hydra/compose.h"
#include "run/provenance.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int truth)
{
    if (!truth)
        abort();
}

static const struct lpo_limits_region regions[] = {
    { .path = "prefill", .parent = UINT32_MAX, .visits = 2, .gpu_ns = 36000000, .host_ns = -1 },
    { .path = "prefill/layer0", .parent = 0, .visits = 2, .gpu_ns = 10000000, .host_ns = -1 },
    { .path = "gemm", .parent = UINT32_MAX, .visits = 3, .gpu_ns = -1, .host_ns = 5000000 },
    { .path = "never", .parent = UINT32_MAX, .gpu_ns = -1, .host_ns = -1 },
};

static void check(struct lpo_measure m)
{
    insist(!lpo_measure_known(m) || (isfinite(m.value) && m.value >= 0));
}

static void join(const struct lpo_stated_needs *needs, const struct lpo_hardware *hw)
{
    struct lpo_limits_input in = { .stated = *needs,
                                   .hardware = hw,
                                   .regions = regions,
                                   .nregions = sizeof regions / sizeof *regions };
    LPO_AUTO(lpo_limits) l = NULL;
    struct lpo_err err = { 0 };

    insist(lpo_limits_create(&in, &l, &err) == 0);
    for (size_t i = 0; i < l->rows.len; i++) {
        check(l->rows.at[i].mfu);
        check(l->rows.at[i].share);
        check(l->rows.at[i].bandwidth_use);
        insist(l->rows.at[i].stated || !lpo_measure_known(l->rows.at[i].needed_flops));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct lpo_hardware known = {
        .label = "known", .source = "sheet", .flops = { [LPO_FP32] = 1e12 }, .bandwidth = 1e9
    };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_stated_need usual = {
        "gemm", { 1e9, LPO_COMPUTED }, { 1e6, LPO_COMPUTED }, LPO_BF16
    };
    struct lpo_stated_needs needs = { &usual, 1 };
    struct lpo_hardware hw;
    struct lpo_node *config = NULL;
    const struct lpo_json *json = NULL;
    struct lpo_err err = { 0 };

    if (lpo_json_parse(a, (const char *)data, size, &json, &err) == 0 &&
        lpo_run_hardware_read(a, json, &hw, &err) == 0)
        join(&needs, &hw);
    if (lpo_yaml_parse(a, (const char *)data, size, "fuzz", &config, &err) == 0 &&
        lpo_rundir_needs_read(a, config, &needs, &err) == 0)
        join(&needs, &known);
    return 0;
}
