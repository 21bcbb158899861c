/* collect/clock.h - the cheapest trustworthy clock of this machine.
 *
 * clock_gettime costs 24 ns here, the cycle counter 10: with two stamps per range that is the
 * difference between 55 and 28 ns. The counter is used when the CPU says it runs at one
 * rate in every state and the kernel has not given up on it; each block then carries a pair
 * (ticks, CLOCK_REALTIME) and the reader converts. CUPTI stamps with CLOCK_REALTIME. */
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
    bool counter;           /* else ticks are CLOCK_REALTIME ns */
    uint64_t ticks_per_ms;  /* roughly: it only paces flushes */
    uint64_t ticks0, real0; /* the first pair */
};

/* A moment on both clocks. */
struct lpoc_moment {
    uint64_t ticks, real_ns;
};

static inline uint64_t lpoc_real_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
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
    return lpoc_real_ns();
}

/* `want_counter` false keeps CLOCK_REALTIME. */
void lpoc_clock_start(struct lpoc_clock *c, bool want_counter);
struct lpoc_moment lpoc_clock_now(struct lpoc_clock *c);
const char *lpoc_clock_name(const struct lpoc_clock *c);
