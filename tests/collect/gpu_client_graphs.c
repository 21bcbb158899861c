/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs of the traced program. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_client.h"

static int graphs(void)
{
    const struct fake_node nodes[] = { { .id = 5, .kernel = norm }, { .id = 6, .kernel = gemm } };
    const struct fake_graph graph = { 9, 2, nodes };

    nvtx_lite_push("capture");
    nvtx_lite_push("norm");
    fake_capture(5);
    nvtx_lite_pop();
    nvtx_lite_push("mlp");
    fake_capture(6);
    nvtx_lite_pop();
    nvtx_lite_pop();
    fake_instantiate(&graph);
    for (int i = 0; i < 3; i++) {
        nvtx_lite_push("replay");
        fake_graph_launch(&graph);
        nvtx_lite_pop();
    }
    return 0;
}

/* Kernels seen before they are captured, a copy, a set, an event, a graph inside the graph. */
static int warm_graph(void)
{
    struct fake_kernel slow = gemm, other = { "never_seen", 1, 1, 0, 7, 0, 0 };
    const struct fake_node inner[] = { { .id = 21, .kernel = slow },
                                       { .id = 22, .kernel = other } };
    const struct fake_graph child = { 1, 2, inner };
    const struct fake_node nodes[] = { { .id = 11, .kernel = norm },
                                       { .id = 12, .type = 1, .bytes = 64 },
                                       { .id = 13, .type = 2, .bytes = 32 },
                                       { .id = 14, .type = 7 },
                                       { .id = 15, .type = 4, .child = &child } };
    const struct fake_graph graph = { 9, 5, nodes };

    slow.ns = 4500;
    fake_launch(&norm);
    fake_launch(&slow);
    nvtx_lite_push("capture");
    fake_capture(11);
    fake_capture(21);
    nvtx_lite_pop();
    fake_instantiate(&graph);
    nvtx_lite_push("replay");
    fake_graph_launch(&graph);
    nvtx_lite_pop();
    fake_graph_change(696, 0);
    return 0;
}

static volatile sig_atomic_t signals;

static void on_signal(int signal)
{
    char name[32] = "handler ";

    (void)signal;
    name[8] = (char)('a' + signals % 26); /* a name that is often new */
    name[9] = (char)('a' + signals / 26 % 26);
    nvtx_lite_push(name);
    nvtx_lite_pop();
    signals++;
}

/* A signal handler that marks ranges while graphs are listed, which takes a lock. */
static int graph_signals(void)
{
    static struct fake_node nodes[200];
    const struct itimerval every = { { 0, 300 }, { 0, 300 } };
    const struct itimerval never = { { 0, 0 }, { 0, 0 } };

    for (int i = 0; i < 200; i++)
        nodes[i] = (struct fake_node){ .id = 100 + (uint64_t)i, .kernel = i % 2 ? gemm : norm };
    signal(SIGALRM, on_signal);
    setitimer(ITIMER_REAL, &every, NULL);
    for (uint32_t i = 0; i < 20000 && signals < 200; i++) {
        const struct fake_graph graph = { 100 + i, 200, nodes };
        fake_instantiate(&graph);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}

/* What was refused changes nothing; a kernel switched off does. */
static int changed_graph(void)
{
    const struct fake_node nodes[] = { { .id = 41, .kernel = gemm } };
    const struct fake_graph graph = { 4, 1, nodes };

    fake_instantiate(&graph);
    fake_graph_change(696, 910);
    fake_graph_change(650, 0);
    fake_graph_launch(&graph);
    return 0;
}

/* Whose body runs as often as the GPU decides. */
static int conditional_graph(void)
{
    const struct fake_node nodes[] = { { .id = 31, .kernel = gemm }, { .id = 32, .type = 13 } };
    const struct fake_graph graph = { 4, 2, nodes };

    fake_instantiate(&graph);
    fake_graph_launch(&graph);
    return 0;
}

/* More nodes than one definition holds. */
static int large_graph(void)
{
    enum { COUNT = 2500 };
    static struct fake_node nodes[COUNT];
    static const struct fake_graph graph = { 70000, COUNT, nodes };

    for (int i = 0; i < COUNT; i++)
        nodes[i] = (struct fake_node){ .id = 100 + (uint64_t)i, .kernel = i % 2 ? gemm : norm };
    fake_instantiate(&graph);
    fake_graph_launch(&graph);
    return 0;
}

/* The child's file has no need of its parent's graphs. */
static int forked_graphs(void)
{
    int status = 0;
    pid_t child;

    large_graph();
    child = fork();
    if (child == 0) {
        nvtx_lite_push("child");
        nvtx_lite_pop();
        exit(0);
    }
    return waitpid(child, &status, 0) != child || status != 0;
}

/* Each thread makes graphs of its own and launches them. */
static void *grapher(void *name)
{
    const uint64_t base = 1000u * (uint64_t)(((const char *)name)[1] - '0') + 5000;
    const struct fake_node nodes[] = { { .id = base, .kernel = norm },
                                       { .id = base + 1, .kernel = gemm } };

    for (uint32_t i = 0; i < 20; i++) {
        const struct fake_graph graph = { (uint32_t)base + i, 2, nodes };

        nvtx_lite_push(name);
        fake_instantiate(&graph);
        fake_graph_launch(&graph);
        nvtx_lite_pop();
    }
    return NULL;
}

static int graph_threads(void)
{
    return four_times(grapher);
}

const struct gpu_scenario graph_scenarios[] = {
    { "graphs", graphs },
    { "warm_graph", warm_graph },
    { "conditional_graph", conditional_graph },
    { "large_graph", large_graph },
    { "graph_threads", graph_threads },
    { "graph_signals", graph_signals },
    { "changed_graph", changed_graph },
    { "forked_graphs", forked_graphs },
    { NULL, NULL },
};
