/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA graphs under the collector: timed as a whole and listed, or kernel by kernel. */
#include "../unit.h"
#include "gpu_case.h"

#define UNLISTED                                                                                   \
    "CUDA graphs could not be listed (conditional nodes, or too many graphs): their launches are " \
    "shown as one kernel each; pipeline.native.graphs=nodes records every kernel\n"

static const struct gpu_case cases[] = {
    { "graphs, node by node",
      "graphs",
      { "LPO_COLLECT_GRAPH_NODES=1" },
      "thread gpu_client\n"
      "  capture x1\n"
      "    norm x1\n"
      "    mlp x1\n"
      "  replay x3\n" GEMM "replay (graph) captured in capture/mlp x3\n" NORM
      "replay (graph) captured in capture/norm x3\n" },
    { "graphs as a whole",
      "graphs",
      { 0 },
      "thread gpu_client\n"
      "  capture x1\n"
      "    norm x1\n"
      "    mlp x1\n"
      "  replay x3\n" GEMM "replay (graph) (a share of 2500 ns) captured in capture/mlp x3\n" NORM
      "replay (graph) (a share of 2500 ns) captured in capture/norm x3\n"
      "note 6 kernels in CUDA graphs were never seen outside one: their share of the graph's time "
      "is a guess\n" },
    { "graphs as a whole, and one that has no id",
      "graphs",
      { "FAKE_FAIL=cuptiGetGraphExecId:27" },
      "thread gpu_client\n"
      "  capture x1\n"
      "    norm x1\n"
      "    mlp x1\n"
      "  replay x3\n"
      "kernel CUDA graph 9 dev 0 stream 7 in replay (whole graph) x3\n"
      "note 1 " UNLISTED },
    { "graphs under a driver that cannot list them: node by node",
      "old:graphs",
      { 0 },
      "thread gpu_client_old\n"
      "  capture x1\n"
      "    norm x1\n"
      "    mlp x1\n"
      "  replay x3\n" GEMM "replay (graph) captured in capture/mlp x3\n" NORM
      "replay (graph) captured in capture/norm x3\n" },
    { "a graph of seen kernels, copies and another graph",
      "warm_graph",
      { 0 },
      "thread gpu_client\n"
      "  capture x1\n"
      "  replay x1\n"
      "copy Memcpy (CUDA graph) 64 bytes dev 0 stream 7 in replay (graph) (a share of 1590 ns) "
      "x1\n" GEMM "(outside) x1\n" GEMM
      "replay (graph) (a share of 1339 ns) captured in capture x1\n"
      "kernel never_seen <<<1,1,1|1,1,1>>> dev 0 stream 7 in replay (graph) (a share of 893 ns) "
      "x1\n" NORM "(outside) x1\n" NORM
      "replay (graph) (a share of 446 ns) captured in capture x1\n"
      "set Memset (CUDA graph) 32 bytes dev 0 stream 7 in replay (graph) (a share of 732 ns) x1\n"
      "note 1 kernels in CUDA graphs were never seen outside one: their share of the graph's time "
      "is a guess\n"
      "note 1 times a CUDA graph was changed after its kernels were listed: those are shown as "
      "they "
      "were first; pipeline.native.graphs=nodes records every kernel as it ran\n" },
    { "a graph with a conditional node",
      "conditional_graph",
      { 0 },
      "kernel CUDA graph 4 dev 0 stream 7 in (outside) (whole graph) x1\n"
      "note 1 " UNLISTED },
    { "a graph of 2500 nodes",
      "large_graph",
      { 0 },
      GEMM "(outside) (graph) (a share of 2 ns) x1250\n" NORM
           "(outside) (graph) (a share of 2 ns) x1250\n"
           "note 2500 kernels in CUDA graphs were never seen outside one: their share of the "
           "graph's time is a guess\n" },
    { "graphs of four threads",
      "graph_threads",
      { 0 },
      "thread gpu_client\n"
      "  t0 x20\n"
      "thread gpu_client\n"
      "  t1 x20\n"
      "thread gpu_client\n"
      "  t2 x20\n"
      "thread gpu_client\n"
      "  t3 x20\n" GEMM "t0 (graph) (a share of 2500 ns) x20\n" GEMM
      "t1 (graph) (a share of 2500 ns) x20\n" GEMM "t2 (graph) (a share of 2500 ns) x20\n" GEMM
      "t3 (graph) (a share of 2500 ns) x20\n" NORM "t0 (graph) (a share of 2500 ns) x20\n" NORM
      "t1 (graph) (a share of 2500 ns) x20\n" NORM "t2 (graph) (a share of 2500 ns) x20\n" NORM
      "t3 (graph) (a share of 2500 ns) x20\n"
      "note 160 kernels in CUDA graphs were never seen outside one: their share of the graph's "
      "time "
      "is a guess\n" },
    { "kernels off, those of graphs too",
      "graphs",
      { "LPO_COLLECT_KERNELS=0" },
      "thread gpu_client\n"
      "  capture x1\n"
      "    norm x1\n"
      "    mlp x1\n"
      "  replay x3\n" },
    { "copies off, those of graphs too",
      "warm_graph",
      { "LPO_COLLECT_COPIES=0" },
      "thread gpu_client\n"
      "  capture x1\n"
      "  replay x1\n" GEMM "(outside) x1\n" GEMM
      "replay (graph) (a share of 2500 ns) captured in capture x1\n"
      "kernel never_seen <<<1,1,1|1,1,1>>> dev 0 stream 7 in replay (graph) (a share of 1667 ns) "
      "x1\n" NORM "(outside) x1\n" NORM
      "replay (graph) (a share of 833 ns) captured in capture x1\n"
      "note 1 kernels in CUDA graphs were never seen outside one: their share of the graph's time "
      "is a guess\n"
      "note 1 times a CUDA graph was changed after its kernels were listed: those are shown as "
      "they were first; pipeline.native.graphs=nodes records every kernel as it ran\n" },
    { "whole graphs refused: node by node",
      "graphs",
      { "FAKE_FAIL=cuptiActivityEnable.51:27" },
      "thread gpu_client\n"
      "  capture x1\n"
      "    norm x1\n"
      "    mlp x1\n"
      "  replay x3\n" GEMM "replay (graph) captured in capture/mlp x3\n" NORM
      "replay (graph) captured in capture/norm x3\n" },
    { "a graph whose kernel was switched off, and a change that was refused",
      "changed_graph",
      { 0 },
      GEMM "(outside) (graph) (a share of 5000 ns) x1\n"
           "note 1 kernels in CUDA graphs were never seen outside one: their share of the graph's "
           "time is a guess\n"
           "note 1 times a CUDA graph was changed after its kernels were listed: those are shown "
           "as they were first; pipeline.native.graphs=nodes records every kernel as it ran\n" },
};

