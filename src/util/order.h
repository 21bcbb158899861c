/* SPDX-License-Identifier: Apache-2.0 */
/* util/order.h - sorts rows that are nearly in order, as events of a file are.
 *
 * Finds the runs that are there and merges them: one pass without memory over sorted input,
 * n log(runs) otherwise. Stable, so that events with equal times keep the order of the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does row `a` come strictly before row `b`? */
typedef bool lpo_order_before(const void *ctx, uint32_t a, uint32_t b);

void lpo_order_sort(uint32_t *rows, size_t count, lpo_order_before *before, const void *ctx);
/* Smallest first. */
void lpo_order_sort_ns(int64_t *at, size_t count);
