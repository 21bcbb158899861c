/* SPDX-License-Identifier: Apache-2.0 */
/* util/checked.h - sums of times that a file may have made up.
 *
 * A file can hold times at the ends of int64, and signed overflow is undefined. The trace refuses
 * events longer than a year and files of more than 73 years (trace/times.c), so a sum that reaches
 * the end here is a bug; it stays at the end instead of wrapping to a negative time. */
#pragma once

#include "util/base.h"

static inline int64_t lpo_ns_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN + 1 : INT64_MAX; /* INT64_MIN is LPO_NO_TIME */
    return sum;
}
