/* SPDX-License-Identifier: Apache-2.0 */
/* Quirks of Kineto files that the real ones under tests/data do not show. */
#include "../unit.h"

#include "trace/trace.h"
#include "util/err.h"
#include "util/str.h"

#include "kineto_text.h"

/* The model in one line: works, then ranges, ops and notes. */
static void describe(const struct lpo_trace *t, struct lpo_str *out)
{
    static const char *const kinds[] = { "K", "C", "S" };

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        lpo_str_addf(out, "%s(%s %lld+%lld p%lld d%d s%u", kinds[w->kind],
                     lpo_trace_text(t, w->name), (long long)w->start_ns,
                     (long long)lpo_trace_gpu_op_ns(w), (long long)t->processes.at[w->process].pid,
                     t->devices.at[w->device].id, w->stream);
        if (w->bytes)
            lpo_str_addf(out, " %lluB", (unsigned long long)w->bytes);
        if (w->flags & LPO_GPU_OP_NO_LENGTH)
            lpo_str_add(out, " no-length");
        if (w->flags & LPO_GPU_OP_GRAPH)
            lpo_str_add(out, " graph");
        if (w->launch != LPO_NONE) {
            const struct lpo_launch *l = &t->launches.at[w->launch];

            lpo_str_addf(out, " by t%lld@%lld-%lld", (long long)t->threads.at[l->thread].tid,
                         (long long)l->start_ns, (long long)l->end_ns);
        }
        for (uint32_t k = 0; w->stack != LPO_NONE && k < t->stacks.at[w->stack].count; k++)
            lpo_str_addf(out, "%s%s", k ? "/" : " in ",
                         lpo_trace_text(t, t->frames.at[t->stacks.at[w->stack].first + k].name));
        lpo_str_add(out, ")");
    }
    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        lpo_str_addf(out, "R(%s %lld-%lld t%lld%s)", lpo_trace_text(t, r->name),
                     (long long)r->start_ns, (long long)r->end_ns,
                     (long long)t->threads.at[r->thread].tid,
                     r->flags & LPO_RANGE_OPEN ? " open" : "");
    }
    for (size_t i = 0; i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];

        lpo_str_addf(out, "O(%s %s %lld-%lld)", lpo_trace_text(t, o->name),
                     lpo_trace_text(t, lpo_trace_op_dims(t, o)), (long long)o->start_ns,
                     (long long)o->end_ns);
    }
    for (size_t i = 0; i < t->notes.len; i++)
        lpo_str_addf(out, "N(%llu %s)", (unsigned long long)t->notes.at[i].count,
                     lpo_trace_text(t, t->notes.at[i].text));
}

