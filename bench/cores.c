/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD of a program that starts a worker for each core: CORES of them, whatever the machine
 * has. At its end the processor time of the main thread, which does what is not parallel (and a
 * share of the rest), and of all threads. What many cores would do is read from the two.
 *
 *     cc -shared -fPIC -o cores.so bench/cores.c
 *     CORES=64 LD_PRELOAD=./cores.so build/lpo report rank*.json -o out */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask)
{
    const char *text = getenv("CORES");
    int cores = text ? atoi(text) : 1;

    (void)pid;
    CPU_ZERO_S(size, mask);
    for (int i = 0; i < cores; i++)
        CPU_SET_S((size_t)i, size, mask);
    return 0;
}

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((destructor)) static void say(void)
{
    double main_thread = seconds(CLOCK_THREAD_CPUTIME_ID);
    double all = seconds(CLOCK_PROCESS_CPUTIME_ID);

    fprintf(stderr, "main thread %.2f s, all threads %.2f s\n", main_thread, all);
}
