/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are recorded in windows: what is in the file, and what it says of the rest. */
#include "../unit.h"
#include "analysis/wall/timeline.h"
#include "analysis/wall/wall.h"
#include "analysis/windows/windows.h"
#include "gpu_case.h"
#include "lpo/trace_format.h"
#include "region/tree.h"
#include "util/budget.h"

#define CALLS_NOTE(n, of, all)                                                                     \
    "note " n " calls of \"" of "\" were recorded, of " all                                        \
    " that the program made: everything here is about these alone\n"
#define NO_CALL_NOTE(of)                                                                           \
    "note 0 a process made no call of \"" of                                                       \
    "\", so nothing of it was recorded (a name is compared as a whole; * and ? are wildcards)\n"
#define COPY "copy Memcpy HtoD (Pageable -> Device) 4096 bytes dev 0 stream 7 in "

static const struct gpu_case cases[] = {
    { "every call of a range",
      "windows",
      { "LPO_COLLECT_CAPTURE_RANGE=decode" },
      "thread gpu_client\n"
      "  generate x1\n"
      "    decode x20\n"
      "      layer x20\n" COPY "generate/decode x20\n" GEMM "generate/decode/layer x20\n" NORM
      "generate/decode/layer x20\n" CALLS_NOTE("20", "decode", "20") },
    { "from the third to the fifth",
      "windows",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_FIRST=3",
        "LPO_COLLECT_CAPTURE_LAST=5" },
      "thread gpu_client\n"
      "  generate x1\n"
      "    decode x3\n"
      "      layer x3\n" COPY "generate/decode x3\n" GEMM "generate/decode/layer x3\n" NORM
      "generate/decode/layer x3\n" CALLS_NOTE("3", "decode", "20") },
    { "every eighth",
      "windows",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_EVERY=8" },
      "thread gpu_client\n"
      "  generate x1\n"
      "    decode x3\n"
      "      layer x3\n" COPY "generate/decode x3\n" GEMM "generate/decode/layer x3\n" NORM
      "generate/decode/layer x3\n" CALLS_NOTE("3", "decode", "20") },
    { "a pattern", "windows", { "LPO_COLLECT_CAPTURE_RANGE=pre*x?" }, NO_CALL_NOTE("pre*x?") },
    { "another pattern",
      "windows",
      { "LPO_COLLECT_CAPTURE_RANGE=p*f?ll" },
      "thread gpu_client\n"
      "  prefill x1\n" GEMM "prefill x1\n" CALLS_NOTE("1", "p*f?ll", "1") },
    { "a chosen range inside itself",
      "nested",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_EVERY=2" },
      "thread gpu_client\n"
      "  decode x2\n"
      "    decode x2\n" GEMM "decode/decode x2\n" NORM
      "decode x2\n" CALLS_NOTE("2", "decode", "4") },
    { "a start/end range",
      "started",
      { "LPO_COLLECT_CAPTURE_RANGE=request", "LPO_COLLECT_CAPTURE_LAST=3" },
      "start/end request x4\n" GEMM "~request x3\n" CALLS_NOTE("3", "request", "4") },
    { "a thread that ends inside a call",
      "thread_ends",
      { "LPO_COLLECT_CAPTURE_RANGE=decode" },
      "thread gpu_client\n"
      "  decode x1 (1 open)\n" GEMM "decode x1\n" CALLS_NOTE(
          "1", "decode", "1") "note 1 ranges were never closed and end with their process\n" },
    { "a child of fork has windows of its own",
      "window_fork",
      { "LPO_COLLECT_CAPTURE_RANGE=decode" },
      "thread gpu_client\n"
      "  outer x1\n"
      "    decode x2\n" NO_CALL_NOTE("decode") CALLS_NOTE("2", "decode", "2") },
    { "calls that the program does not make",
      "windows",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_FIRST=21" },
      "note 0 none of the calls of \"decode\" was recorded, of 20 that the program made: "
      "pipeline.native.capture chose none of them\n" },
    { "never",
      "windows",
      { "LPO_COLLECT_CAPTURE_WAIT=1" },
      "note 0 only a part of the run was recorded (pipeline.native.capture): everything here is "
      "about that part alone\n" },
    { "CUPTI comes with the first window",
      "windows",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_FIRST=3",
        "LPO_COLLECT_CAPTURE_LAST=5", "LPO_COLLECT_CAPTURE_ATTACH=1" },
      "thread gpu_client\n"
      "  generate x1\n"
      "    decode x3\n"
      "      layer x3\n" COPY "generate/decode x3\n" GEMM "generate/decode/layer x3\n" NORM
      "generate/decode/layer x3\n" CALLS_NOTE("3", "decode", "20") },
    { "a window begins when CUPTI is there: no call before it lacks its kernels",
      "attach_meanwhile",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_ATTACH=1" },
      "thread gpu_client\n"
      "  decode x1\n"
      "thread gpu_client\n"
      "  other x2\n" GEMM "decode x1\n" NORM "other x2\n" CALLS_NOTE("1", "decode", "1") },
    { "and not without a window: nobody asks it",
      "windows",
      { "LPO_COLLECT_CAPTURE_WAIT=1", "LPO_COLLECT_CAPTURE_ATTACH=1",
        "FAKE_FAIL=cuptiSubscribe_v2:39,cuptiSubscribe:39" },
      "note 0 only a part of the run was recorded (pipeline.native.capture): everything here is "
      "about that part alone\n" },
    { "a graph made before CUPTI came",
      "window_graph",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_FIRST=4",
        "LPO_COLLECT_CAPTURE_LAST=5", "LPO_COLLECT_CAPTURE_ATTACH=1" },
      "thread gpu_client\n"
      "  decode x2\n" GEMM "decode (graph) x2\n" NORM
      "decode (graph) x2\n" CALLS_NOTE("2", "decode", "10") },
    { "CUPTI refuses when the window opens",
      "nested",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_CAPTURE_EVERY=2",
        "LPO_COLLECT_CAPTURE_ATTACH=1", "FAKE_FAIL=cuptiSubscribe_v2:39" },
      "thread gpu_client\n"
      "  decode x2\n"
      "    decode x2\n"
      "note 0 CUPTI is held by another tool: ranges are recorded, kernels are not; run without "
      "that tool to have both\n" CALLS_NOTE("2", "decode", "4") },
    { "CUPTI refuses to switch",
      "nested",
      { "LPO_COLLECT_CAPTURE_RANGE=decode", "FAKE_FAIL=cuptiActivityDisable.10:27" },
      "thread gpu_client\n"
      "  decode x4\n"
      "    decode x4\n" GEMM "decode/decode x4\n" NORM "decode x4\n"
      "note 1 a window could not be switched: CUPTI_ERROR_27 (27): this GPU or driver does not "
      "offer it\n" CALLS_NOTE("4", "decode", "4") },
};