/* A handler's NVTX calls while a graph is listed are counted or recorded, and never wait. */
static void a_signal_handler_never_waits(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("graph_signals", NULL, &t, &text); /* fails when the program does not end */
    traced_free(&t);
}

/* The child's first call attaches NVTX, after its parent has written a part of its stream. */
static void a_child_starts_a_stream_of_its_own(void **state)
{
    static const char *const often[] = { "LPO_COLLECT_FLUSH_MS=1", NULL };
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("forked_graphs", often, &t, &text);
    assert_non_null(strstr(text.at, "  child x1\n"));
    assert_null(strstr(text.at, "damaged"));
    traced_free(&t);
}

/* A list is in the file of the process that launches the graph, and in no child's. */
static void children_have_no_lists(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("forked_graphs", NULL, &t, &text);
    assert_non_null(strstr(text.at, "  child x1\n"));
    assert_int_equal(t.files, 2);
    assert_int_equal(t.trace->gpu_ops.len, 2500);
    assert_true(t.bytes > 40000 && t.bytes < 70000); /* the list of 2500 nodes once */
    traced_free(&t);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, gpu_check);
    UNIT_TEST(&u, a_signal_handler_never_waits);
    UNIT_TEST(&u, children_have_no_lists);
    UNIT_TEST(&u, a_child_starts_a_stream_of_its_own);
    return unit_run(&u);
}
