/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of count_client.h. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../workloads/nvtx_lite.h"
#include "count_client.h"

/* What the program did itself, by kind; `chosen` in the range that windows are for. */
static uint64_t launched[3], chosen, told[3];

static void on_launch(unsigned kind)
{
    __atomic_add_fetch(&told[kind], 1, __ATOMIC_RELAXED);
}

static bool launch(int entry)
{
    if (!launch_by(entry))
        return false;
    __atomic_add_fetch(&launched[entry >= FAKE_GRAPH ? LPO_COUNT_GRAPH : LPO_COUNT_KERNEL], 1,
                       __ATOMIC_RELAXED);
    return true;
}

static void launch_chosen(int entry)
{
    chosen += launch(entry);
}

static int each(void)
{
    for (int i = 0; i < FAKE_ENTRIES; i++)
        launch(i);
    return 0;
}

static int four_times(void *(*run)(void *))
{
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        if (pthread_create(&t[i], NULL, run, NULL) != 0)
            return 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}

static void *launches(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++)
        launch(i % FAKE_GRAPH);
    return NULL;
}

static int threads(void)
{
    return four_times(launches);
}

/* Calls of "decode" with two kernels, one between them. */
static int windows(void)
{
    launch(FAKE_KERNEL);
    for (int i = 0; i < 20; i++) {
        nvtx_lite_push("decode");
        launch_chosen(FAKE_KERNEL);
        nvtx_lite_push("layer");
        launch_chosen(FAKE_EX_PTSZ);
        nvtx_lite_pop();
        nvtx_lite_pop();
        launch(FAKE_KERNEL_PTSZ);
    }
    return 0;
}

/* CUDA graphs in calls that are not recorded: what they run is not counted. */
static int graphs(void)
{
    for (int i = 0; i < 8; i++) {
        nvtx_lite_push("decode");
        launch_chosen(FAKE_KERNEL);
        if (i == 5)
            launch(FAKE_GRAPH);
        nvtx_lite_pop();
    }
    return 0;
}

static bool are_over;

static void *launch_on(void *unused)
{
    (void)unused;
    nvtx_lite_push("other");
    for (int i = 0; !__atomic_load_n(&are_over, __ATOMIC_ACQUIRE); i++) {
        launch(i % FAKE_GRAPH);
        usleep(100);
    }
    nvtx_lite_pop();
    return NULL;
}

/* CUPTI goes at the end of a launch of another thread; a minute is for a machine that is very busy.
 */
static int wait_until_gone(int (*finalized)(void), int times)
{
    for (int i = 0; i < 60000; i++) {
        if (finalized() >= times)
            return 0;
        usleep(1000);
    }
    fprintf(stderr, "CUPTI left %d times, not %d\n", finalized(), times);
    return 1;
}

static void *open_windows(void *failed)
{
    const char *wanted = getenv("COUNT_CLIENT_CALLS");
    const int calls = wanted ? atoi(wanted) : 100;
    void *found = must_find("fake_finalized");
    int (*finalized)(void) = NULL;

    memcpy(&finalized, &found, sizeof finalized);
    for (int i = 0; i < calls && !*(int *)failed; i++) { /* every second is recorded */
        nvtx_lite_push("decode");
        launch_chosen(FAKE_KERNEL);
        launch_chosen(FAKE_COOPERATIVE);
        nvtx_lite_pop();
        launch(FAKE_KERNEL);
        if (i % 2 == 0)
            *(int *)failed = wait_until_gone(finalized, i / 2 + 1);
    }
    __atomic_store_n(&are_over, true, __ATOMIC_RELEASE);
    return NULL;
}

/* Threads launch while CUPTI comes and goes fifty times, or as often as the environment says. */
static int comes_and_goes(void)
{
    pthread_t opens;
    int failed = 0;

    if (pthread_create(&opens, NULL, open_windows, &failed) != 0)
        return 1;
    four_times(launch_on);
    pthread_join(opens, NULL);
    return failed;
}

/* A child that launches: what no real driver would do. The parent's counts are its own. */
static int forks(void)
{
    int status = 1;
    pid_t pid;

    windows();
    pid = fork();
    if (pid == 0) {
        nvtx_lite_push("child");
        for (int i = 0; i < 7; i++)
            launch_by(FAKE_KERNEL);
        nvtx_lite_pop();
        exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

/* It asks for no launch function. */
static int idle(void)
{
    nvtx_lite_push("decode");
    nvtx_lite_pop();
    return 0;
}

/* More functions of one name than there are places. */
static int variants(void)
{
    int (*get)(const char *, void **, int, uint64_t, int *) = NULL;
    void *found = must_find("cuGetProcAddress_v2"), *unused = NULL;

    memcpy(&get, &found, sizeof get);
    for (int i = 0; i < 6; i++)
        if (get("cuLaunchKernel", &unused, 14000 + i, 0, NULL) != 0)
            return 1;
    return windows();
}

static const struct {
    const char *name;
    int (*run)(void);
} scenarios[] = {
    { "each", each },
    { "threads", threads },
    { "windows", windows },
    { "graphs", graphs },
    { "comes_and_goes", comes_and_goes },
    { "forks", forks },
    { "idle", idle },
    { "variants", variants },
};

/* Without a collector the program listens itself. */
static void listen_to_library(void)
{
    struct lpo_count *library = dlsym(RTLD_DEFAULT, "lpo_count");

    if (library && !getenv("CUDA_INJECTION64_PATH"))
        __atomic_store_n(&library->launched, on_launch, __ATOMIC_RELEASE);
}

/* Calls that went through another preloaded library (another_preload.c). */
static unsigned another(const char *name)
{
    const unsigned *calls = dlsym(RTLD_DEFAULT, name);

    return calls ? *calls : 0;
}

static int run(const char *way, const char *scenario)
{
    int (*init)(unsigned) = NULL;
    void *found;

    if (strcmp(scenario, "idle") != 0 && !reach_driver(way))
        return 2;
    found = must_find("cuInit");
    memcpy(&init, &found, sizeof init);
    if (init(0) != 0)
        return 3;
    listen_to_library();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenario, scenarios[i].name) == 0)
            return scenarios[i].run() ? 4 : 0;
    return 2;
}

/* With the scenario alone: linked, and nothing is printed. */
int main(int argc, char **argv)
{
    const char *scenario = argv[argc - 1];
    uint64_t in_driver = 0;
    int code;

    if (strcmp(scenario, "lookups") == 0)
        return check_lookups();
    code = argc < 2 ? 2 : run(argc > 2 ? argv[1] : "linked", scenario);
    if (code || argc < 3)
        return code;
    for (int i = 0; i < FAKE_ENTRIES; i++)
        in_driver += calls_in_driver(i);
    printf("kernels %llu graphs %llu chosen %llu driver %llu told %llu %llu another %u %u\n",
           (unsigned long long)launched[1], (unsigned long long)launched[2],
           (unsigned long long)chosen, (unsigned long long)in_driver, (unsigned long long)told[1],
           (unsigned long long)told[2], another("another_calls_1"), another("another_calls_2"));
    return 0;
}