/* Launches outside windows are counted where that was asked for, and windows have their times. */
static void check_counts(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                       "LPO_COLLECT_CAPTURE_EVERY=8", "LPO_COLLECT_CAPTURE_COUNT=1",
                                       NULL };
    struct traced t;
    LPO_STR text = { 0 };
    const struct lpo_window_range *r;
    int64_t last_ns = 0;

    (void)state;
    gpu_run("windows", env, &t, &text);
    assert_int_equal(t.trace->window_ranges.len, 1);
    r = &t.trace->window_ranges.at[0];
    assert_int_equal(r->seen, 20);
    assert_int_equal(r->recorded, 3);
    assert_true(r->counted);
    assert_int_equal(r->chosen_launches, 17 * 2);
    assert_int_equal(r->unrecorded_launches, 17 * 2 + 20 + 1);
    assert_int_equal(t.trace->windows.len, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct lpo_window *w = &t.trace->windows.at[i];

        assert_int_equal(w->why, LPOT_WINDOW_RANGE);
        assert_true(w->start_ns >= last_ns && w->end_ns >= w->start_ns);
        last_ns = w->end_ns;
    }
    assert_int_equal(t.trace->calls.len, 3 * 2); /* a copy and a synchronisation in each */
    traced_free(&t);
}

