/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of finding on a trace made for it: where it fires with its exact saving, and where it
 * must stay silent. Times are microseconds. */
#include "../unit.h"

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "region/tree.h"
#include "trace/trace.h"
#include "util/str.h"

enum { OPS = 8, CALLS = 8, FOUND = 3 };

enum how { KERNEL, GRAPH, TO_HOST, TO_DEVICE };

/* `launch` is a row of the calls, counted from 1; 0: no launch record. */
struct op {
    const char *name;
    int64_t start, end;
    int launch;
    enum how how;
    int64_t bytes;
    uint32_t stream;
};

struct span {
    const char *name;
    int64_t start, end;
};

/* The pattern is repeated `times` times, `period` apart; then ops of `once` follow by themselves.
 */
static const struct finding_case {
    const char *name;
    struct op ops[OPS];
    struct span calls[CALLS];
    int times;
    int64_t period;
    struct {
        const char *id;
        int64_t saving;
    } found[FOUND];
} cases[] = {
    { "short gaps before late launches",
      { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 2 } },
      { { "cudaLaunchKernel", -5, -4 }, { "cudaLaunchKernel", 40, 41 } },
      1,
      0,
      { { "launch-bound", 50 } } },
    { "a gap of 200 us is short",
      { { "gemm", 0, 10, 1 }, { "gemm", 210, 220, 2 } },
      { { "cudaLaunchKernel", -5, -4 }, { "cudaLaunchKernel", 40, 41 } },
      1,
      0,
      { { "launch-bound", 200 } } },
    { "a longer one is not",
      { { "gemm", 0, 10, 1 }, { "gemm", 211, 220, 2 } },
      { { "cudaLaunchKernel", -5, -4 }, { "cudaLaunchKernel", 40, 41 } },
      1,
      0,
      { { "host-work", 201 } } },
    { "work that was launched in time is nobody's fault",
      { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 2 } },
      { { "cudaLaunchKernel", -5, -4 }, { "cudaLaunchKernel", 2, 3 } },
      1,
      0,
      { { 0 } } },
    { "without a launch record nothing is said",
      { { "gemm", 0, 10, 0 }, { "gemm", 60, 70, 0 } },
      { { "cudaStreamSynchronize", 0, 65 } },
      1,
      0,
      { { 0 } } },
    { "less than 2 % of the span is silent",
      { { "gemm", 0, 500, 1 }, { "gemm", 510, 1000, 2 } },
      { { "cudaLaunchKernel", -5, -4 }, { "cudaLaunchKernel", 505, 506 } },
      1,
      0,
      { { 0 } } },
    { "blocked in a call, by its name",
      { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 3 }, { "gemm", 100, 110, 5 } },
      { { "cudaLaunchKernel", -5, -4 },
        { "cudaStreamSynchronize", 0, 55 },
        { "cudaLaunchKernel", 56, 57 },
        { "cudaEventSynchronize", 60, 95 },
        { "cudaLaunchKernel", 96, 97 } },
      1,
      0,
      { { "blocked-in-call", 50 }, { "blocked-in-call", 30 } } },
    { "blocked in an allocation",
      { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 3 } },
      { { "cudaLaunchKernel", -5, -4 }, { "hipMalloc", 0, 55 }, { "cudaLaunchKernel", 56, 57 } },
      1,
      0,
      { { "allocator", 50 } } },
    { "code is loaded",
      { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 3 } },
      { { "cudaLaunchKernel", -5, -4 },
        { "cuModuleLoadData", 0, 55 },
        { "cudaLaunchKernel", 56, 57 } },
      1,
      0,
      { { "first-calls", 50 } } },
    { "asking how many blocks fit loads nothing",
      { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 3 } },
      { { "cudaLaunchKernel", -5, -4 },
        { "cudaOccupancyMaxActiveBlocksPerMultiprocessor", 0, 55 },
        { "cudaLaunchKernel", 56, 57 } },
      1,
      0,
      { { "blocked-in-call", 50 } } },
    { "eight small results are ping-pong",
      { { "gemm", 0, 20, 1 }, { "Memcpy DtoH (Device -> Pinned)", 20, 22, 2, TO_HOST, 8 } },
      { { "cudaLaunchKernel", -3, -2 },
        { "cudaMemcpyAsync", -1, 0 },
        { "cudaStreamSynchronize", 1, 45 } },
      9,
      50,
      { { "ping-pong", 8 * 28 }, { "exposed-copies", 9 * 2 } } },
    { "seven are not",
      { { "gemm", 0, 20, 1 }, { "Memcpy DtoH (Device -> Pinned)", 20, 22, 2, TO_HOST, 8 } },
      { { "cudaLaunchKernel", -3, -2 },
        { "cudaMemcpyAsync", -1, 0 },
        { "cudaStreamSynchronize", 1, 45 } },
      8,
      50,
      { { "blocked-in-call", 7 * 28 }, { "exposed-copies", 8 * 2 } } },
    { "large results are not",
      { { "gemm", 0, 20, 1 }, { "Memcpy DtoH (Device -> Pinned)", 20, 22, 2, TO_HOST, 4097 } },
      { { "cudaLaunchKernel", -3, -2 },
        { "cudaMemcpyAsync", -1, 0 },
        { "cudaStreamSynchronize", 1, 45 } },
      9,
      50,
      { { "blocked-in-call", 8 * 28 }, { "exposed-copies", 9 * 2 } } },
    { "long work of the host after small results is not",
      { { "gemm", 0, 20, 1 }, { "Memcpy DtoH (Device -> Pinned)", 20, 22, 2, TO_HOST, 8 } },
      { { "cudaLaunchKernel", -3, -2 }, { "cudaMemcpyAsync", -1, 0 } },
      9,
      1000,
      { { "host-work", 8 * 978 } } },
    { "communication that nothing covers",
      { { "ncclDevKernel_AllReduce", 0, 50, 1 }, { "gemm", 0, 20, 1, KERNEL, 0, 2 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { "exposed-communication", 30 } } },
    { "communication that is covered",
      { { "ncclDevKernel_AllReduce", 0, 20, 1 }, { "gemm", 0, 50, 1, KERNEL, 0, 2 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "copies that nothing covers",
      { { "gemm", 0, 20, 1 }, { "Memcpy HtoD", 10, 50, 1, TO_DEVICE, 1000, 2 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { "exposed-copies", 30 } } },
    { "copies that are covered",
      { { "gemm", 0, 50, 1 }, { "Memcpy HtoD", 10, 50, 1, TO_DEVICE, 1000, 2 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "short kernels that wait for each other: all but the longest",
      { { "gemm", 0, 20, 1 },
        { "vectorized_elementwise_kernel", 20, 25, 1 },
        { "vectorized_elementwise_kernel", 25, 32, 1 },
        { "vectorized_elementwise_kernel", 32, 36, 1 },
        { "gemm", 36, 50, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { "small-kernels", 9 } } },
    { "two short kernels are no run",
      { { "gemm", 0, 20, 1 },
        { "vectorized_elementwise_kernel", 20, 25, 1 },
        { "vectorized_elementwise_kernel", 25, 32, 1 },
        { "gemm", 32, 50, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "kernels of 10 us are not short",
      { { "gemm", 0, 20, 1 },
        { "vectorized_elementwise_kernel", 20, 30, 1 },
        { "vectorized_elementwise_kernel", 30, 40, 1 },
        { "vectorized_elementwise_kernel", 40, 50, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "short kernels of a graph are launched together already",
      { { "gemm", 0, 20, 1 },
        { "vectorized_elementwise_kernel", 20, 25, 1, GRAPH },
        { "vectorized_elementwise_kernel", 25, 32, 1, GRAPH },
        { "vectorized_elementwise_kernel", 32, 36, 1, GRAPH },
        { "gemm", 36, 50, 1 } },
      { { "cudaGraphLaunch", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "short kernels cost nothing where the GPU waits for the host",
      { { "gemm", 0, 20, 1 },
        { "vectorized_elementwise_kernel", 20, 25, 2 },
        { "vectorized_elementwise_kernel", 25, 32, 3 },
        { "vectorized_elementwise_kernel", 32, 36, 4 },
        { "gemm", 36, 50, 5 } },
      { { "cudaLaunchKernel", -5, -4 },
        { "cudaLaunchKernel", 19, 20 },
        { "cudaLaunchKernel", 25, 26 },
        { "cudaLaunchKernel", 32, 33 },
        { "cudaLaunchKernel", 36, 37 } },
      1,
      0,
      { { 0 } } },
};

static int64_t us(int64_t n)
{
    return n * 1000;
}

static void push_op(struct lpo_trace *t, const struct op *o, int64_t shift, size_t first_call,
                    uint16_t device)
{
    lpo_vec_push(
        &t->gpu_ops,
        (struct lpo_gpu_op){
            .start_ns = us(o->start + shift),
            .end_ns = us(o->end + shift),
            .bytes = (uint64_t)o->bytes,
            .name = lpo_trace_name(t, o->name),
            .launch = o->launch ? (uint32_t)(first_call + (size_t)o->launch - 1) : LPO_NONE,
            .stack = LPO_NONE,
            .capture = LPO_NONE,
            .shape = LPO_NONE,
            .metrics = LPO_NONE,
            .stream = o->stream,
            .device = device,
            .kind = o->how == TO_HOST || o->how == TO_DEVICE ? LPO_COPY : LPO_KERNEL,
            .flags = o->how == GRAPH ? LPO_GPU_OP_GRAPH : 0 });
}

static void push_call(struct lpo_trace *t, const struct span *c, int64_t shift)
{
    uint32_t thread = lpo_trace_thread(t, 0, 1);

    lpo_vec_push(&t->launches,
                 (struct lpo_launch){ us(c->start + shift), us(c->end + shift), thread });
    lpo_vec_push(&t->calls, (struct lpo_api_call){ us(c->start + shift), us(c->end + shift),
                                                   lpo_trace_name(t, c->name), thread });
}

static struct lpo_trace *empty_trace(void)
{
    struct lpo_trace *t = lpo_trace_create();
    uint16_t process = lpo_trace_process(t, 1, -1);

    t->processes.at[process].has_calls = true;
    lpo_trace_thread(t, process, 1);
    return t;
}

static void push_range(struct lpo_trace *t, const char *name, int64_t start, int64_t end)
{
    lpo_vec_push(&t->ranges, (struct lpo_range){ .start_ns = us(start),
                                                 .end_ns = us(end),
                                                 .name = lpo_trace_name(t, name),
                                                 .thread = lpo_trace_thread(t, 0, 1) });
}

static struct lpo_trace *make_trace(const struct finding_case *c)
{
    struct lpo_trace *t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);

    for (int k = 0; k < c->times; k++) {
        size_t first_call = t->launches.len;

        for (int i = 0; i < CALLS && c->calls[i].name; i++)
            push_call(t, &c->calls[i], k * c->period);
        for (int i = 0; i < OPS && c->ops[i].name; i++)
            push_op(t, &c->ops[i], k * c->period, first_call, device);
    }
    return t;
}

static void check(void **state)
{
    const struct finding_case *c = *state;
    LPO_AUTO(lpo_trace) t = make_trace(c);
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);
    size_t n = 0;

    while (n < FOUND && c->found[n].id)
        n++;
    for (size_t i = 0; i < f->all.len && i < n; i++) {
        assert_string_equal(lpo_findings_id(f->all.at[i].kind), c->found[i].id);
        assert_int_equal(f->all.at[i].saving_ns, us(c->found[i].saving));
    }
    assert_int_equal(f->all.len, n);
}

static const struct lpo_evidence *evidence(const struct lpo_finding *f, enum lpo_fact fact)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == fact)
            return &f->evidence[i];
    fail_msg("fact %d is missing", (int)fact);
    return NULL;
}

/* Steps of 100 us; the first takes `first` and keeps the GPU waiting for 70 us less than that. */
static struct lpo_trace *steps(int64_t first, int count)
{
    struct lpo_trace *t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    int64_t at = 0;

    push_call(t, &(struct span){ "cudaLaunchKernel", -20, -19 }, 0);
    push_op(t, &(struct op){ .name = "gemm", .start = -10, .end = 0, .launch = 1 }, 0, 0, device);
    for (int i = 0; i < count; i++) {
        int64_t took = i ? 100 : first;
        size_t call = t->launches.len;

        push_range(t, "step", at, at + took);
        push_call(t, &(struct span){ "cudaLaunchKernel", took - 75, took - 74 }, at);
        push_op(t, &(struct op){ .name = "gemm", .start = took - 70, .end = took, .launch = 1 }, at,
                call, device);
        at += took;
    }
    return t;
}

static void a_first_visit_costs_no_more_than_it_took_longer(void **state)
{
    static const struct {
        int64_t first;
        int count;
        const char *id;
        int64_t saving;
    } rows[] = {
        { 1000, 4, "first-calls", 900 }, /* 930 idle, but only 900 longer than later ones */
        { 1000, 3, "host-work", 930 },   /* two later visits show nothing */
        { 190, 4, "launch-bound", 210 }  /* less than twice as long: 120 + 3 x 30 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LPO_AUTO(lpo_trace) t = steps(rows[i].first, rows[i].count);
        LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
        LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);

        assert_true(f->all.len > 0);
        assert_string_equal(lpo_findings_id(f->all.at[0].kind), rows[i].id);
        assert_int_equal(f->all.at[0].saving_ns, us(rows[i].saving));
    }
}

/* A layer takes longer in prefill than in decode: that is no first call. */
static void ranges_are_compared_along_their_path(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    push_range(t, "prefill", 0, 1000);
    push_range(t, "layer", 0, 1000);
    for (int i = 0; i < 6; i++) {
        push_range(t, "decode", 1000 + i * 100, 1100 + i * 100);
        push_range(t, "layer", 1000 + i * 100, 1000 + i * 100 + (i ? 40 : 90));
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->first.len, 1); /* decode/layer: 90, later 40 */
    assert_int_equal(f->first.at[0].start_ns, us(1000));
    assert_int_equal(f->first.at[0].later_ns, us(40));
    assert_int_equal(f->first.at[0].later, 5);
}

/* The first call of an operator with the same shapes, as for tuned convolutions. */
static struct lpo_trace *convolutions(int64_t first, bool shaped)
{
    struct lpo_trace *t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    int64_t at = 0;

    push_call(t, &(struct span){ "cudaLaunchKernel", -20, -19 }, 0);
    push_op(t, &(struct op){ .name = "gemm", .start = -10, .end = 10, .launch = 1 }, 0, 0, device);
    for (int i = 0; i < 5; i++) {
        int64_t took = i ? 20 : first;
        size_t call = t->launches.len;

        lpo_vec_push(&t->ops, (struct lpo_op){
                                  us(at), us(at + took), lpo_trace_name(t, "aten::conv"), 0,
                                  shaped ? lpo_trace_name(t, "[[1, 3]]") : LPO_NONE, LPO_NONE });
        push_call(t, &(struct span){ "cudaLaunchKernel", took - 12, took - 11 }, at);
        push_op(t,
                &(struct op){ .name = "gemm", .start = took - 10, .end = took + 10, .launch = 1 },
                at, call, device);
        at += took;
    }
    return t;
}

static void a_first_call_of_an_operator(void **state)
{
    static const struct {
        int64_t first;
        bool shaped;
        const char *id;
    } rows[] = {
        { 520, true, "first-calls" },
        { 40, true, "first-calls" },
        { 39, true, "launch-bound" }, /* less than twice as long */
        { 520, false, "first-calls" },
        { 199, false, "launch-bound" }, /* without shapes it must take ten times as long */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LPO_AUTO(lpo_trace) t = convolutions(rows[i].first, rows[i].shaped);
        LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
        LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);

        assert_int_equal(f->all.len, 1);
        assert_string_equal(lpo_findings_id(f->all.at[0].kind), rows[i].id);
        assert_int_equal(f->all.at[0].saving_ns, us(rows[i].first - 20));
        assert_true(evidence(&f->all.at[0], LPO_FACT_IN_OPERATOR)->value ==
                    (double)us(rows[i].first - 20));
        if (strcmp(rows[i].id, "first-calls") != 0)
            continue;
        assert_true(evidence(&f->all.at[0], LPO_FACT_FIRST_NS)->value == (double)us(rows[i].first));
        assert_true(evidence(&f->all.at[0], LPO_FACT_LATER_NS)->value == (double)us(20));
    }
}

/* The frame of the program that has most of the idle time, not that of the longest gap. */
static void the_host_is_named_by_most_of_the_time(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    const char *const names[] = { "a.py(1): often", "torch/_tensor.py(9): inner",
                                  "<built-in method copy_ of Tensor object at 0x7ed6>" };
    const struct lpo_finding *host;
    LPO_STR path = { 0 };

    (void)state;
    push_range(t, "train", -1000, 100000);
    for (int64_t i = 0; i < 4; i++) { /* gaps of 990, 400, 400 and 400 us */
        int64_t start = i ? 1000 + (i - 1) * 410 : 0, end = i ? start + 410 : 1000;

        if (i == 0) {
            push_call(t, &(struct span){ "cudaLaunchKernel", -20, -19 }, 0);
            push_op(t, &(struct op){ .name = "gemm", .start = 0, .end = 10, .launch = 1 }, 0, 0,
                    device);
            lpo_vec_push(&t->python, (struct lpo_python_call){
                                         us(0), us(995), lpo_trace_name(t, "b.py(2): once"), 0 });
        }
        for (int64_t k = 0; i && k < 3; k++)
            lpo_vec_push(&t->python, (struct lpo_python_call){ us(start + k), us(end - 3 - k),
                                                               lpo_trace_name(t, names[k]), 0 });
        push_call(t, &(struct span){ "cudaLaunchKernel", end - 2, end - 1 }, 0);
        push_op(t, &(struct op){ .name = "gemm", .start = end, .end = end + 10, .launch = 1 }, 0,
                t->launches.len - 1, device);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    host = &f->all.at[0];
    assert_string_equal(lpo_findings_id(host->kind), "host-work");
    assert_int_equal(host->saving_ns, us(990 + 3 * 400));
    assert_string_equal(lpo_trace_text(t, evidence(host, LPO_FACT_IN_PYTHON)->name), names[0]);
    assert_true(evidence(host, LPO_FACT_IN_PYTHON)->value == (double)us(1200));
    lpo_region_add_path(a->tree, host->node, &path);
    assert_string_equal(lpo_str_text(&path), "train");
}

static void push_host_op(struct lpo_trace *t, const char *name, int64_t start, int64_t end)
{
    lpo_vec_push(&t->ops, (struct lpo_op){ us(start), us(end), lpo_trace_name(t, name), 0, LPO_NONE,
                                           LPO_NONE });
}

/* Five kernels of 20 us, all launched ahead: three of them inside the checkpoint, and one of those
 * in a backward function nested there. */
static void forward_work_that_is_done_again(void **state)
{
    static const char *const windows[] = {
        "autograd::engine::evaluate_function: CheckpointFunctionBackward",
        "autograd::engine::evaluate_function: MulBackward0" /* the same without a checkpoint */
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        LPO_AUTO(lpo_trace) t = empty_trace();
        uint16_t device = lpo_trace_device(t, 0, -1);
        LPO_AUTO(lpo_analysis) a = NULL;
        LPO_AUTO(lpo_findings) f = NULL;

        for (int k = 0; k < 5; k++) {
            push_call(t, &(struct span){ "cudaLaunchKernel", k - 10, k - 10 }, 0);
            push_op(
                t, &(struct op){ .name = "gemm", .start = 20 * k, .end = 20 * k + 20, .launch = 1 },
                0, (size_t)k, device);
        }
        push_host_op(t, windows[i], -9, -7); /* kernels 1, 2 and 3 */
        push_host_op(t, "autograd::engine::evaluate_function: AddmmBackward0", -7, -7);
        a = lpo_analysis_of(t, NULL);
        f = lpo_findings_create(NULL, NULL, a);
        assert_int_equal(f->all.len, i == 0);
        if (i)
            continue;
        assert_string_equal(lpo_findings_id(f->all.at[0].kind), "recomputation");
        assert_int_equal(f->all.at[0].saving_ns, us(40));
        assert_true(evidence(&f->all.at[0], LPO_FACT_LAUNCHES)->value == 2);
    }
}

/* Kernels that are short and recomputed are saved once: the larger claim has them. */
static void a_nanosecond_is_claimed_once(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    push_call(t, &(struct span){ "cudaLaunchKernel", -10, -9 }, 0);
    for (int k = 0; k < 4; k++)
        push_op(t,
                &(struct op){ .name = "vectorized_elementwise_kernel",
                              .start = 5 * k,
                              .end = 5 * k + 5,
                              .launch = 1 },
                0, 0, device);
    push_host_op(t, "CheckpointFunctionBackward", -20, 0);
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), "recomputation");
    assert_int_equal(f->all.at[0].saving_ns, us(20));
}

/* Two ranks: the one that computes longer, against the median. */
static void a_slow_rank(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t devices[] = { lpo_trace_device(t, 0, 0), lpo_trace_device(t, 0, 1),
                           lpo_trace_device(t, 0, 2) };
    const int64_t computes[] = { 100, 150, 104 };
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    for (int i = 0; i < 3; i++)
        push_op(t, &(struct op){ .name = "gemm", .start = 0, .end = computes[i] }, 0, 0,
                devices[i]);
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->device, devices[1]);
    assert_int_equal(f->all.len, 1);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), "slow-rank");
    assert_int_equal(f->all.at[0].saving_ns, us(46));
    assert_true(evidence(&f->all.at[0], LPO_FACT_RANK)->value == 1);
}

/* Clocks of several devices are never added: the saving is that of the longest span. */
static void other_gpus_are_evidence(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    for (int i = 0; i < 3; i++) {
        uint16_t device = lpo_trace_device(t, i, -1);

        push_op(t, &(struct op){ .name = "gemm", .start = 0, .end = 60 }, 0, 0, device);
        push_op(t,
                &(struct op){ .name = "ncclDevKernel_AllReduce", .start = 60, .end = 100 - i * 10 },
                0, 0, device);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_int_equal(f->all.at[0].saving_ns, us(40));
    assert_int_equal(f->span_ns, us(100));
    assert_true(evidence(&f->all.at[0], LPO_FACT_ALL_NS)->value == (double)us(40));
    assert_string_equal(lpo_trace_text(t, evidence(&f->all.at[0], LPO_FACT_KERNEL)->name),
                        "ncclDevKernel_AllReduce");
    assert_int_equal(f->compute_ns, us(60));
    assert_int_equal(f->kernels_slack_ns, 0); /* no launch records: nothing is promised */
    assert_true(evidence(&f->all.at[0], LPO_FACT_OTHER_GPUS)->value == 2);
    assert_true(evidence(&f->all.at[0], LPO_FACT_OTHER_MIN_NS)->value == (double)us(20));
    assert_true(evidence(&f->all.at[0], LPO_FACT_OTHER_MAX_NS)->value == (double)us(30));
}

static void a_saving_inside_the_noise_is_no_advice(void **state)
{
    const struct lpo_findings f = { .span_ns = 1000, .noise = 0.1 };
    const struct lpo_finding under = { .saving_ns = 99 }, at = { .saving_ns = 100 };

    (void)state;
    assert_false(lpo_findings_above_noise(&f, &under));
    assert_true(lpo_findings_above_noise(&f, &at));
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static struct lpo_trace *random_trace(uint64_t seed)
{
    static const char *const kernels[] = { "gemm", "vectorized_elementwise_kernel",
                                           "ncclDevKernel_AllReduce", "Memcpy DtoH",
                                           "Memcpy HtoD" };
    static const char *const calls[] = { "cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc",
                                         "cuModuleLoadData", "cudaMemcpyAsync" };
    struct lpo_trace *t = empty_trace();
    int64_t now = 0;

    for (int i = 0; i < 60; i++) {
        int64_t start = (int64_t)(next_random(&seed) % 400),
                took = (int64_t)(next_random(&seed) % 90);
        size_t name = next_random(&seed) % 5;

        push_call(t,
                  &(struct span){ calls[next_random(&seed) % 5], start - 100,
                                  start - 100 + (int64_t)(next_random(&seed) % 150) },
                  now);
        push_op(t,
                &(struct op){ .name = kernels[name],
                              .start = start,
                              .end = start + took,
                              .launch = next_random(&seed) % 4 ? 1 : 0,
                              .how = name > 2 ? TO_HOST : KERNEL,
                              .bytes = (int64_t)(next_random(&seed) % 9000),
                              .stream = (uint32_t)(next_random(&seed) % 3) },
                now, t->launches.len - 1, lpo_trace_device(t, (int)(next_random(&seed) % 2), -1));
        if (next_random(&seed) % 3 == 0)
            push_range(t, "step", now, now + start + took);
        now += (int64_t)(next_random(&seed) % 120);
    }
    return t;
}

static void savings_are_at_most_the_span(void **state)
{
    size_t found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        LPO_AUTO(lpo_trace) t = random_trace(seed);
        LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
        LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);
        int64_t sum = 0;

        for (size_t i = 0; i < f->all.len; i++) {
            assert_true(f->all.at[i].saving_ns > 0);
            assert_true(i == 0 || f->all.at[i].saving_ns <= f->all.at[i - 1].saving_ns);
            sum += f->all.at[i].saving_ns;
        }
        assert_true(sum <= f->span_ns);
        found += f->all.len;
    }
    assert_true(found > 300); /* else nothing was tested */
}

/* The host waits in `call` on a thread for `gap` us, then launches a kernel of 1 us. */
static int64_t wait_and_launch(struct lpo_trace *t, const char *call, uint64_t tid, int64_t at,
                               int64_t gap)
{
    size_t first = t->launches.len;

    push_call(t, &(struct span){ call, at, at + gap - 1 }, 0);
    push_call(t, &(struct span){ "cudaLaunchKernel", at + gap - 1, at + gap }, 0);
    for (size_t i = first; i < first + 2; i++)
        t->launches.at[i].thread = t->calls.at[i].thread = lpo_trace_thread(t, 0, tid);
    push_op(t, &(struct op){ .name = "gemm", .start = at + gap, .end = at + gap + 1, .launch = 2 },
            0, first, lpo_trace_device(t, 0, -1));
    return at + gap + 1;
}

/* 200,000 gaps, nine of each of 20,000 names: a search through all names for each gap would look
 * at 2,000,000,000 of them. */
static void many_names_of_calls(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    int64_t at = wait_and_launch(t, "cudaStreamSynchronize", 1, 0, 40);

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char name[32];

        snprintf(name, sizeof name, "call%d", i / 10);
        at = i % 10 ? wait_and_launch(t, name, 1, at, 4)
                    : wait_and_launch(t, "cudaStreamSynchronize", 1, at, 40);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_int_equal(f->all.at[0].kind, LPO_FINDING_BLOCKED);
    assert_string_equal(lpo_trace_text(t, f->all.at[0].name), "cudaStreamSynchronize");
    assert_int_equal(f->all.at[0].saving_ns, us(20000 * 40));
    assert_true(evidence(&f->all.at[0], LPO_FACT_GAPS)->value == 20000);
}

/* Threads that take turns: each gap is compared with the operators of its own. */
static void operators_of_threads_that_take_turns(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    int64_t at = wait_and_launch(t, "cudaStreamSynchronize", 1, 0, 40);

    (void)state;
    for (int i = 0; i < 50; i++) {
        uint64_t tid = i % 5 < 2 ? 1 : 2;
        const char *name = tid == 1 ? "aten::item" : "aten::nonzero";

        lpo_vec_push(&t->ops, (struct lpo_op){ us(at), us(at + 40), lpo_trace_name(t, name),
                                               lpo_trace_thread(t, 0, tid), LPO_NONE, LPO_NONE });
        at = wait_and_launch(t, "cudaStreamSynchronize", tid, at, 40);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_int_equal(f->all.at[0].saving_ns, us(50 * 40));
    assert_string_equal(lpo_trace_text(t, evidence(&f->all.at[0], LPO_FACT_IN_OPERATOR)->name),
                        "aten::nonzero");
    assert_true(evidence(&f->all.at[0], LPO_FACT_IN_OPERATOR)->value == (double)us(30 * 40));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, a_first_visit_costs_no_more_than_it_took_longer);
    UNIT_TEST(&u, a_first_call_of_an_operator);
    UNIT_TEST(&u, ranges_are_compared_along_their_path);
    UNIT_TEST(&u, the_host_is_named_by_most_of_the_time);
    UNIT_TEST(&u, forward_work_that_is_done_again);
    UNIT_TEST(&u, a_nanosecond_is_claimed_once);
    UNIT_TEST(&u, a_slow_rank);
    UNIT_TEST(&u, other_gpus_are_evidence);
    UNIT_TEST(&u, a_saving_inside_the_noise_is_no_advice);
    UNIT_TEST(&u, savings_are_at_most_the_span);
    UNIT_TEST(&u, many_names_of_calls);
    UNIT_TEST(&u, operators_of_threads_that_take_turns);
    return unit_run(&u);
}
