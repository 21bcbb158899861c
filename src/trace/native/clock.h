/* SPDX-License-Identifier: Apache-2.0 */
/* trace/native/clock.h - from ticks of a cycle counter to CLOCK_REALTIME.
 *
 * Every block header is a pair of both clocks. Between two pairs the rate is taken as even, so a
 * clock that the system slews while the program runs is followed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

struct lpo_tick_pair {
    uint64_t ticks, real_ns;
};

struct lpo_tick_clock {
    LPO_VEC(struct lpo_tick_pair) pairs;
    bool ticks_are_ns;
    size_t last; /* the segment used last: events come in order */
};

void lpo_native_tick_clock_add(struct lpo_tick_clock *c, uint64_t ticks, uint64_t real_ns);
/* After the last pair: sorts them and leaves out those too close to give a rate. */
void lpo_native_tick_clock_settle(struct lpo_tick_clock *c);
/* Never decreases with `ticks`. */
int64_t lpo_native_tick_clock_ns(struct lpo_tick_clock *c, uint64_t ticks);
void lpo_native_tick_clock_free(struct lpo_tick_clock *c);

/* A time of the file as one that sums and differences cannot overflow. */
int64_t lpo_native_ns(uint64_t ns);