/* GPU time of a call, of all calls, and launches of all of them. */
static void check_sampled(void **state)
{
    static const char *const counted[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                           "LPO_COLLECT_CAPTURE_EVERY=8",
                                           "LPO_COLLECT_CAPTURE_COUNT=1", NULL };
    static const char *const all[] = { "LPO_COLLECT_CAPTURE_RANGE=decode", NULL };
    static const char *const graphs[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                          "LPO_COLLECT_CAPTURE_EVERY=5",
                                          "LPO_COLLECT_CAPTURE_COUNT=1", NULL };
    static const struct {
        const char *scenario;
        const char *const *env;
        uint64_t recorded, launches;
        double mean_ns, all_ns, all_launches; /* negative: unknown */
        bool estimated;
    } rows[] = {
        { "windows", counted, 3, 6, 3000, 60000, 40, true },
        { "windows", all, 20, 40, 3000, 60000, 40, false },
        { "window_graph", graphs, 2, 4, 5000, 50000, -1, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct traced t;
        LPO_STR text = { 0 };

        gpu_run(rows[i].scenario, rows[i].env, &t, &text);
        {
            LPO_AUTO(lpo_windows) w = lpo_windows_create(t.trace);
            const struct lpo_windows_row *r = &w->rows.at[0];

            assert_int_equal(w->rows.len, 1);
            assert_int_equal(r->recorded, rows[i].recorded);
            assert_int_equal(r->launches, rows[i].launches);
            assert_true(r->mean_ns.value == rows[i].mean_ns);
            assert_true(r->least_ns.value == rows[i].mean_ns && r->deviation_ns.value == 0);
            assert_true(r->all_gpu_ns.value == rows[i].all_ns);
            assert_int_equal(r->all_gpu_ns.how == LPO_ESTIMATED, rows[i].estimated);
            assert_int_equal(lpo_measure_known(r->all_launches), rows[i].all_launches >= 0);
            if (rows[i].all_launches >= 0)
                assert_true(r->all_launches.value == rows[i].all_launches);
        }
        traced_free(&t);
    }
}

/* The operations that have the launch of another one. CUPTI gives one launch to many kernels where
 * callbacks end in the middle of a call. */
static size_t launches_twice(const struct lpo_trace *t)
{
    uint8_t *seen = calloc(t->launches.len + 1, 1);
    size_t twice = 0;

    assert_non_null(seen);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (t->gpu_ops.at[i].launch != LPO_NONE)
            twice += seen[t->gpu_ops.at[i].launch]++ != 0;
    free(seen);
    return twice;
}

/* What of a region's time was recorded, whether its calls are kept or summed while they are read.
 */
static void check_host_time(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                       "LPO_COLLECT_CAPTURE_EVERY=8", NULL };
    const struct lpo_budget ordinary = *lpo_budget();
    struct lpo_budget small = ordinary;

    (void)state;
    small.range_bytes = 0;
    for (int summed = 0; summed < 2; summed++) {
        struct traced t;
        LPO_STR text = { 0 };
        int64_t recorded_ns = 0;

        lpo_budget_use(summed ? &small : &ordinary);
        gpu_run("windows", env, &t, &text);
        assert_int_equal(t.trace->paths.len > 0, summed);
        for (size_t i = 0; i < t.trace->windows.len; i++)
            recorded_ns += t.trace->windows.at[i].end_ns - t.trace->windows.at[i].start_ns;
        {
            LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t.trace);
            const struct lpo_visits *generate = &tree->visits.at[tree->nodes.at[0].visits];

            assert_string_equal(lpo_trace_text(t.trace, tree->nodes.at[0].name), "generate");
            assert_int_equal(generate->count, 1);
            assert_true(generate->host_ns > 0 && generate->host_ns <= recorded_ns);
            assert_true(generate->child_ns > 0 && generate->child_ns <= generate->host_ns);
        }
        traced_free(&t);
    }
    lpo_budget_use(&ordinary);
}

