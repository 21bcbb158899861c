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

void lpoc_clock_start(struct lpoc_clock *c, bool want_counter)
{
    c->counter = want_counter && counter_is_steady();
    c->ticks_per_ms = c->counter ? counter_per_ms() : 1000000;
    c->ticks0 = c->real0 = 0;
    lpoc_clock_now(c);
}

struct lpoc_moment lpoc_clock_now(struct lpoc_clock *c)
{
    struct lpoc_moment best = { 0, 0 };
    uint64_t width = UINT64_MAX;

    if (!c->counter) {
        best.ticks = best.real_ns = lpoc_real_ns();
        return best;
    }
    /* The narrowest of three looks: an interrupt between the two clocks would bend the line. */
    for (int i = 0; i < 3; i++) {
        uint64_t before = lpoc_ticks(true);
        uint64_t real = lpoc_real_ns();
        uint64_t after = lpoc_ticks(true);
        if (after - before < width) {
            width = after - before;
            best = (struct lpoc_moment){ before + width / 2, real };
        }
    }
    if (!c->ticks0)
        c->ticks0 = best.ticks, c->real0 = best.real_ns;
    return best;
}

const char *lpoc_clock_name(const struct lpoc_clock *c)
{
    return c->counter ? LPOC_COUNTER_NAME : "realtime";
}
