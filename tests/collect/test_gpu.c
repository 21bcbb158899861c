/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU half of the collector, against a CUPTI that does what the test says (fake_cupti.c). */
#include <sys/wait.h>

#include "../unit.h"
#include "gpu_case.h"

#define DECODE_THREAD                                                                              \
    "thread gpu_client\n"                                                                          \
    "  decode x1\n"                                                                                \
    "    step x2\n"                                                                                \
    "      layer x6\n"
#define DECODE                                                                                     \
    DECODE_THREAD GEMM "(outside) x1\n" GEMM "decode/step/layer x12\n" NORM "decode/step/layer "   \
                       "x6\n"

static const struct gpu_case cases[] = {
    { "kernels in their ranges", "decode", { 0 }, DECODE },
    { "launch calls that return", "decode", { "LPO_COLLECT_RETURNS=1" }, DECODE },
    { "small buffers", "decode", { "LPO_COLLECT_CUPTI_BUFFER_KB=64" }, DECODE },
    { "buffers that are not zeroed", "decode", { "LPO_COLLECT_CUPTI_ZEROED=0" }, DECODE },
    { "records out of order",
      "reversed",
      { 0 },
      "thread gpu_client\n"
      "  decode x2\n"
      "    step x4\n"
      "      layer x12\n" GEMM "(outside) x2\n" GEMM "decode/step/layer x24\n" NORM
      "decode/step/layer x12\n" },
    { "copies, sets, peers, devices, start/end",
      "kinds",
      { 0 },
      "thread gpu_client\n"
      "  A x1\n"
      "start/end S x1\n"
      "copy Memcpy DtoH (Pageable -> Device) 100 bytes dev 0 stream 7 in A/~S x1\n"
      "copy Memcpy HtoD (Pageable -> Device) 4096 bytes dev 0 stream 7 in A/~S x1\n"
      "copy Memcpy PtoP (Device -> Device) 1048576 bytes dev 0 stream 7 in A/~S x1\n" GEMM "A x1\n"
      "kernel gemm(float*) <<<128,1,1|256,1,1>>> dev 1 stream 13 in A/~S (no time) x1\n" NORM
      "(no launch) x1\n"
      "set Memset (Device) 64 bytes dev 0 stream 7 in A/~S x1\n"
      "note 1 GPU operations have no launch record, so their range is not known\n"
      "note 1 GPU operations have no time: CUPTI recorded none for them\n" },
    { "a name whose memory is used again",
      "reused_name",
      { 0 },
      "kernel first <<<1,1,1|1,1,1>>> dev 0 stream 7 in (outside) x2\n"
      "kernel second <<<1,1,1|1,1,1>>> dev 0 stream 7 in (outside) x1\n" },
    { "four threads, two completing at once",
      "threads",
      { 0 },
      "thread gpu_client\n"
      "  t0 x500\n"
      "thread gpu_client\n"
      "  t1 x500\n"
      "thread gpu_client\n"
      "  t2 x500\n"
      "thread gpu_client\n"
      "  t3 x500\n" GEMM "t0 x500\n" GEMM "t1 x500\n" GEMM "t2 x500\n" GEMM "t3 x500\n" },
    { "a child of fork has ranges only",
      "forks",
      { 0 },
      "thread gpu_client\n"
      "  child x1\n"
      "thread gpu_client\n"
      "  parent x1\n" GEMM "parent x1\n" },
    { "CUPTI stops in the middle",
      "fatal",
      { 0 },
      "thread gpu_client\n"
      "  A x1\n" GEMM "A x1\n"
      "note 1 CUPTI stopped while the program ran: CUPTI_ERROR_999 (999): the device fell off; "
      "kernels after this are not recorded\n" },
    { "another subscriber",
      "decode",
      { "FAKE_FAIL=cuptiSubscribe_v2:39", "FAKE_HOLDER=CUPTI for Kineto" },
      DECODE_THREAD
      "note 0 CUPTI is held by another tool (CUPTI for Kineto): ranges are recorded, kernels are "
      "not; run without that tool to have both\n" },
    { "a CUPTI of a later major version", "decode", { "FAKE_VERSION=140000" }, NULL },
    { "a CUPTI of CUDA 11", "decode", { "FAKE_VERSION=14" }, NULL },
    { "a CUPTI of CUDA 12", "decode", { "FAKE_VERSION=24" }, DECODE },
    { "no counters, no kernels",
      "decode",
      { "FAKE_FAIL=cuptiActivityEnable.10:35" },
      DECODE_THREAD
      "note 1 kernels are not recorded: CUPTI_ERROR_35 (35): the driver keeps profiling to "
      "administrators\n" },
    { "copies refused",
      "decode",
      { "FAKE_FAIL=cuptiActivityEnable.1:27,cuptiActivityEnable.22:27" },
      DECODE
      "note 1 copies are not recorded: CUPTI_ERROR_27 (27): this GPU or driver does not "
      "offer it\n"
      "note 1 peer copies are not recorded: CUPTI_ERROR_27 (27): this GPU or driver does not "
      "offer it\n" },
    { "all records refused", "decode", { "FAKE_FAIL=cuptiActivityEnable:27" }, NULL },
    { "buffers refused",
      "decode",
      { "FAKE_FAIL=cuptiActivityRegisterCallbacks:1" },
      DECODE_THREAD "note 1 CUPTI takes no buffers, kernels are not recorded: CUPTI_ERROR_1 (1): "
                    "see the CUPTI documentation for this code\n" },
    { "launch callbacks refused", "decode", { "FAKE_FAIL=cuptiEnableCallback.1:27" }, NULL },
    { "launch callbacks off",
      "decode",
      { "LPO_COLLECT_LAUNCHES=0" },
      DECODE_THREAD GEMM
      "(no launch) x13\n" NORM "(no launch) x6\n"
      "note 19 GPU operations have no launch record, so their range is not known\n" },
    { "kernels and copies off",
      "kinds",
      { "LPO_COLLECT_KERNELS=0", "LPO_COLLECT_COPIES=0" },
      "thread gpu_client\n"
      "  A x1\n"
      "start/end S x1\n" },
    { "the GPU off",
      "decode",
      { "LPO_COLLECT_GPU=0" },
      DECODE_THREAD "note 0 LPO_COLLECT_GPU=0: kernels are not recorded\n" },
    { "a libcupti that is not there",
      "decode",
      { "LPO_COLLECT_CUPTI=/nowhere/libcupti.so.13" },
      NULL },
};