/* A program without a GPU has no GPU time, which is not 0. */
static void check_no_gpu(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                       "LPO_COLLECT_CAPTURE_EVERY=8", "LPO_COLLECT_GPU=0", NULL };
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("windows", env, &t, &text);
    {
        LPO_AUTO(lpo_windows) w = lpo_windows_create(t.trace);

        assert_int_equal(w->rows.at[0].recorded, 3);
        assert_false(lpo_measure_known(w->rows.at[0].mean_ns));
        assert_false(lpo_measure_known(w->rows.at[0].all_gpu_ns));
        assert_false(lpo_measure_known(w->rows.at[0].all_launches));
    }
    traced_free(&t);
}

/* Four threads in and out of the chosen range: each call that is recorded is whole. */
static void check_threads(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                       "LPO_COLLECT_CAPTURE_EVERY=3", NULL };
    struct traced t;
    LPO_STR text = { 0 };
    size_t decodes = 0;

    (void)state;
    gpu_run("window_threads", env, &t, &text);
    for (size_t i = 0; i < t.trace->ranges.len; i++)
        decodes += strcmp(lpo_trace_text(t.trace, t.trace->ranges.at[i].name), "decode") == 0;
    assert_int_equal(t.trace->window_ranges.at[0].seen, 400);
    assert_int_equal(t.trace->window_ranges.at[0].recorded, 134);
    assert_true(decodes >= 134); /* a window of one thread holds calls of others */
    assert_int_equal(launches_twice(t.trace), 0);
    /* A thread may be kept waiting in the middle of a launch while another one opens a window: its
     * kernel is recorded and its launch is not, which is said. Nothing else is. */
    assert_non_null(strstr(lpo_str_text(&text), "note 134 calls of \"decode\" were recorded"));
    assert_int_equal(t.trace->notes.len,
                     strstr(lpo_str_text(&text), "GPU operations have no launch record") ? 2 : 1);
    traced_free(&t);
}

/* What lies between two windows is not idle time: nobody knows what ran there. */
static void check_gap(void *ctx, uint16_t device, const struct lpo_wall_gap *gap)
{
    const struct lpo_trace *t = ctx;

    (void)device;
    for (size_t i = 1; i < t->windows.len; i++)
        assert_false(gap->start_ns < t->windows.at[i - 1].end_ns &&
                     t->windows.at[i].start_ns < gap->start_ns + gap->ns);
}

static void check_wall(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                       "LPO_COLLECT_CAPTURE_EVERY=8", NULL };
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("windows", env, &t, &text);
    {
        LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t.trace);
        LPO_AUTO(lpo_wall) wall = lpo_wall_create(tree);
        LPO_AUTO(lpo_wall_timeline) time = lpo_wall_timeline_create(tree);
        const struct lpo_wall_device *d = &wall->devices.at[0];

        lpo_wall_each_gap(tree, NULL, check_gap, t.trace);
        assert_true(d->span_ns < d->end_ns - d->start_ns);
        assert_int_equal(d->span_ns, time->devices.at[0].span_ns);
    }
    traced_free(&t);
}

/* 24 simulated hours with a window in each second: no growth (the client looks), and 86,400 windows
 * and calls in the file. */
static void check_a_day(void **state)
{
    static const char *const argv[] = { "gpu_client", "a_day", NULL };
    static const char *const env[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                       "LPO_COLLECT_CUPTI_BUFFER_KB=256", NULL };
    struct traced t;

    (void)state;
    traced_run(argv, env, &t);
    assert_string_equal(t.output, "");
    assert_int_equal(t.status, 0);
    assert_int_equal(t.trace->windows.len, 86400);
    assert_int_equal(t.trace->window_ranges.at[0].recorded, 86400);
    assert_int_equal(t.trace->gpu_ops.len, 3 * 86400);
    assert_int_equal(t.trace->notes.len, 1);
    print_message("# %.1f bytes for a window\n", (double)t.bytes / 86400);
    traced_free(&t);
}

