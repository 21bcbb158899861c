/* SPDX-License-Identifier: Apache-2.0 */
/* util/search.h - binary search by what is asked of each row.
 *
 *     size_t low = 0, high = v->len;
 *
 *     lpo_search(low, high, i, v->at[i].start_ns < ns);
 *     // low: the first row of [0, v->len) that does not start before ns, v->len where all do
 *
 * The last argument is an expression in `i`: true for the rows at the beginning, false for those
 * behind them. `low` and `high` are variables of type size_t and end up equal. */
#pragma once

#include <stddef.h>

#define lpo_search(low, high, i, ...)                                                              \
    do {                                                                                           \
        while ((low) < (high)) {                                                                   \
            size_t i = (low) + ((high) - (low)) / 2;                                               \
                                                                                                   \
            if (__VA_ARGS__)                                                                       \
                (low) = i + 1;                                                                     \
            else                                                                                   \
                (high) = i;                                                                        \
        }                                                                                          \
    } while (0)
