/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of runs that are recorded in windows. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../include/lpo/control.h"
#include "gpu_client.h"

static const struct fake_wait wait_for_stream = { 131, 126, "cudaStreamSynchronize",
                                                  "cuStreamSynchronize", 1 };

/* Twenty calls of "decode", each with a layer, a copy, a memset and a synchronisation. */
static void decode_calls(int count)
{
    for (int i = 0; i < count; i++) {
        nvtx_lite_push("decode");
        nvtx_lite_push("layer");
        fake_launch(&norm);
        fake_launch(&gemm);
        nvtx_lite_pop();
        fake_copy(1, 4096);
        fake_block(&wait_for_stream);
        nvtx_lite_pop();
        fake_launch(&norm); /* between two calls */
        fake_block(&wait_for_stream);
    }
}

static int windows(void)
{
    nvtx_lite_push("prefill");
    fake_launch(&gemm);
    nvtx_lite_pop();
    nvtx_lite_push("generate");
    decode_calls(20);
    nvtx_lite_pop();
    return 0;
}

/* A chosen range inside itself is one call. */
static int nested(void)
{
    for (int i = 0; i < 4; i++) {
        nvtx_lite_push("decode");
        nvtx_lite_push("decode");
        fake_launch(&gemm);
        nvtx_lite_pop();
        fake_launch(&norm);
        nvtx_lite_pop();
    }
    return 0;
}

static int started(void)
{
    for (int i = 0; i < 4; i++) {
        uint64_t id = nvtx_lite_start("request");
        fake_launch(&gemm);
        nvtx_lite_end(id);
        fake_launch(&norm);
    }
    return 0;
}

static void *worker(void *name)
{
    nvtx_lite_push(name);
    decode_calls(100);
    nvtx_lite_pop();
    return NULL;
}

static int window_threads(void)
{
    return four_times(worker);
}

/* Until $GPU_CLIENT_END is there: who switches from outside has done so often enough. New threads
 * come and go meanwhile. */
static int switched_threads(void)
{
    const char *end = getenv("GPU_CLIENT_END");
    int rc = 0;

    for (int i = 0; i < 2000 && rc == 0 && end && access(end, F_OK) != 0; i++)
        rc = four_times(worker);
    return rc;
}

/* Another thread goes on while CUPTI is attached, which takes its time, and in the window. */
static sem_t go, gone;

static void *others(void *unused)
{
    enum { BEFORE = 1, ATTACHING = 5, INSIDE = 2 };
    static const int calls[] = { BEFORE, ATTACHING, INSIDE };

    (void)unused;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        sem_wait(&go);
        for (int k = 0; k < calls[i]; k++) {
            nvtx_lite_push("other");
            fake_launch(&norm);
            nvtx_lite_pop();
        }
        sem_post(&gone);
    }
    return NULL;
}

static void let_others(void)
{
    sem_post(&go);
    sem_wait(&gone);
}

static int attach_meanwhile(void)
{
    pthread_t t;

    sem_init(&go, 0, 0);
    sem_init(&gone, 0, 0);
    if (pthread_create(&t, NULL, others, NULL) != 0)
        return 1;
    let_others();
    fake_meanwhile = let_others;
    nvtx_lite_push("decode");
    fake_launch(&gemm);
    let_others();
    nvtx_lite_pop();
    pthread_join(t, NULL);
    return 0;
}

/* Threads that end inside a chosen call must not leave its window open. */
static void *ends_inside(void *name)
{
    (void)name;
    nvtx_lite_push("decode");
    fake_launch(&gemm);
    return NULL;
}

static int thread_ends(void)
{
    pthread_t t;

    if (pthread_create(&t, NULL, ends_inside, NULL) != 0)
        return 1;
    pthread_join(t, NULL);
    fake_launch(&norm);
    return 0;
}

