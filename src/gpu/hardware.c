/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/hardware.h"

/* Operations per clock and SM, dense, with fp32 accumulation. GeForce boards of one compute
 * capability run tensor products with fp32 accumulation at half the rate of the others. */
static const struct rate_row {
    uint32_t major, minor;
    bool geforce;
    uint32_t fp32_lanes;
    uint32_t fp64, tf32, fp16, bf16, fp8, fp4, int8;
} rates[] = {
    { 7, 0, false, 64, 0, 0, 1024, 0, 0, 0, 0 },
    { 7, 5, false, 64, 0, 0, 1024, 0, 0, 0, 2048 },
    { 8, 0, false, 64, 128, 1024, 2048, 2048, 0, 0, 4096 },
    { 8, 6, false, 128, 0, 512, 1024, 1024, 0, 0, 2048 },
    { 8, 6, true, 128, 0, 256, 512, 512, 0, 0, 2048 },
    { 8, 9, false, 128, 0, 512, 1024, 1024, 2048, 0, 2048 },
    { 8, 9, true, 128, 0, 256, 512, 512, 1024, 0, 2048 },
    { 9, 0, false, 128, 256, 2048, 4096, 4096, 8192, 0, 8192 },
    { 10, 0, false, 128, 0, 4096, 8192, 8192, 16384, 32768, 16384 },
    { 12, 0, false, 128, 0, 512, 1024, 1024, 2048, 4096, 2048 },
    { 12, 0, true, 128, 0, 256, 512, 512, 1024, 4096, 2048 },
};

/* Where a product runs when there is no unit for its own format: the next one that can hold it. */
static const enum lpo_dtype wider[LPO_DTYPES] = {
    [LPO_FP4] = LPO_FP8,   [LPO_FP8] = LPO_BF16,        [LPO_INT4] = LPO_BF16,
    [LPO_INT8] = LPO_BF16, [LPO_BF16] = LPO_FP16,       [LPO_FP16] = LPO_FP32,
    [LPO_TF32] = LPO_FP32, [LPO_FP64] = LPO_DTYPE_NONE,
};

double lpo_gpu_hardware_peak(const struct lpo_hardware *hw, enum lpo_dtype dtype,
                             enum lpo_dtype *used)
{
    enum lpo_dtype t = dtype;

    if (t == LPO_INT4)
        t = wider[t];
    while (t != LPO_DTYPE_NONE && hw->flops[t] <= 0)
        t = wider[t];
    if (used)
        *used = t;
    return t == LPO_DTYPE_NONE ? 0 : hw->flops[t];
}

double lpo_gpu_hardware_ridge(const struct lpo_hardware *hw, enum lpo_dtype dtype)
{
    return hw->bandwidth > 0 ? lpo_gpu_hardware_peak(hw, dtype, NULL) / hw->bandwidth : 0;
}

static const struct rate_row *find_row(const struct lpo_gpu_attributes *gpu)
{
    bool geforce = gpu->name && strcasestr(gpu->name, "geforce");
    const struct rate_row *found = NULL;

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        if (rates[i].major != gpu->cc_major || rates[i].minor != gpu->cc_minor)
            continue;
        /* professional boards stand first; a nameless GPU takes the last, lower row */
        if (!found || !gpu->name || rates[i].geforce == geforce)
            found = &rates[i];
    }
    return found;
}

bool lpo_gpu_hardware_compute(const struct lpo_gpu_attributes *gpu, struct lpo_hardware *out)
{
    const struct rate_row *r = find_row(gpu);
    double cycles = (double)gpu->sms * gpu->clock_hz;

    if (!r || cycles <= 0)
        return false;
    *out = (struct lpo_hardware){
        .name = gpu->name,
        .label = gpu->name,
        .source = "computed",
        .bandwidth = 2 * gpu->memory_clock_hz * gpu->bus_bits / 8,
        .memory = gpu->memory,
        .l2_bytes = gpu->l2_bytes,
        .sms = gpu->sms,
        .cc_major = gpu->cc_major,
        .cc_minor = gpu->cc_minor,
        .boost_hz = gpu->clock_hz,
        .tensor_hz = gpu->clock_hz,
    };
    out->flops[LPO_FP64] = cycles * r->fp64;
    out->flops[LPO_FP32] = cycles * 2 * r->fp32_lanes;
    out->flops[LPO_TF32] = cycles * r->tf32;
    out->flops[LPO_FP16] = cycles * r->fp16;
    out->flops[LPO_BF16] = cycles * r->bf16;
    out->flops[LPO_FP8] = cycles * r->fp8;
    out->flops[LPO_FP4] = cycles * r->fp4;
    out->flops[LPO_INT8] = cycles * r->int8;
    return true;
}
