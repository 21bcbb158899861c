/* SPDX-License-Identifier: Apache-2.0 */
/* toy/ranges.h - the toy's NVTX ranges, which can be switched off for the warm-up.
 *
 * Warm-up runs the same code as the measured repeats; without inner ranges it is one
 * region (`warmup`) and is not counted in `prefill` and `decode`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "nvtx_lite.h"

struct toy_ranges {
    bool on;
};

static inline void toy_push(const struct toy_ranges *r, const char *name)
{
    if (r->on)
        nvtx_lite_push(name);
}

static inline void toy_pop(const struct toy_ranges *r)
{
    if (r->on)
        nvtx_lite_pop();
}

static inline void toy_push_layer(const struct toy_ranges *r, int layer)
{
    char name[24];

    if (!r->on)
        return;
    snprintf(name, sizeof name, "layer%d", layer);
    nvtx_lite_push(name);
}
