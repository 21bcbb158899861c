/* SPDX-License-Identifier: Apache-2.0 */
/* tests/analysis/limits_case.h - a model of two layers, a device, and regions joined with them. */
#pragma once

#include <math.h>

#include "../unit.h"
#include "analysis/limits/limits.h"
#include "gpu/hardware.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

/* Two layers; peak 1 TFLOP/s, sheet 2 TFLOP/s, 1 GB/s. */
static const char analysis[] =
    "{\"hardware\":{\"label\":\"Test GPU\",\"source\":\"measured\",\"peak_flops\":1e12,"
    "\"sheet_peak_flops\":2e12,\"bandwidth\":1e9,\"peak_dtype\":\"bf16\"},\"modules\":["
    "{\"part\":\"sam\",\"block\":\"embed\",\"vision\":{\"flops\":4000000000,\"bytes\":1000,"
    "\"seconds\":0.004}},"
    "{\"part\":\"decoder\",\"layer\":0,\"block\":\"attn\","
    "\"prefill\":{\"flops\":1000000000,\"bytes\":100000,\"seconds\":0.001},"
    "\"decode\":{\"flops\":1000000,\"bytes\":100000,\"seconds\":0.0001,\"best_seconds\":0.0002}},"
    "{\"part\":\"decoder\",\"layer\":0,\"block\":\"mlp\","
    "\"prefill\":{\"flops\":2000000000,\"bytes\":100000,\"seconds\":0.002},"
    "\"decode\":{\"flops\":2000000,\"bytes\":200000,\"seconds\":0.0002}},"
    "{\"part\":\"decoder\",\"layer\":1,\"block\":\"mlp\","
    "\"prefill\":{\"flops\":2000000000,\"bytes\":100000,\"seconds\":0.002},"
    "\"decode\":{\"flops\":2000000,\"bytes\":200000,\"seconds\":0.0002}}]}";

enum { MS = 1000000, NONE = -1 };

/* A device of 1 TFLOP/s in bf16 as measured, 2 on its sheet; half of it in fp32; 1 GB/s. */
static const struct lpo_hardware sheet = { .label = "Test GPU",
                                           .source = "sheet",
                                           .flops = { [LPO_FP32] = 1e12, [LPO_BF16] = 2e12 },
                                           .bandwidth = 1e9 };
static const struct lpo_hardware device = { .label = "Test GPU",
                                            .source = "measured",
                                            .flops = { [LPO_FP32] = 0.5e12, [LPO_BF16] = 1e12 },
                                            .bandwidth = 1e9,
                                            .sheet = &sheet };

static inline struct lpo_limits *join(struct lpo_arena *a, const struct lpo_limits_region *r,
                                      size_t n, uint64_t steps)
{
    struct lpo_limits_input in = { .regions = r, .nregions = n, .steps = steps };
    struct lpo_limits *l = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_json_parse(a, analysis, sizeof analysis - 1, &in.needed, &err), 0);
    assert_int_equal(lpo_limits_create(&in, &l, &err), 0);
    return l;
}

static inline void near(struct lpo_measure m, double want)
{
    assert_true(lpo_measure_known(m));
    if (fabs(m.value - want) > 1e-9 * fabs(want))
        fail_msg("%.12g is not %.12g", m.value, want);
}
