/* SPDX-License-Identifier: Apache-2.0 */
/* run/clock.h - the two clocks. */
#pragma once

#include <time.h>

#include "util/base.h"

static inline int64_t lpo_run_clock_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* For durations. */
static inline int64_t lpo_run_clock_ns(void)
{
    return lpo_run_clock_of(CLOCK_MONOTONIC);
}

/* For dates. */
static inline int64_t lpo_run_clock_unix_ns(void)
{
    return lpo_run_clock_of(CLOCK_REALTIME);
}