/* Whatever a call answers, the program runs on, its ranges are there, and the file says why the
 * kernels are not. */
static void check_every_code(void **state)
{
    static const char *const calls[] = { "cuptiSubscribe_v2", "cuptiGetVersion",
                                         "cuptiActivityRegisterCallbacks" };
    int codes[64], count = 0;

    (void)state;
    for (int i = 1; i <= 46; i++)
        codes[count++] = i;
    codes[count++] = 999;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int k = 0; k < count; k++) {
            char fail[96], code[16];
            const char *env[] = { fail, NULL };
            struct traced t;
            LPO_STR text = { 0 };

            snprintf(fail, sizeof fail, "FAKE_FAIL=%s:%d", calls[i], codes[k]);
            snprintf(code, sizeof code, "(%d)", codes[k]);
            gpu_run("decode", env, &t, &text);
            assert_memory_equal(text.at, DECODE_THREAD "note ", sizeof DECODE_THREAD "note " - 1);
            if (codes[k] != 39)
                assert_non_null(strstr(text.at, code));
            assert_int_equal(t.trace->gpu_ops.len, 0);
            traced_free(&t);
        }
}

/* Small buffers, many of them out at once, and completed the last one first. */
static void check_buffers_held(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CUPTI_BUFFER_KB=64",
                                       "LPO_COLLECT_CUPTI_BUFFERS_MAX=1024", "FAKE_HOLD=1", NULL };
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("steady", env, &t, &text);
    assert_int_equal(t.trace->gpu_ops.len, 99000);
    assert_int_equal(t.trace->notes.len, 0);
    traced_free(&t);
}