/* Between windows the graph is captured; its launches are recorded inside them only. */
static int window_graph(void)
{
    static const struct fake_node nodes[] = {
        { 101, 0, { "_Z4gemmPf", 128, 256, 0, 7, 0, 0 }, 0, 0 },
        { 102, 0, { "rms_norm", 64, 128, 0, 7, 0, 0 }, 0, 0 }
    };
    static const struct fake_graph graph = { 9, 2, nodes };

    nvtx_lite_push("capture");
    fake_capture(101);
    fake_capture(102);
    nvtx_lite_pop();
    fake_instantiate(&graph);
    for (int i = 0; i < 10; i++) {
        nvtx_lite_push("decode");
        fake_graph_launch(&graph);
        nvtx_lite_pop();
    }
    return 0;
}

static void slow_call(void)
{
    struct fake_wait w = wait_for_stream;

    w.us = 30000;
    nvtx_lite_push("decode");
    fake_block(&w);
    nvtx_lite_pop();
}

/* A child of fork inside a range that began outside the window. */
static int window_fork(void)
{
    pid_t pid;
    int status = 1;

    nvtx_lite_push("outer");
    pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 2; i++) {
            nvtx_lite_push("decode");
            nvtx_lite_pop();
            nvtx_lite_push("other");
            nvtx_lite_pop();
        }
        nvtx_lite_pop();
        exit(0);
    }
    waitpid(pid, &status, 0);
    nvtx_lite_pop();
    return status;
}

/* One call of "decode" for each line that comes in; "close" closes what the collector opened. */
static int serve(void)
{
    char line[64];

    nvtx_lite_push("serve");
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "close\n") == 0)
            close_range(3, ~0u, 0);
        else if (strcmp(line, "abort\n") == 0)
            abort();
        else if (strcmp(line, "slow\n") == 0)
            slow_call();
        else
            decode_calls(strcmp(line, "many\n") == 0 ? 30000 : 1);
        puts("done");
        fflush(stdout);
    }
    nvtx_lite_pop();
    return 0;
}

/* A day of windows of a second: 86,400 calls, each the one that is recorded. What the process holds
 * must not grow: the memory after the first hour is that after the last. */
static long resident_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (!f)
        return 0;
    if (fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) >> 10);
}

static int a_day(void)
{
    enum { SECONDS = 86400, HOUR = 3600 };
    long first = 0, last;

    for (int i = 0; i < SECONDS; i++) {
        decode_calls(1);
        if (i % 400 == 0)
            fake_complete(FAKE_IN_ORDER);
        if (i == HOUR)
            first = resident_kb();
    }
    last = resident_kb();
    if (last > first + 4096) {
        fprintf(stderr, "%ld KiB after an hour, %ld KiB after a day\n", first, last);
        return 1;
    }
    return 0;
}

/* What `lpo ctl` does, here by the program itself. */
static int tell(const char *word)
{
    const char *dir = getenv("LPO_COLLECT_DIR");
    int folder = open(dir ? dir : ".", O_RDONLY | O_DIRECTORY), rc = 1;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char name[32], reply[512];
    struct sockaddr_un address;
    socklen_t len;

    snprintf(name, sizeof name, "%d%s", (int)getpid(), LPO_CONTROL_SUFFIX);
    len = lpo_control_address(&address, folder, name);
    if (connect(fd, (struct sockaddr *)&address, len) == 0 &&
        send(fd, word, strlen(word), MSG_NOSIGNAL) > 0 && recv(fd, reply, sizeof reply, 0) > 0)
        rc = 0;
    close(fd);
    close(folder);
    return rc;
}

/* A kernel runs when the window is ended from outside. */
static int stopped(void)
{
    static const struct fake_kernel slow = { "slow", 1, 32, 0, 7, 0, 60000000 };
    int rc = 0;

    for (int i = 0; i < 3 && rc == 0; i++) {
        rc |= tell("start\n");
        fake_launch(&norm);
        fake_launch(&slow);
        rc |= tell("stop\n");
        fake_launch(&norm);
    }
    return rc;
}

const struct gpu_scenario window_scenarios[] = {
    { "windows", windows },
    { "nested", nested },
    { "started", started },
    { "window_threads", window_threads },
    { "switched_threads", switched_threads },
    { "attach_meanwhile", attach_meanwhile },
    { "thread_ends", thread_ends },
    { "window_graph", window_graph },
    { "window_fork", window_fork },
    { "serve", serve },
    { "stopped", stopped },
    { "a_day", a_day },
    { NULL, NULL },
};
