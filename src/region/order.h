/* region/order.h - sorting rows by index, quick where they are nearly in order already.
 *
 * Traces are written almost in order of time. A natural merge sort finds the runs that are there
 * and merges them: one pass over sorted input, n log(runs) otherwise, and stable, so that events
 * with equal times keep the order of the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does row `a` come strictly before row `b`? */
typedef bool lpo_before(const void *ctx, uint32_t a, uint32_t b);

void lpo_region_order_sort(uint32_t *rows, size_t count, lpo_before *before, const void *ctx);