/* No more than three buffers of 64 KiB: 303 kernels each, the rest is dropped, counted and told. */
static void check_buffers_full(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CUPTI_BUFFER_KB=64",
                                       "LPO_COLLECT_CUPTI_BUFFERS_MAX=3", "FAKE_HOLD=1", NULL };
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("steady", env, &t, &text);
    assert_int_equal(t.trace->gpu_ops.len, 3 * 303);
    assert_int_equal(t.trace->dropped, 99000 - 3 * 303);
    assert_non_null(strstr(text.at, "note 98091 GPU records were dropped by CUPTI\n"));
    assert_non_null(strstr(text.at, "note 1 times CUPTI asked for a buffer and none was left"));
    traced_free(&t);
}

static uint64_t count_named(const struct lpo_trace *t, const char *name)
{
    uint64_t count = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        count += strcmp(lpo_trace_text(t, t->gpu_ops.at[i].name), name) == 0;
    return count;
}

/* What is in the file and what is said to be lost is all there was. */
static void check_disk_trouble(void **state)
{
    static const char *const env[] = { "LPO_COLLECT_CUPTI_BUFFER_KB=64", NULL };
    uint64_t lost = 0, all = 300 + 300 * 600 + 10000;
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("disk_trouble", env, &t, &text);
    for (size_t i = 0; i < t.trace->notes.len; i++)
        if (strstr(lpo_trace_text(t.trace, t.trace->notes.at[i].text), "GPU records could not"))
            lost = t.trace->notes.at[i].count;
    assert_true(lost > 0);
    assert_int_equal(t.trace->gpu_ops.len + lost, all);
    assert_int_equal(count_named(t.trace, "other"), 5000);
    assert_non_null(strstr(text.at, "nothing could be written: no space is left on the disk"));
    traced_free(&t);
}

static void check_many_shapes(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("many_shapes", NULL, &t, &text);
    assert_int_equal(t.trace->gpu_ops.len, 60000);
    for (size_t i = 0; i < t.trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t.trace->gpu_ops.at[i];
        assert_int_equal(t.trace->shapes.at[w->shape].grid[0], i % 30000 + 1);
        assert_int_equal(w->stream, i % 2000);
    }
    traced_free(&t);
}

/* The promise: at most 40 bytes per kernel, launch and ranges included. */
static void check_bytes(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("steady", NULL, &t, &text);
    assert_int_equal(t.trace->gpu_ops.len, 99000);
    assert_int_equal(t.trace->notes.len, 0);
    print_message("# %.1f bytes per kernel\n", (double)t.bytes / 99000);
    assert_true(t.bytes < 40 * 99000);
    traced_free(&t);
}

static void check_killed(void **state)
{
    const char *argv[] = { "gpu_client", "killed", NULL };
    struct traced t;

    (void)state;
    traced_run(argv, NULL, &t);
    assert_int_equal(t.status, 0);
    assert_int_equal(t.trace->gpu_ops.len, 19);
    traced_free(&t);
}

static void check_devices(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("decode", NULL, &t, &text);
    assert_int_equal(t.trace->devices.len, 2);
    assert_string_equal(lpo_trace_text(t.trace, t.trace->devices.at[1].name), "Fake GPU 1");
    assert_int_equal(t.trace->devices.at[0].sms, 160);
    assert_int_equal(t.trace->devices.at[0].cc_major, 750);
    assert_int_equal(t.trace->devices.at[1].memory_bytes, (uint64_t)2 << 40);
    traced_free(&t);
}

/* Kernel times and range times are on one clock: a kernel starts after its launch, and both lie
 * in the range. */
static void check_one_clock(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("decode", NULL, &t, &text);
    for (size_t i = 0; i < t.trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t.trace->gpu_ops.at[i];
        const struct lpo_launch *l = &t.trace->launches.at[w->launch];
        assert_in_range(w->start_ns - l->start_ns + 2000, 0, 50000000);
    }
    traced_free(&t);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, gpu_check);
    UNIT_TEST(&u, check_every_code);
    UNIT_TEST(&u, check_buffers_held);
    UNIT_TEST(&u, check_buffers_full);
    UNIT_TEST(&u, check_disk_trouble);
    UNIT_TEST(&u, check_many_shapes);
    UNIT_TEST(&u, check_bytes);
    UNIT_TEST(&u, check_killed);
    UNIT_TEST(&u, check_devices);
    UNIT_TEST(&u, check_one_clock);
    return unit_run(&u);
}
