/* SPDX-License-Identifier: Apache-2.0 */
/* util/vec.h - a growable array of any type.
 *
 *     LPO_VEC(int) v = { 0 };
 *     lpo_vec_push(&v, 3);
 *     for (size_t i = 0; i < v.len; i++) use(v.at[i]);
 *     lpo_vec_free(&v);
 *
 * To pass one around, name it: typedef LPO_VEC(struct span) span_vec; */
#pragma once

#include <stdlib.h>

#include "util/arena.h"

#define LPO_VEC(type)                                                                              \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t len, cap;                                                                           \
    }

#define lpo_vec_reserve(v, n)                                                                      \
    do {                                                                                           \
        if ((v)->cap < (n)) {                                                                      \
            size_t cap_ = (v)->cap ? (v)->cap : 8;                                                 \
            while (cap_ < (n))                                                                     \
                cap_ *= 2;                                                                         \
            (v)->at = lpo_xrealloc((v)->at, cap_, sizeof *(v)->at);                                \
            (v)->cap = cap_;                                                                       \
        }                                                                                          \
    } while (0)

#define lpo_vec_push(v, ...)                                                                       \
    do {                                                                                           \
        lpo_vec_reserve((v), (v)->len + 1);                                                        \
        (v)->at[(v)->len++] = (__VA_ARGS__);                                                       \
    } while (0)

/* By a comparison, LPO_COMPARE in util/order.h. */
#define lpo_vec_sort(v, by)                                                                        \
    do {                                                                                           \
        if ((v)->len > 1)                                                                          \
            qsort((v)->at, (v)->len, sizeof *(v)->at, by);                                         \
    } while (0)

#define lpo_vec_free(v)                                                                            \
    do {                                                                                           \
        free((v)->at);                                                                             \
        (v)->at = NULL;                                                                            \
        (v)->len = (v)->cap = 0;                                                                   \
    } while (0)
