/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/order.h - GPU operations by device and time. */
#pragma once

#include "util/base.h"

struct lpo_gpu_op;
struct lpo_trace;

/* Operations that have a place on the clock, by device, then start, then order of the file. */
struct lpo_wall_order {
    uint32_t *rows; /* of gpu_ops */
    size_t count;
    uint64_t untimed; /* operations that were left out */
};

struct lpo_wall_order lpo_wall_order_find(const struct lpo_trace *t);
/* The end of the operations of one device that begin at entry `from`. */
size_t lpo_wall_order_device(const struct lpo_wall_order *o, const struct lpo_trace *t,
                             size_t from);
void lpo_wall_order_free(struct lpo_wall_order *o);

/* The recorded part of the run in which `op` was launched: the row of its window, plus two (one: it
 * was launched before the first). 0 where all of the run was recorded. */
size_t lpo_wall_window(const struct lpo_trace *t, const struct lpo_gpu_op *op);
