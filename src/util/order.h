/* SPDX-License-Identifier: Apache-2.0 */
/* util/order.h - what comes before what. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A comparison for qsort() and bsearch(). Of its keys, which name members of the rows `a` and `b`,
 * the first that differs decides:
 *
 *     LPO_COMPARE(by_thread_and_time, struct moment, LPO_UP(thread) ?: LPO_DOWN(ns)); */
#define LPO_COMPARE(name, type, ...)                                                               \
    static int name(const void *lpo_a, const void *lpo_b)                                          \
    {                                                                                              \
        const type *a = lpo_a;                                                                     \
        const type *b = lpo_b;                                                                     \
                                                                                                   \
        return __VA_ARGS__;                                                                        \
    }                                                                                              \
    _Static_assert(true, #name)

#define LPO_UP_OF(x, y)  (((x) > (y)) - ((x) < (y)))
#define LPO_UP(member)   LPO_UP_OF(a->member, b->member)
#define LPO_DOWN(member) LPO_UP_OF(b->member, a->member)
#define LPO_TEXT(member) strcmp(a->member, b->member)

/* Sorts rows that are nearly in order, as events of a file are: finds the runs that are there and
 * merges them, one pass without memory over sorted input, n log(runs) otherwise. Stable, so that
 * events with equal times keep the order of the file. */

/* Does row `a` come strictly before row `b`? */
typedef bool lpo_order_before(const void *ctx, uint32_t a, uint32_t b);

void lpo_order_sort(uint32_t *rows, size_t count, lpo_order_before *before, const void *ctx);
/* Smallest first. */
void lpo_order_sort_ns(int64_t *at, size_t count);
