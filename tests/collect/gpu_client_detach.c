/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of runs in which CUPTI is there inside windows only. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_client.h"

/* CUPTI goes at the end of a launch, when all records of the window have come; a minute is for a
 * machine that is very busy. */
static int wait_until_gone(int times)
{
    for (int i = 0; i < 60000; i++) {
        if (fake_finalized() >= times)
            return 0;
        usleep(1000);
        fake_launch(&norm);
    }
    fprintf(stderr, "CUPTI left %d times, not %d\n", fake_finalized(), times);
    return 1;
}

/* Each window has a range and a kernel of its own, so that a launch number that is used twice
 * shows.
 */
static int gone(void)
{
    int rc = 0;

    for (int i = 0; i < 4 && rc == 0; i++) {
        nvtx_lite_push("decode");
        nvtx_lite_push(i % 2 ? "odd" : "even");
        fake_launch(i % 2 ? &gemm : &norm);
        nvtx_lite_pop();
        fake_failed_launch();
        nvtx_lite_pop();
        fake_launch(&norm);
        rc = wait_until_gone(i + 1);
        fake_launch(&norm); /* CUPTI does not see it */
    }
    return rc;
}

/* The kernel runs long after its window. */
static int in_flight(void)
{
    static const struct fake_kernel slow = { "slow", 1, 32, 0, 7, 0, 60000000 };
    int rc = 0;

    for (int i = 0; i < 3 && rc == 0; i++) {
        nvtx_lite_push("decode");
        fake_launch(&norm);
        fake_launch(&slow);
        nvtx_lite_pop();
        rc = wait_until_gone(i + 1);
    }
    return rc;
}

static void one_window(void)
{
    nvtx_lite_push("decode");
    fake_copy(1, 4096);
    fake_launch(&gemm);
    nvtx_lite_pop();
}

/* Kernel records are off when CUPTI is about to leave, and on when it stays. */
static int wait_until(int has_kernels, bool launches)
{
    for (int i = 0; i < 60000; i++) {
        if (fake_has_kernels() == has_kernels)
            return 0;
        usleep(1000);
        if (launches)
            fake_launch(&norm);
    }
    fprintf(stderr, "CUPTI %s\n", has_kernels ? "does not stay" : "is not about to leave");
    return 1;
}

/* Each window opens when CUPTI is about to leave, and no launch came that it could leave at. */
static int reopened(void)
{
    int rc = 0;

    for (int i = 0; i < 3 && rc == 0; i++) {
        one_window();
        rc = wait_until(0, false);
    }
    return rc || fake_finalized();
}

/* It stays at the launch at which it is to leave: because CUPTI refuses. */
static int refused(void)
{
    int rc;

    one_window();
    rc = wait_until(0, false) || wait_until(1, true);
    one_window();
    return rc || fake_finalized();
}

/* Or because a graph was launched just before. */
static int graph_first(void)
{
    static const struct fake_node node = { 101, 0, { "_Z4gemmPf", 128, 256, 0, 7, 0, 0 }, 0, 0 };
    static const struct fake_graph graph = { 9, 1, &node };
    int rc;

    one_window();
    rc = wait_until(0, false);
    fake_graph_launch(&graph);
    rc = rc || wait_until(1, true);
    one_window();
    return rc || fake_finalized();
}

/* CUPTI goes after two windows and may not after the others. */
static int goes_twice(void)
{
    int rc = 0;

    for (int i = 0; i < 5 && rc == 0; i++) {
        nvtx_lite_push("decode");
        fake_launch(&norm);
        nvtx_lite_pop();
        rc = i < 2 ? wait_until_gone(i + 1) : 0;
    }
    return rc;
}

/* A graph is captured in the third window: CUPTI goes before it and not after it. */
static int graph_stays(void)
{
    static const struct fake_node nodes[] = {
        { 101, 0, { "_Z4gemmPf", 128, 256, 0, 7, 0, 0 }, 0, 0 },
        { 102, 0, { "rms_norm", 64, 128, 0, 7, 0, 0 }, 0, 0 }
    };
    static const struct fake_graph graph = { 9, 2, nodes };
    int rc = 0;

    for (int i = 0; i < 6 && rc == 0; i++) {
        nvtx_lite_push("decode");
        if (i == 2) {
            fake_capture(101);
            fake_capture(102);
            fake_instantiate(&graph);
        } else if (i > 2) {
            fake_graph_launch(&graph);
        } else {
            fake_launch(&norm);
        }
        nvtx_lite_pop();
        if (i < 2)
            rc = wait_until_gone(i + 1);
        else
            usleep(20000);
    }
    return rc;
}

/* Another tool has CUPTI when the second and third window open. */
static int held(void)
{
    int rc = 0;

    for (int i = 0; i < 4 && rc == 0; i++) {
        fake_hold(i == 1 || i == 2);
        nvtx_lite_push("decode");
        fake_launch(i < 2 ? &gemm : &norm);
        nvtx_lite_pop();
        rc = wait_until_gone(i == 3 ? 2 : 1);
    }
    return rc;
}

static bool windows_are_over;

static void *launch_on(void *name)
{
    nvtx_lite_push(name);
    while (!__atomic_load_n(&windows_are_over, __ATOMIC_ACQUIRE)) {
        fake_launch(&norm);
        usleep(100);
    }
    nvtx_lite_pop();
    return NULL;
}

static void *open_windows(void *unused)
{
    (void)unused;
    for (int i = 0; i < 40; i++) {
        nvtx_lite_push("decode");
        fake_launch(&gemm);
        nvtx_lite_pop();
        if (i % 10 == 0)
            wait_until_gone(i / 10 + 1);
    }
    __atomic_store_n(&windows_are_over, true, __ATOMIC_RELEASE);
    return NULL;
}

/* Threads launch while CUPTI comes and goes. */
static int busy(void)
{
    pthread_t opens;
    int rc;

    if (pthread_create(&opens, NULL, open_windows, NULL) != 0)
        return 1;
    rc = four_times(launch_on);
    pthread_join(opens, NULL);
    return rc || fake_finalized() < 4;
}

/* The parent's CUPTI may be leaving at that moment. */
static int gone_forks(void)
{
    int status = 0;

    for (int i = 0; i < 20 && status == 0; i++) {
        nvtx_lite_push("decode");
        fake_launch(&gemm);
        nvtx_lite_pop();
        if (fork() == 0) {
            nvtx_lite_push("decode");
            nvtx_lite_pop();
            exit(0);
        }
        wait(&status);
    }
    return status;
}

const struct gpu_scenario detach_scenarios[] = {
    { "gone", gone },
    { "goes_twice", goes_twice },
    { "in_flight", in_flight },
    { "reopened", reopened },
    { "refused", refused },
    { "graph_first", graph_first },
    { "graph_stays", graph_stays },
    { "held", held },
    { "busy", busy },
    { "gone_forks", gone_forks },
    { NULL, NULL },
};
