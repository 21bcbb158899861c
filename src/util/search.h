/* SPDX-License-Identifier: Apache-2.0 */
/* util/search.h - search by what is asked of each row.
 *
 *     return lpo_any(i, names.len, strcmp(names.at[i], word) == 0);
 *     return lpo_find(i, all->at, all->len, strcmp(all->at[i].key, key) == 0);   the row, or NULL
 *
 * go through them in order and stop at the first. Rows in order are searched by halves:
 *
 *     size_t low = 0, high = v->len;
 *
 *     lpo_search(low, high, i, v->at[i].start_ns < ns);
 *     // low: the first row of [0, v->len) that does not start before ns, v->len where all do
 *
 * The last argument is an expression in `i`: true for the rows at the beginning, false for those
 * behind them. `low` and `high` are variables of type size_t and end up equal. */
#pragma once

#include <stdbool.h>
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

#define lpo_any(i, count, ...)                                                                     \
    ({                                                                                             \
        const size_t lpo_end_ = (count);                                                           \
        size_t i = 0;                                                                              \
                                                                                                   \
        while (i < lpo_end_ && !(__VA_ARGS__))                                                     \
            i++;                                                                                   \
        i < lpo_end_;                                                                              \
    })

#define lpo_find(i, rows, count, ...)                                                              \
    ({                                                                                             \
        const size_t lpo_end_ = (count);                                                           \
        size_t i = 0;                                                                              \
                                                                                                   \
        while (i < lpo_end_ && !(__VA_ARGS__))                                                     \
            i++;                                                                                   \
        i < lpo_end_ ? &(rows)[i] : NULL;                                                          \
    })