static const struct kineto_case {
    const char *name, *text, *want;
} cases[] = {
    { "a kernel", FILE_OF(X("kernel", "k", "0", "7", "1.5", "2.25", GPU)),
      "K(k 1500+2250 p-1 d0 s7)" },
    { "nanoseconds need more than 53 bits",
      FILE_OF(X("kernel", "k", "0", "7", "1790857026123456.789", "0.001", GPU)),
      "K(k 1790857026123456789+1 p-1 d0 s7)" },
    { "exponents and whole numbers", FILE_OF(X("kernel", "k", "0", "7", "1.25e3", "3", GPU)),
      "K(k 1250000+3000 p-1 d0 s7)" },
    { "numbers in quotes",
      FILE_OF(X("kernel", "k", "0", "7", "\"1.5\"", "\"2\"", "\"stream\": \"3\"")),
      "K(k 1500+2000 p-1 d0 s3)" },
    { "the base time behind the events",
      "{\"traceEvents\": [" X("kernel", "k", "0", "7", "1.5", "1",
                              GPU) "], "
                                   "\"baseTimeNanoseconds\": 1790857026000000000}",
      "K(k 1790857026000001500+1000 p-1 d0 s7)" },
    { "old categories",
      FILE_OF(X("Kernel", "k", "0", "\"stream 9\"", "1", "1",
                "") "," X("Memcpy", "c", "1", "9", "2", "1",
                          "\"bytes\": 64") "," X("Memset", "s", "1", "9", "4", "1",
                                                 "") "," X("Operator", "o", "12", "\"12\"", "1",
                                                           "1", "\"Input dims\": [[ 8, 2 ], []]")),
      "K(k 1000+1000 p12 d0 s9)C(c 2000+1000 p12 d1 s9 64B)S(s 4000+1000 p12 d1 s9)"
      "O(o [[8,2],[]] 1000-2000)" },
    { "steps that are operators",
      FILE_OF(X("Operator", "ProfilerStep#4", "3", "4", "1", "5",
                "") "," X("Operator", "aten::mm", "3", "4", "2", "1",
                          "") "," X("cpu_op", "ProfilerStep#", "3", "4", "3", "1", "")),
      "R(ProfilerStep#4 1000-6000 t4)O(aten::mm  2000-3000)O(ProfilerStep#  3000-4000)" },
    { "annotations on streams alone",
      FILE_OF(X("gpu_user_annotation", "in", "0", "7", "2", "2", "") "," X(
          "gpu_user_annotation", "out", "0", "7", "2", "5",
          "") "," X("gpu_user_annotation", "other", "0", "8", "2", "5",
                    "") "," X("kernel", "a", "0", "7", "2", "2",
                              "") "," X("kernel", "b", "0", "7", "5", "2",
                                        "") "," X("kernel", "c", "0", "7", "6", "2", "")),
      "K(a 2000+2000 p-1 d0 s7 in out/in)K(b 5000+2000 p-1 d0 s7 in out)K(c 6000+2000 p-1 d0 s7)" },
    { "annotations on streams beside those of the host",
      FILE_OF(X("gpu_user_annotation", "r", "0", "7", "2", "2",
                "") "," X("kernel", "a", "0", "7", "2", "2", "") "," X("user_annotation", "r", "3",
                                                                       "4", "1", "5", "")),
      "K(a 2000+2000 p3 d0 s7)R(r 1000-6000 t4)" },
    { "the correlation 0 is none",
      FILE_OF(X("kernel", "a", "0", "7", "4", "1", "\"correlation\": 0, \"External id\": 6") "," X(
          "kernel", "b", "0", "7", "8", "1",
          "\"correlation\": 0") "," X("hip_runtime", "l", "3", "4", "1", "1",
                                      "\"correlation\": 0") "," X("hip_runtime", "l", "3", "4", "2",
                                                                  "1",
                                                                  "\"correlation\": 0, \"External "
                                                                  "id\": 6")),
      "K(a 4000+1000 p3 d0 s7 by t4@2000-3000)K(b 8000+1000 p3 d0 s7)" },
    { "what is not GPU work",
      FILE_OF(X("cuda_sync", "k", "0", "7", "1", "1", GPU) "," X(
          "gpu_user_annotation", "k", "0", "7", "1", "1",
          "") "," X("cpu_op", "triton", "3", "3", "1", "1",
                    "\"stream\": 0, \"grid\": [1]") "," X("overhead", "k", "-1", "0", "1", "1",
                                                          "") "," X("python_function", "f", "3",
                                                                    "3", "1", "1", "")),
      "O(triton  1000-2000)" },
    { "launched by the outer of two calls",
      FILE_OF(X("kernel", "k", "0", "7", "9", "1", GPU) "," X(
          "cuda_driver", "cuLaunchKernel", "3", "4", "2", "1",
          "\"correlation\": 5") "," X("cuda_runtime", "cudaLaunchKernel", "3", "4", "1", "3",
                                      "\"correlation\": 5") "," X("cuda_runtime",
                                                                  "cudaStreamSynchronize", "3", "4",
                                                                  "5", "9", "\"correlation\": 6")),
      "K(k 9000+1000 p3 d0 s7 by t4@1000-4000)" },
    { "a graph launch has many kernels",
      FILE_OF(X("cuda_runtime", "hipGraphLaunch", "3", "4", "1", "3", "\"correlation\": 5") "," X(
          "kernel", "a", "0", "7", "9", "1", GPU) "," X("kernel", "b", "0", "7", "10", "1", GPU)),
      "K(a 9000+1000 p3 d0 s7 graph by t4@1000-4000)K(b 10000+1000 p3 d0 s7 graph by "
      "t4@1000-4000)" },
    { "one id in two processes: the call that began last",
      FILE_OF(X("cuda_runtime", "l", "3", "3", "1", "1", "\"correlation\": 5") "," X(
          "cuda_runtime", "l", "8", "8", "20", "1",
          "\"correlation\": 5") "," X("kernel", "a", "0", "7", "9", "1",
                                      GPU) "," X("kernel", "b", "1", "7", "30", "1", GPU)),
      "K(a 9000+1000 p3 d0 s7 by t3@1000-2000)K(b 30000+1000 p8 d0 s7 by t8@20000-21000)" },
    { "ranges",
      FILE_OF(X("user_annotation", "decode/layer", "3", "4", "1", "5",
                "") "," X("cpu_op", "last", "3", "5", "1", "9", "")),
      "R(decode/layer 1000-6000 t4)O(last  1000-10000)" },
    { "no duration",
      FILE_OF("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1},"
              "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"r\",\"pid\":3,\"tid\":3,\"ts\":"
              "1}," X("cpu_op", "o", "3", "5", "1", "9", "")),
      "K(k 1000+0 p3 d0 s7 no-length)R(r 1000-10000 t3 open)O(o  1000-10000)"
      "N(2 events without a duration)" },
    { "no time",
      FILE_OF(X("kernel", "k", "0", "7", "null", "1", GPU) "," X("kernel", "k", "0", "7", "1e30",
                                                                 "1", GPU)),
      "N(2 events without a time that can be read)" },
    { "args before the category",
      FILE_OF("{\"args\": {\"stream\": 3, \"device\": 2}, \"name\": \"k\", \"dur\": 1, \"ts\": 2, "
              "\"tid\": 0, \"pid\": 0, \"cat\": \"kernel\", \"ph\": \"X\"}"),
      "K(k 2000+1000 p-1 d2 s3)" },
    { "bare nan and inf",
      FILE_OF(X("kernel", "k", "0", "7", "1", "1",
                "\"warps per SM\": inf, \"x\": nan, \"y\": -inf, "
                "\"stream\": 3")),
      "K(k 1000+1000 p-1 d0 s3)" },
    { "escapes in names", FILE_OF(X("kernel", "a\\\"b\\u0041\\n", "0", "7", "1", "1", GPU)),
      "K(a\"bA\n 1000+1000 p-1 d0 s7)" },
    { "backslashes that are no escapes",
      FILE_OF(X("cpu_op", "C:\\Users\\x", "3", "3", "1", "1", "")), "O(C:\\Users\\x  1000-2000)" },
    { "quotes inside a name",
      FILE_OF(X("cpu_op", "f(\"x\") a", "3", "3", "1", "1", "") "," X("cpu_op", "b", "3", "3", "1",
                                                                      "1", "")),
      "O(f(\"x\") a  1000-2000)O(b  1000-2000)N(1 events with unescaped quotes, read "
      "nevertheless)" },
    { "a broken event costs itself",
      FILE_OF(X("cpu_op", "a", "3", "3", "1", "1",
                "") ", {\"ph\": \"X\", @@@ }, " X("cpu_op", "b", "3", "3", "1", "1", "")),
      "O(a  1000-2000)O(b  1000-2000)N(1 places that are not JSON, passed over)" },
    { "a bracket too many in an event nobody needs",
      FILE_OF("{\"ph\": \"X\", \"cat\": \"python_function\", \"args\": {{}, \"ts\": 1}, " X(
          "cpu_op", "b", "3", "3", "1", "1", "")),
      "O(b  1000-2000)N(1 places that are not JSON, passed over)" },
    { "an odd quote in an event nobody needs",
      FILE_OF("{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a\"b\", \"ts\": 1}, " X(
          "cpu_op", "b", "3", "3", "1", "1", "")),
      "O(b  1000-2000)N(1 events with unescaped quotes, read nevertheless)" },
    { "cut inside an event",
      "{\"traceEvents\": [" X("kernel", "k", "0", "7", "1", "1",
                              GPU) ", {\"ph\": \"X\", \"cat\": \"ker",
      "K(k 1000+1000 p-1 d0 s7)N(0 the file is cut off: the 1 events before that were read)" },
    { "metadata that is not JSON",
      "{\"job\": {a=1}, \"traceEvents\": [" X("kernel", "k", "0", "7", "1", "1", GPU) "]}",
      "K(k 1000+1000 p-1 d0 s7)" },
    { "metadata with a stray quote",
      "{\"job\": {\"a\": \"x\"y\"}, \"traceEvents\": [" X("kernel", "k", "0", "7", "1", "1",
                                                          GPU) "]}",
      "K(k 1000+1000 p-1 d0 s7)" },
    { "a bare list",
      "[{\"name\": \"mm\", \"ph\": \"X\", \"ts\": 1.5, \"dur\": 4, \"tid\": 1, \"pid\": \"CPU "
      "functions\", "
      "\"args\": {}}, {\"name\": \"gemm\", \"ph\": \"X\", \"ts\": 2, \"dur\": 1, \"tid\": 1, "
      "\"pid\": "
      "\"CUDA functions\", \"args\": {}}]",
      "K(gemm 2000+1000 p-1 d1 s0)O(mm  1500-5500)" },
    { "no events at all", FILE_OF(""), "" },
    { "a comma too many", FILE_OF(X("cpu_op", "a", "3", "3", "1", "1", "") ","),
      "O(a  1000-2000)" },
    { "a byte order mark", "\xef\xbb\xbf" FILE_OF(X("cpu_op", "a", "3", "3", "1", "1", "")),
      "O(a  1000-2000)" },
};

