/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses the fake driver, one scenario per run, for test_gpu.c to trace. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_client.h"
#include "nvtx_client_hooks.h"

const struct fake_kernel gemm = { "_Z4gemmPf", 128, 256, 0, 7, 0, 0 };
const struct fake_kernel norm = { "rms_norm", 64, 128, 0, 7, 0, 0 };

/* The shape of a decode: what a kernel costs in the file is measured on it. */
static void step(int layers)
{
    nvtx_lite_push("step");
    for (int i = 0; i < layers; i++) {
        nvtx_lite_push("layer");
        fake_launch(&norm);
        fake_launch(&gemm);
        fake_launch(&gemm);
        nvtx_lite_pop();
    }
    nvtx_lite_pop();
}

static int decode(void)
{
    nvtx_lite_push("decode");
    for (int i = 0; i < 2; i++)
        step(3);
    nvtx_lite_pop();
    fake_launch(&gemm);
    return 0;
}

static int reversed(void)
{
    decode();
    fake_complete(FAKE_REVERSED);
    return decode();
}

static int kinds(void)
{
    struct fake_kernel other = gemm;
    uint64_t id = nvtx_lite_start("S");

    nvtx_lite_push("A");
    fake_copy(1, 4096);
    fake_copy(2, 100);
    fake_set(64);
    fake_peer(0, 1, 1 << 20);
    other.device = 1;
    other.stream = 13;
    other.untimed = 1;
    fake_launch(&other);
    nvtx_lite_end(id);
    fake_launch(&gemm);
    fake_silent_launch(&norm);
    nvtx_lite_pop();
    return 0;
}

/* A module is unloaded and its memory taken by another kernel's name. */
static int reused_name(void)
{
    char name[32] = "first";
    struct fake_kernel k = { name, 1, 1, 0, 7, 0, 0 };

    fake_launch(&k);
    fake_launch(&k);
    fake_complete(FAKE_IN_ORDER);
    strcpy(name, "second");
    fake_launch(&k);
    fake_complete(FAKE_IN_ORDER);
    return 0;
}

static int many_shapes(void)
{
    for (uint32_t i = 0; i < 60000; i++) {
        struct fake_kernel k = gemm;
        k.grid = i % 30000 + 1;
        k.stream = i % 2000;
        fake_launch(&k);
    }
    return 0;
}

static int steady(void)
{
    nvtx_lite_push("decode");
    for (int i = 0; i < 1000; i++)
        step(33);
    nvtx_lite_pop();
    return 0;
}

/* No space for a while: buffers of records are lost, and after them a kernel that was known before
 * and one that was not. */
static int disk_trouble(void)
{
    static const struct fake_kernel other = { "other", 32, 64, 0, 7, 0, 0 };

    step(100);
    fake_complete(FAKE_IN_ORDER);
    hook_disk_bytes = 0;
    for (int i = 0; i < 300; i++)
        step(200);
    fake_complete(FAKE_IN_ORDER);
    hook_disk_bytes = -1;
    usleep(1100000); /* it is tried once a second */
    nvtx_lite_push("after");
    for (int i = 0; i < 5000; i++) {
        fake_launch(&other);
        fake_launch(&gemm);
    }
    nvtx_lite_pop();
    return 0;
}

static void *launcher(void *name)
{
    for (int i = 0; i < 500; i++) {
        nvtx_lite_push(name);
        fake_launch(&gemm);
        nvtx_lite_pop();
        if (i % 100 == 0)
            fake_complete(FAKE_IN_ORDER);
    }
    return NULL;
}

int four_times(void *(*gpu_op)(void *))
{
    static char names[4][8] = { "t0", "t1", "t2", "t3" };
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        if (pthread_create(&t[i], NULL, gpu_op, names[i]) != 0)
            return 1;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}

static int threads(void)
{
    return four_times(launcher);
}

static int forks(void)
{
    pid_t pid;
    int status = 1;

    nvtx_lite_push("parent");
    fake_launch(&gemm);
    nvtx_lite_pop();
    pid = fork();
    if (pid == 0) {
        nvtx_lite_push("child");
        fake_launch(&norm); /* what no real driver would do after a fork */
        nvtx_lite_pop();
        exit(0);
    }
    waitpid(pid, &status, 0);
    return status;
}

static int fatal(void)
{
    nvtx_lite_push("A");
    fake_launch(&gemm);
    fake_complete(FAKE_IN_ORDER);
    fake_fatal(999);
    nvtx_lite_pop();
    return 0;
}

static int killed(void)
{
    decode();
    fake_complete(FAKE_IN_ORDER);
    fake_launch(&norm); /* never delivered */
    _exit(0);
}

static const struct gpu_scenario launch_scenarios[] = {
    { "decode", decode },
    { "reversed", reversed },
    { "kinds", kinds },
    { "reused_name", reused_name },
    { "many_shapes", many_shapes },
    { "steady", steady },
    { "disk_trouble", disk_trouble },
    { "threads", threads },
    { "forks", forks },
    { "fatal", fatal },
    { "killed", killed },
    { NULL, NULL },
};

static const struct gpu_scenario *find(const char *name)
{
    static const struct gpu_scenario *const groups[] = { launch_scenarios, graph_scenarios,
                                                         call_scenarios, window_scenarios,
                                                         detach_scenarios };

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (const struct gpu_scenario *s = groups[i]; s->name; s++)
            if (strcmp(name, s->name) == 0)
                return s;
    return NULL;
}

int main(int argc, char **argv)
{
    const struct gpu_scenario *s = find(argc > 1 ? argv[1] : "");
    int code;

    if (cuInit(0) != 0)
        return 3;
    if (!s) {
        fprintf(stderr, "no scenario '%s'\n", argc > 1 ? argv[1] : "");
        return 2;
    }
    code = s->run();
    if (fake_errors())
        fprintf(stderr, "%d rules of CUPTI were broken\n", fake_errors());
    return code;
}
