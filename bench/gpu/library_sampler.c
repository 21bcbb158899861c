/* SPDX-License-Identifier: Apache-2.0 */
/* library_sampler.c - in which library a thread spends its time: a sampler for
 * bench/gpu/collector_threads.py.
 *
 *     gcc -O2 -shared -fPIC -o library_sampler.so library_sampler.c
 *
 * A signal every `period_us` of wall time, to the calling thread alone, records the program
 * counter; sampler_write() writes lines "library count", largest first. No stack: a function of
 * libc counts as libc, whoever called it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { SAMPLES = 1 << 20, BINS = 1 << 13, NAME = 64 };

static uintptr_t samples[SAMPLES];
static volatile size_t count;
static timer_t timer;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *u = context;

    (void)signal, (void)info;
    if (count < SAMPLES)
        samples[count++] = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
}

int sampler_start(long period_us)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 7 };
    struct itimerspec every = { { 0, period_us * 1000 }, { 0, period_us * 1000 } };

    event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
    if (sigaction(SIGRTMIN + 7, &action, NULL) < 0 ||
        timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
        return -1;
    return timer_settime(timer, 0, &every, NULL);
}

void sampler_stop(void)
{
    timer_delete(timer);
}

struct bin {
    char name[NAME];
    size_t count;
};

/* The library of an address; with `inside` the 64-byte piece of that library, "" elsewhere. */
static void name_of(uintptr_t at, const char *inside, char *out)
{
    Dl_info info = { .dli_fname = NULL };
    const char *path = dladdr((void *)at, &info) && info.dli_fname ? info.dli_fname : "other";
    const char *base = strrchr(path, '/');

    base = base ? base + 1 : path;
    if (!inside)
        snprintf(out, NAME, "%s", base);
    else if (strncmp(base, inside, strlen(inside)) == 0)
        snprintf(out, NAME, "%#lx", (unsigned long)(at - (uintptr_t)info.dli_fbase) & ~63ul);
    else
        out[0] = 0;
}

static int by_count(const void *a, const void *b)
{
    const struct bin *x = a, *y = b;

    return (x->count < y->count) - (x->count > y->count);
}

/* All samples since the program began, by library, or by place inside the library of this name. */
size_t sampler_write(const char *inside, char *out, size_t room)
{
    struct bin *bins = calloc(BINS, sizeof *bins);
    size_t n = 0, len = 0;

    for (size_t i = 0; bins && i < count; i++) {
        char name[NAME];
        size_t k = 0;
        name_of(samples[i], inside, name);
        while (k < n && strcmp(bins[k].name, name) != 0)
            k++;
        if (!name[0] || k == BINS)
            continue;
        if (k == n)
            memcpy(bins[n++].name, name, sizeof name);
        bins[k].count++;
    }
    if (n)
        qsort(bins, n, sizeof *bins, by_count);
    for (size_t k = 0; k < n && len + NAME + 32 < room; k++)
        len += (size_t)snprintf(out + len, room - len, "%s %zu\n", bins[k].name, bins[k].count);
    free(bins);
    return len;
}
