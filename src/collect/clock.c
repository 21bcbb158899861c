/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/clock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* The kernel watches the counter and leaves it when cores disagree. */
static bool kernel_trusts_counter(void)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char name[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return true; /* containers without sysfs: the CPU's word must do */
    if (read(fd, name, sizeof name - 1) < 0)
        name[0] = 0;
    close(fd);
    return strncmp(name, "hpet", 4) != 0 && strncmp(name, "acpi_pm", 7) != 0 &&
           strncmp(name, "jiffies", 7) != 0;
}

#if defined(__x86_64__)
static bool counter_is_steady(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)) && kernel_trusts_counter();
}

static uint64_t counter_per_ms(void)
{
    return 2000000; /* between 1 and 6 GHz: only paces flushes */
}
#elif defined(__aarch64__)
static bool counter_is_steady(void)
{
    return kernel_trusts_counter();
}

static uint64_t counter_per_ms(void)
{
    uint64_t hz;

    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
    return hz >= 1000 ? hz / 1000 : 1;
}
#else
static bool counter_is_steady(void)
{
    return false;
}

static uint64_t counter_per_ms(void)
{
    return 1000000;
}
#endif

enum {
    LOOKS = 3,
    STEP_LEAST_NS = 1000000, /* less may be the time between reading the two clocks */
};

static struct lpoc_moment look(const struct lpoc_clock *c, uint64_t *width)
{
    uint64_t before = lpoc_ticks(c->counter);
    uint64_t steady = lpoc_clock_read(CLOCK_MONOTONIC);
    uint64_t real = lpoc_clock_read(CLOCK_REALTIME);
    uint64_t after = lpoc_ticks(c->counter);

    *width = after - before;
    if (!steady || !real) /* a known pair: the reader goes on from it by the counter */
        return (struct lpoc_moment){ .ticks = c->start_ticks, .steady_ns = c->start_steady_ns };
    return (struct lpoc_moment){
        .ticks = c->counter ? before + *width / 2 : steady,
        .steady_ns = steady + (uint64_t)c->offset_ns,
        .wall_ns = (int64_t)(real - steady),
        .wall_is_good = *width < c->ticks_per_ms / 10,
    };
}

/* The narrowest of three looks: an interrupt between the two clocks would bend the line. */
struct lpoc_moment lpoc_clock_now(const struct lpoc_clock *c)
{
    uint64_t width, least;
    struct lpoc_moment best = look(c, &least);

    for (int i = 1; i < LOOKS; i++) {
        struct lpoc_moment m = look(c, &width);
        if (width < least) {
            least = width;
            best = m;
        }
    }
    return best;
}

void lpoc_clock_start(struct lpoc_clock *c, bool want_counter)
{
    struct lpoc_moment now;

    *c = (struct lpoc_clock){ .counter = want_counter && counter_is_steady() };
    c->ticks_per_ms = c->counter ? counter_per_ms() : 1000000;
    now = lpoc_clock_now(c);
    c->offset_ns = c->wall_ns = now.wall_ns;
    c->start_ticks = now.ticks;
    c->start_steady_ns = now.steady_ns + (uint64_t)now.wall_ns;
}

/* CLOCK_REALTIME and CLOCK_MONOTONIC are slewed together, so their difference changes only when
 * someone sets the clock. */
int64_t lpoc_clock_step(struct lpoc_clock *c, const struct lpoc_moment *now)
{
    int64_t before = __atomic_load_n(&c->wall_ns, __ATOMIC_RELAXED), step = now->wall_ns - before;

    if (!now->wall_is_good || (step < STEP_LEAST_NS && step > -STEP_LEAST_NS) ||
        !__atomic_compare_exchange_n(&c->wall_ns, &before, now->wall_ns, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return 0;
    return step;
}

const char *lpoc_clock_name(const struct lpoc_clock *c)
{
    return c->counter ? LPOC_COUNTER_NAME : "monotonic";
}
