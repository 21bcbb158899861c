/* SPDX-License-Identifier: Apache-2.0 */
/* collect/clock.h - the cheapest trustworthy clock of this machine.
 *
 * clock_gettime costs 24 ns here, the cycle counter 10: with two stamps per range that is the
 * difference between 55 and 28 ns. The counter is used when the CPU says it runs at one
 * rate in every state and the kernel has not given up on it; each block then carries a pair
 * (ticks, steady time) and the reader converts.
 *
 * Steady time starts as CLOCK_REALTIME, because CUPTI stamps with it, and goes on as
 * CLOCK_MONOTONIC: a wall clock that is set while the program runs changes no duration. From then
 * on CUPTI's times and ours lie apart by that step, and a note in the file says so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define LPOC_COUNTER_NAME "tsc"
#elif defined(__aarch64__)
#define LPOC_COUNTER_NAME "cntvct"
#else
#define LPOC_COUNTER_NAME "none"
#endif

struct lpoc_clock {
    bool counter;          /* else ticks are CLOCK_MONOTONIC ns */
    uint64_t ticks_per_ms; /* roughly: it only paces flushes */
    int64_t offset_ns;     /* wall clock minus CLOCK_MONOTONIC at the start: fixed for the run */
    int64_t wall_ns;       /* the same as seen last; atomic */
    uint64_t start_ticks, start_steady_ns; /* a pair for when a sandbox forbids to read the clock */
};

/* One moment: ticks, and steady time, which is the wall clock of the start plus what
 * CLOCK_MONOTONIC has counted since. */
struct lpoc_moment {
    uint64_t ticks, steady_ns;
    int64_t wall_ns;   /* wall clock minus CLOCK_MONOTONIC now */
    bool wall_is_good; /* the two were read close enough to each other to compare */
};

/* 0: a sandbox forbids it, as strict filters do where the clock is a system call. */
static inline uint64_t lpoc_clock_read(clockid_t id)
{
    struct timespec t = { 0, 0 };

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t lpoc_ticks(bool counter)
{
#if defined(__x86_64__)
    if (__builtin_expect(counter, 1))
        return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    if (__builtin_expect(counter, 1)) {
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    (void)counter;
    return lpoc_clock_read(CLOCK_MONOTONIC);
}

/* `want_counter` false takes CLOCK_MONOTONIC. */
void lpoc_clock_start(struct lpoc_clock *c, bool want_counter);
struct lpoc_moment lpoc_clock_now(const struct lpoc_clock *c);
/* By how much the wall clock was set since this was last asked; 0: it was not. */
int64_t lpoc_clock_step(struct lpoc_clock *c, const struct lpoc_moment *now);
const char *lpoc_clock_name(const struct lpoc_clock *c);
