/* SPDX-License-Identifier: Apache-2.0 */
/* region/top_kernels.h - kernels counted by name over a whole trace, most expensive first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "region/cells.h"
#include "region/kernel_name/parts.h"
#include "util/vec.h"

struct lpo_top_row {
    struct lpo_sum sum;
    uint32_t name;
    double share; /* of the GPU time of all kernels, 0 … 1; 0 when none is known */
};

typedef LPO_VEC(struct lpo_top_row) lpo_top_rows;

/* Rows of the given kind of GPU operation; the caller frees the vector. */
void lpo_region_top(const struct lpo_region_cells *cells, enum lpo_gpu_op_kind kind,
                    lpo_top_rows *out);
