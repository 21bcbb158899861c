/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/new_kernels.h - gaps around the first launch of a kernel.
 *
 * When a kernel is launched for the first time, its code may have to be loaded, chosen or compiled,
 * and a library to be set up: that comes once, and is no part of a steady step. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/vec.h"

struct lpo_trace;

enum { LPO_WALL_LATE_NS = 200000 }; /* longer gaps are looked at: a slow launch takes less */

/* A gap in which the host came too late. */
struct lpo_wall_late_gap {
    int64_t ns;
    uint32_t op; /* that ends it, with its start: row of gpu_ops */
};

typedef LPO_VEC(struct lpo_wall_late_gap) lpo_wall_late_gaps;
typedef LPO_VEC(uint32_t) lpo_wall_rows; /* of gpu_ops, in order */

/* The operations that end one of these gaps, where the host spent half of it in an operator of the
 * framework (or in the launch call) that launches a kernel for the first time. */
void lpo_wall_new_kernels(const struct lpo_trace *t, const lpo_wall_late_gaps *gaps,
                          lpo_wall_rows *out);
bool lpo_wall_is_new_kernel(const lpo_wall_rows *rows, uint32_t op);
