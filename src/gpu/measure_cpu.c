/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "gpu/sheets.h"

enum { LANES = 16, CHAINS = 12, STREAM_BYTES = 32 << 20 };
#define LONG_LOOK 0.01 /* seconds */

/* Twelve independent chains of sixteen lanes keep every multiply-add unit busy whatever its
 * latency; the widest instructions the machine has are picked at run time. */
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

struct worker {
    pthread_t thread;
    double seconds, done; /* FLOPs or bytes a second */
    bool stream;
};

/* The thread's own time: on a busy machine a thread also waits, and that says nothing about the
 * CPU. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline __attribute__((always_inline)) float chains(unsigned rounds, float seed)
{
    lanes sum[CHAINS], scale = { 0 }, shift = { 0 };
    float total = 0;

    scale += 0.999f;
    shift += seed;
    for (int c = 0; c < CHAINS; c++)
        sum[c] = shift + (float)c;
    for (unsigned r = 0; r < rounds; r++)
        for (int c = 0; c < CHAINS; c++)
            sum[c] = sum[c] * scale + shift;
    for (int c = 0; c < CHAINS; c++)
        for (int l = 0; l < LANES; l++)
            total += sum[c][l];
    return total;
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static float chains_avx512(unsigned rounds, float seed)
{
    return chains(rounds, seed);
}

__attribute__((target("avx2,fma"))) static float chains_avx2(unsigned rounds, float seed)
{
    return chains(rounds, seed);
}
#endif

static float multiply_add(unsigned rounds, float seed)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return chains_avx512(rounds, seed);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return chains_avx2(rounds, seed);
#endif
    return chains(rounds, seed);
}

static void run_products(struct worker *w)
{
    volatile float keep = 0; /* used, so that the compiler cannot drop the work */
    double start = now(), end, flops = 0;

    do {
        enum { ROUNDS = 20000 };

        keep = multiply_add(ROUNDS, 1e-3f + keep * 1e-30f);
        flops += 2.0 * LANES * CHAINS * ROUNDS;
        end = now();
    } while (end - start < w->seconds);
    w->done = flops / (end - start);
}

/* Reads one array and writes another, both far larger than the caches unless there is no time for
 * that. */
static void run_stream(struct worker *w)
{
    size_t size = w->seconds < LONG_LOOK ? STREAM_BYTES / 32 : STREAM_BYTES;
    double *from = lpo_xmalloc(size), *to = lpo_xmalloc(size);
    size_t n = size / sizeof *from;
    double start, end, bytes = 0;

    /* touched first: a page that is not yet mapped would be timed as a page fault */
    memset(from, 1, size);
    memset(to, 2, size);
    start = now();
    do {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i] * 1.5;
        __asm__ volatile("" : : "r"(to) : "memory"); /* the stores must happen in every round */
        bytes += 2.0 * (double)size;
        end = now();
    } while (end - start < w->seconds);
    w->done = bytes / (end - start);
    free(from);
    free(to);
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;

    if (w->stream)
        run_stream(w);
    else
        run_products(w);
    return NULL;
}

static double measure(int threads, double seconds, bool stream)
{
    LPO_FREED struct worker *w = lpo_xcalloc((size_t)threads, sizeof *w);
    double sum = 0;
    int started = 0;

    for (int i = 0; i < threads; i++)
        w[i] = (struct worker){ .seconds = seconds, .stream = stream };
    while (started + 1 < threads &&
           pthread_create(&w[started + 1].thread, NULL, run_worker, &w[started + 1]) == 0)
        started++;
    run_worker(&w[0]); /* also where no thread can be started: then it is one core that counts */
    for (int i = 0; i <= started; i++) {
        if (i)
            pthread_join(w[i].thread, NULL);
        sum += w[i].done;
    }
    return sum;
}

/* Those that this process may use: in a container fewer than the machine has. */
static int cores(void)
{
    cpu_set_t set;
    long n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                         : sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > 256 ? 256 : (int)n;
}

static const char *model_name(struct lpo_arena *a)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[512];
    const char *name = "CPU";

    while (f && fgets(line, sizeof line, f))
        if (lpo_str_starts(line, "model name")) {
            char *at = strchr(line, ':');

            line[strcspn(line, "\n")] = '\0';
            name = at ? lpo_arena_strdup(a, at + 1 + strspn(at + 1, " ")) : name;
            break;
        }
    if (f)
        fclose(f);
    return name;
}

void lpo_gpu_hardware_measure_cpu(struct lpo_arena *a, double seconds, struct lpo_hardware *out)
{
    int threads = cores();
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    *out = (struct lpo_hardware){ .name = "cpu", .source = "measured" };
    out->label =
        lpo_arena_printf(a, "%s, %d core%s", model_name(a), threads, threads == 1 ? "" : "s");
    out->flops[LPO_FP32] = measure(threads, seconds, false);
    out->flops[LPO_FP64] = out->flops[LPO_FP32] / 2;
    out->bandwidth = measure(threads, seconds, true);
    out->memory = pages > 0 && page > 0 ? (double)pages * (double)page : 0;
}