/* Kernels that run when `lpo ctl stop` is said have their times, wherever CUPTI is. */
static void check_stopped(void **state)
{
#define STOPPED "LPO_COLLECT_CAPTURE_CONTROL=1", "LPO_COLLECT_CAPTURE_WAIT=1"
    static const char *const envs[][4] = { { STOPPED },
                                           { STOPPED, "LPO_COLLECT_GRAPH_NODES=1" },
                                           { STOPPED, "LPO_COLLECT_CAPTURE_ATTACH=1" },
                                           { STOPPED, "LPO_COLLECT_CAPTURE_ATTACH=2" } };

    (void)state;
    for (size_t e = 0; e < sizeof envs / sizeof *envs; e++) {
        struct traced t;
        LPO_STR text = { 0 };
        size_t slow = 0;

        gpu_run("stopped", envs[e], &t, &text);
        assert_int_equal(t.trace->windows.len, 3);
        assert_int_equal(t.trace->gpu_ops.len, 6);
        for (size_t i = 0; i < 6; i++)
            slow += t.trace->gpu_ops.at[i].end_ns - t.trace->gpu_ops.at[i].start_ns == 60000000;
        assert_int_equal(slow, 3);
        traced_free(&t);
    }
}

static void check_graph(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                       "LPO_COLLECT_CAPTURE_EVERY=5", NULL };
    struct traced t;
    LPO_STR text = { 0 };
    size_t launches = 0;

    (void)state;
    gpu_run("window_graph", env, &t, &text);
    for (size_t i = 0; i < t.trace->gpu_ops.len; i++)
        launches += t.trace->gpu_ops.at[i].capture != LPO_NONE;
    assert_int_equal(t.trace->gpu_ops.len, 2 * 2); /* two launches of two kernels */
    assert_int_equal(launches, 2 * 2);
    assert_non_null(strstr(lpo_str_text(&text), "captured in capture"));
    traced_free(&t);
}

/* Nodes of graphs recorded one by one: CUPTI's times are wrong once kernel records were switched,
 * so these go on, and what lies outside windows is dropped. */
static void check_graph_nodes(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                       "LPO_COLLECT_CAPTURE_EVERY=5", "LPO_COLLECT_GRAPH_NODES=1",
                                       NULL };
    static const char *const stale[] = { "LPO_COLLECT_CAPTURE_RANGE=decode",
                                         "LPO_COLLECT_CAPTURE_EVERY=5", "LPO_COLLECT_GRAPH_NODES=1",
                                         "FAKE_STALE=1", NULL };
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("window_graph", env, &t, &text);
    assert_int_equal(t.trace->gpu_ops.len, 2 * 2);
    for (size_t i = 0; i < t.trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t.trace->gpu_ops.at[i];

        assert_int_not_equal(op->launch, LPO_NONE);
        assert_int_equal(op->end_ns - op->start_ns, 1500);
    }
    traced_free(&t);
    gpu_run("window_graph", stale, &t, &text);
    for (size_t i = 0; i < t.trace->gpu_ops.len; i++)
        assert_true(t.trace->gpu_ops.at[i].flags & LPO_GPU_OP_NO_LENGTH);
    assert_non_null(strstr(lpo_str_text(&text), "note 4 kernels of CUDA graphs began before"));
    traced_free(&t);
    gpu_run("windows", env, &t, &text); /* the same of kernels that a program launches itself */
    assert_int_equal(t.trace->window_ranges.at[0].recorded, 4);
    assert_int_equal(t.trace->gpu_ops.len, 4 * 3);
    traced_free(&t);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, gpu_check);
    UNIT_TEST(&u, check_counts);
    UNIT_TEST(&u, check_sampled);
    UNIT_TEST(&u, check_host_time);
    UNIT_TEST(&u, check_no_gpu);
    UNIT_TEST(&u, check_threads);
    UNIT_TEST(&u, check_wall);
    UNIT_TEST(&u, check_a_day);
    UNIT_TEST(&u, check_stopped);
    UNIT_TEST(&u, check_graph);
    UNIT_TEST(&u, check_graph_nodes);
    return unit_run(&u);
}
