/* SPDX-License-Identifier: Apache-2.0 */
/* model/count.h - products of sizes that cannot wrap.
 *
 * A hostile config may ask for any dimension. Counts saturate at LPO_COUNT_MAX, and whoever adds
 * them up reports that the model is beyond counting instead of printing a small wrong number. */
#pragma once

#include "util/base.h"

#define LPO_COUNT_MAX UINT64_MAX

static inline uint64_t lpo_model_mul(uint64_t a, uint64_t b)
{
    uint64_t r;

    return __builtin_mul_overflow(a, b, &r) ? LPO_COUNT_MAX : r;
}

static inline uint64_t lpo_model_mul3(uint64_t a, uint64_t b, uint64_t c)
{
    return lpo_model_mul(lpo_model_mul(a, b), c);
}

static inline uint64_t lpo_model_add(uint64_t a, uint64_t b)
{
    uint64_t r;

    return __builtin_add_overflow(a, b, &r) ? LPO_COUNT_MAX : r;
}