static void check(void **state)
{
    const struct kineto_case *c = *state;
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_trace) t = kineto_read(c->text, 0, &err);
    LPO_STR got = { 0 };

    assert_string_equal(lpo_err_cause(&err), "");
    describe(t, &got);
    assert_string_equal(lpo_str_text(&got), c->want);
}

static void refuses_what_it_cannot_read(void **state)
{
    static const char *const texts[] = { "", "hello", "{\"a\": 1}", "{\"schemaVersion\": 1}" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct lpo_err err = { 0 };

        assert_null(kineto_read(texts[i], 0, &err));
        assert_int_equal(err.code, LPO_E_FORMAT);
    }
}

static void leaves_out_what_nobody_needs(void **state)
{
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_trace)
    t = kineto_read(
        FILE_OF(X("cpu_op", "o", "3", "3", "1", "1", "") "," X(
            "user_annotation", "r", "3", "3", "1", "1",
            "") "," X("cuda_runtime", "l", "3", "3", "1", "1",
                      "\"correlation\": 5") "," X("kernel", "k", "0", "7", "1", "1", GPU)),
        LPO_SKIP_OPS | LPO_SKIP_RANGES | LPO_SKIP_LAUNCHES, &err);

    (void)state;
    assert_int_equal(t->ops.len + t->ranges.len + t->launches.len, 0);
    assert_int_equal(t->gpu_ops.len, 1);
    assert_int_equal(t->gpu_ops.at[0].launch, LPO_NONE);
}

