/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI inside windows only: it comes with one and goes after it, and the trace is what it would be
 * had it stayed. */
#include "../unit.h"
#include "gpu_case.h"

#define INSIDE  "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_ATTACH=2"
#define AT_ONCE INSIDE, "LPO_COLLECT_CAPTURE_LINGER_MS=0"
#define CALLS_NOTE(n, all)                                                                         \
    "note " n " calls of \"decode\" were recorded, of " all                                        \
    " that the program made: everything here is about these alone\n"
#define COPY "copy Memcpy HtoD (Pageable -> Device) 4096 bytes dev 0 stream 7 in "

static const struct gpu_case cases[] = {
    { "every call, CUPTI has no time to go",
      "windows",
      { INSIDE },
      "thread gpu_client\n"
      "  generate x1\n"
      "    decode x20\n"
      "      layer x20\n" COPY "generate/decode x20\n" GEMM "generate/decode/layer x20\n" NORM
      "generate/decode/layer x20\n" CALLS_NOTE("20", "20") },
    { "three in a row of every nine, CUPTI goes at once or not",
      "windows",
      { AT_ONCE, "LPO_COLLECT_CAPTURE_EVERY=3", "LPO_COLLECT_CAPTURE_IN_A_ROW=3" },
      "thread gpu_client\n"
      "  generate x1\n"
      "    decode x8\n"
      "      layer x8\n" COPY "generate/decode x8\n" GEMM "generate/decode/layer x8\n" NORM
      "generate/decode/layer x8\n" CALLS_NOTE("8", "20") },
    { "it has gone before each next window: launches keep numbers of their own",
      "gone",
      { AT_ONCE },
      "thread gpu_client\n"
      "  decode x4\n"
      "    even x2\n"
      "    odd x2\n" GEMM "decode/odd x2\n" NORM "decode/even x2\n" CALLS_NOTE("4", "4") },
    { "it comes and goes so often and no more",
      "goes_twice",
      { AT_ONCE, "LPO_COLLECT_CAPTURE_LEAVES=2" },
      "thread gpu_client\n"
      "  decode x5\n" NORM "decode x5\n"
      "note 0 CUPTI stays in the process from here on (attach: inside): it has come and gone 2 "
      "times, and keeps some memory each time\n" CALLS_NOTE("5", "5") },
    { "it does not leave a program with CUDA graphs",
      "graph_stays",
      { AT_ONCE },
      "thread gpu_client\n"
      "  decode x6\n" GEMM "decode (graph) captured in decode x3\n" NORM "decode x2\n" NORM
      "decode (graph) captured in decode x3\n"
      "note 0 CUPTI stays in the process between windows (attach: inside): the program uses CUDA "
      "graphs and would crash if it left\n" CALLS_NOTE("6", "6") },
    { "another tool holds CUPTI for a while, which is said once",
      "held",
      { AT_ONCE },
      "thread gpu_client\n"
      "  decode x4\n" GEMM "decode x1\n" NORM "decode x1\n"
      "note 0 CUPTI is held by another tool: ranges are recorded, kernels are not; run without "
      "that tool to have both\n" CALLS_NOTE("4", "4") },
    { "a window opens when it is about to go",
      "reopened",
      { AT_ONCE },
      "thread gpu_client\n"
      "  decode x3\n" COPY "decode x3\n" GEMM "decode x3\n" CALLS_NOTE("3", "3") },
    { "a CUPTI that cannot go stays",
      "refused",
      { AT_ONCE, "FAKE_FAIL=cuptiFinalize:27" },
      "thread gpu_client\n"
      "  decode x2\n" COPY "decode x2\n" GEMM "decode x2\n"
      "note 1 CUPTI does not leave, and stays in the process from here on (attach: inside): "
      "CUPTI_ERROR_27 (27): this GPU or driver does not offer it\n" CALLS_NOTE("2", "2") },
    { "a graph comes when it is about to go",
      "graph_first",
      { AT_ONCE },
      "thread gpu_client\n"
      "  decode x2\n" COPY "decode x2\n" GEMM "decode x2\n"
      "note 0 CUPTI stays in the process between windows (attach: inside): the program uses CUDA "
      "graphs and would crash if it left\n" CALLS_NOTE("2", "2") },
};

/* A kernel that runs when its window closes has its times: CUPTI goes when it has ended. */
static void check_in_flight(void **state)
{
    static const char *const env[] = { AT_ONCE, NULL };
    struct traced t;
    LPO_STR text = { 0 };
    size_t slow = 0;

    (void)state;
    gpu_run("in_flight", env, &t, &text);
    assert_int_equal(t.trace->gpu_ops.len, 6);
    for (size_t i = 0; i < 6; i++)
        slow += t.trace->gpu_ops.at[i].end_ns - t.trace->gpu_ops.at[i].start_ns == 60000000;
    assert_int_equal(slow, 3);
    traced_free(&t);
}

/* Threads launch while CUPTI comes and goes: every window has its own kernel, and no kernel of the
 * chosen range is counted twice or lost. */
static void check_busy(void **state)
{
    static const char *const env[] = { AT_ONCE, NULL };
    struct traced t;
    LPO_STR text = { 0 };
    size_t gemms = 0;

    (void)state;
    gpu_run("busy", env, &t, &text);
    for (size_t i = 0; i < t.trace->gpu_ops.len; i++)
        gemms += strcmp(lpo_trace_text(t.trace, t.trace->gpu_ops.at[i].name), "gemm(float*)") == 0;
    assert_int_equal(t.trace->window_ranges.at[0].recorded, 40);
    assert_int_equal(gemms, 40);
    traced_free(&t);
}

static void check_forks(void **state)
{
    static const char *const env[] = { AT_ONCE, NULL };
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("gone_forks", env, &t, &text);
    assert_int_equal(t.trace->gpu_ops.len, 20);
    traced_free(&t);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, gpu_check);
    UNIT_TEST(&u, check_in_flight);
    UNIT_TEST(&u, check_busy);
    UNIT_TEST(&u, check_forks);
    return unit_run(&u);
}