/* Calls of the runtime and Python functions, on their thread and on the clock of the trace. */
static void keeps_calls_and_python_functions(void **state)
{
    static const char text[] = "{\"baseTimeNanoseconds\": 1000, \"traceEvents\": [" X(
        "cuda_runtime", "cudaStreamSynchronize", "1", "2", "3.001", "0.5",
        "") "," X("python_function", "a.py(3): run", "1", "2", "2", "4",
                  "") "," X("cuda_driver", "cuLaunchKernel", "1", "3", "4", "1",
                            "\"correlation\": 5") "," X("kernel", "k", "0", "7", "1", "1",
                                                        GPU) "]}";
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_trace) t = kineto_read(text, 0, &err);
    LPO_AUTO(lpo_trace) without = kineto_read(text, LPO_SKIP_CALLS, &err);
    struct lpo_api_call launch;

    (void)state;
    assert_int_equal(t->calls.len, 1);
    assert_string_equal(lpo_trace_text(t, t->calls.at[0].name), "cudaStreamSynchronize");
    assert_int_equal(t->calls.at[0].start_ns, 1000 + 3001);
    assert_int_equal(t->calls.at[0].end_ns, 1000 + 3501);
    assert_int_equal(t->threads.at[t->calls.at[0].thread].tid, 2);
    /* what launched something is a launch with a name, and is there once */
    assert_int_equal(lpo_trace_call_count(t), 2);
    launch = lpo_trace_call(t, 0);
    assert_string_equal(lpo_trace_text(t, launch.name), "cuLaunchKernel");
    assert_int_equal(launch.start_ns, 1000 + 4000);
    assert_int_equal(t->threads.at[launch.thread].tid, 3);
    assert_int_equal(lpo_trace_call(t, 1).name, t->calls.at[0].name);
    assert_true(t->processes.at[t->threads.at[t->calls.at[0].thread].process].has_calls);
    assert_int_equal(t->python.len, 1);
    assert_string_equal(lpo_trace_text(t, t->python.at[0].name), "a.py(3): run");
    assert_int_equal(t->python.at[0].end_ns, 1000 + 6000);
    assert_int_equal(without->calls.len + without->python.len, 0);
    assert_int_equal(without->launches.len, 1);
    assert_int_equal(without->launches.at[0].name, 0);
}

/* Two ranks of one job: their processes, devices and correlation ids stay apart. */
static void ranks_stay_apart(void **state)
{
    static const char *const files[] = {
        "{\"distributedInfo\": {\"rank\": 0}, \"baseTimeNanoseconds\": 1790857026000000000, "
        "\"deviceProperties\": [{\"id\": 0, \"name\": \"H200\", \"numSms\": 132}], "
        "\"traceEvents\": [" X("cuda_runtime", "l", "3", "3", "1", "1", "\"correlation\": 5") "," X(
            "kernel", "k", "0", "7", "2", "1", GPU) "]}",
        "{\"traceEvents\": [" X(
            "cuda_runtime", "l", "3", "3", "1", "1",
            "\"correlation\": 5") "," X("kernel", "k", "0", "7", "2", "1",
                                        GPU) "], \"baseTimeNanoseconds\": 1790857026000000500, "
                                             "\"distributedInfo\": {\"rank\": 1}}",
    };
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        char path[UNIT_PATH];

        unit_file(files[i], strlen(files[i]), path);
        assert_int_equal(lpo_trace_read(path, t, &err), 0);
        unlink(path);
    }
    assert_int_equal(t->gpu_ops.len, 2);
    assert_int_equal(t->launches.len, 2);
    assert_int_equal(t->processes.len, 2);
    assert_int_equal(t->devices.len, 2);
    assert_int_equal(t->devices.at[0].rank, 0);
    assert_int_equal(t->devices.at[1].rank, 1);
    assert_int_equal(t->devices.at[0].sms, 132);
    assert_string_equal(lpo_trace_text(t, t->devices.at[0].name), "H200");
    assert_int_equal(t->gpu_ops.at[1].start_ns - t->gpu_ops.at[0].start_ns, 500);
    assert_int_equal(t->gpu_ops.at[1].process, 1);
    assert_int_equal(t->epoch_ns, 0);
}

/* AMD's events count CPUs as devices too. */
static void a_device_that_is_not_described(void **state)
{
    static const struct {
        const char *described, *want;
    } files[] = {
        { "{\"id\": 0, \"name\": \"MI300X\", \"numSms\": 304}", "MI300X" },
        { "{\"id\": 0, \"name\": \"MI300X\"}, {\"id\": 1, \"name\": \"MI300X\"}", "MI300X" },
        { "{\"id\": 0, \"name\": \"A\"}, {\"id\": 1, \"name\": \"B\"}", NULL },
        { "{\"id\": 0, \"name\": \"\"}", NULL },
        { "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        LPO_AUTO(lpo_trace) t = lpo_trace_create();
        struct lpo_err err = { 0 };
        char path[UNIT_PATH], text[1024];

        snprintf(text, sizeof text, "{\"deviceProperties\": [%s], \"traceEvents\": [%s]}",
                 files[i].described, X("kernel", "k", "0", "7", "2", "1", "\"device\": 9"));
        unit_file(text, strlen(text), path);
        assert_int_equal(lpo_trace_read(path, t, &err), 0);
        unlink(path);
        assert_int_equal(t->devices.at[0].id, 9);
        if (files[i].want)
            assert_string_equal(lpo_trace_text(t, t->devices.at[0].name), files[i].want);
        else
            assert_int_equal(t->devices.at[0].name, LPO_NONE);
    }
}

static void counters_of_kernels_are_counted(void **state)
{
    static const char text[] = "{\"traceEvents\": [" X(
        "cuda_profiler_range", "k", "0", "0", "2", "1",
        "\"smsp__inst_executed.sum\": 3") "," X("cuda_profiler_range", "__missing__", "0", "0", "3",
                                                "1", "\"smsp__inst_executed.sum\": 0") "]}";
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    (void)state;
    unit_file(text, sizeof text - 1, path);
    assert_int_equal(lpo_trace_read(path, t, &err), 0);
    unlink(path);
    assert_int_equal(t->counted_kernels, 2);
    assert_int_equal(t->gpu_ops.len, 0);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, refuses_what_it_cannot_read);
    UNIT_TEST(&u, leaves_out_what_nobody_needs);
    UNIT_TEST(&u, keeps_calls_and_python_functions);
    UNIT_TEST(&u, ranks_stay_apart);
    UNIT_TEST(&u, a_device_that_is_not_described);
    UNIT_TEST(&u, counters_of_kernels_are_counted);
    return unit_run(&u);
}
