/* SPDX-License-Identifier: Apache-2.0 */
/* Each kind of finding on a trace made for it: where it fires with its exact saving, and where it
 * must stay silent. Times are microseconds. */
#include "findings_trace.h"

#include "analysis/analysis.h"

enum { OPS = 8, CALLS = 8, FOUND = 3 };

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
    { "a wait for work that was submitted before the gap costs nothing",
      { { "gemm", 0, 10, 1, GRAPH }, { "gemm", 60, 70, 1, GRAPH }, { "gemm", 100, 110, 1, GRAPH } },
      { { "cudaGraphLaunch", -5, -4 }, { "cudaDeviceSynchronize", -3, 111 } },
      1,
      0,
      { { 0 } } },
    { "a copy that blocks until it begins is blocked in itself",
      { { "gemm", 0, 10, 1 }, { "Memcpy HtoD", 60, 61, 2, TO_DEVICE, 1000 } },
      { { "cudaLaunchKernel", -5, -4 }, { "hipMemcpyWithStream", 5, 62 } },
      1,
      0,
      { { "blocked-in-call", 50 } } },
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
    { "late launches behind them are theirs, also where they are too few for a finding",
      { { "gemm", 0, 500, 1 },
        { "gemm", 530, 1000, 2 },
        { "Memcpy DtoH (Device -> Pinned)", 1000, 1002, 3, TO_HOST, 8 } },
      { { "cudaLaunchKernel", -3, -2 },
        { "cudaLaunchKernel", 520, 521 },
        { "cudaMemcpyAsync", 522, 523 } },
      9,
      1010,
      { { "launch-bound", 9 * 30 } } },
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
    { "long ones that pass results on: two thirds of all but the longest",
      { { "gemm", 0, 20, 1 },
        { "vectorized_elementwise_kernel<A>", 20, 32, 1 },
        { "reduce_kernel", 32, 62, 1 },
        { "vectorized_elementwise_kernel<B>", 62, 65, 1 },
        { "vectorized_elementwise_kernel<A>", 65, 80, 1, GRAPH },
        { "gemm", 80, 100, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { "unfused-kernels", 8 + 2 + 10 } } },
    { "two long ones and a short one are no such run",
      { { "gemm", 0, 20, 1 },
        { "vectorized_elementwise_kernel<A>", 20, 32, 1 },
        { "reduce_kernel", 32, 62, 1 },
        { "vectorized_elementwise_kernel<B>", 62, 65, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "rows of tables come from memory in any case",
      { { "vectorized_elementwise_kernel<A>", 0, 12, 1 },
        { "reduce_kernel", 12, 32, 1 },
        { "indexSelectLargeIndex", 32, 65, 1 },
        { "vectorized_elementwise_kernel<A>", 65, 80, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "what a compiler fused is done",
      { { "triton_poi_fused_add_0", 0, 12, 1 },
        { "triton_red_fused_mul_1", 12, 32, 1 },
        { "triton_poi_fused_mul_2", 32, 65, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "streams are apart",
      { { "vectorized_elementwise_kernel<A>", 0, 12, 1 },
        { "reduce_kernel", 12, 32, 1, KERNEL, 0, 2 },
        { "vectorized_elementwise_kernel<B>", 32, 65, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "attention in pieces: what stands between its products",
      { { "gemm", 0, 20, 1 },
        { "vectorized_elementwise_kernel<mask>", 20, 24, 1 },
        { "softmax_warp_forward", 24, 40, 1 },
        { "fused_dropout_kernel_vec", 40, 43, 1 },
        { "gemm", 43, 60, 1 },
        { "gemm", 60, 90, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { "unfused-attention", 4 + 16 + 3 } } },
    { "a product may be the second of one attention and the first of the next",
      { { "gemm", 0, 20, 1 },
        { "softmax_warp_forward", 20, 40, 1 },
        { "gemm", 40, 60, 1 },
        { "softmax_warp_backward", 60, 90, 1 },
        { "gemm", 90, 100, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { "unfused-attention", 20 + 30 } } },
    { "a softmax with its choice behind it is a router or a sampler",
      { { "gemm", 0, 20, 1 },
        { "softmax_warp_forward", 20, 40, 1 },
        { "sbtopk::gatherTopK", 40, 43, 1 },
        { "gemm", 43, 60, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "its logarithm is a loss",
      { { "gemm", 0, 20, 1 },
        { "cunn_SoftMaxForward<4, LogSoftMaxForwardEpilogue>", 20, 40, 1 },
        { "gemm", 43, 60, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "two of them have no scores between",
      { { "gemm", 0, 20, 1 },
        { "softmax_warp_forward", 20, 40, 1 },
        { "softmax_warp_forward", 40, 43, 1 },
        { "gemm", 43, 60, 1 } },
      { { "cudaLaunchKernel", -5, -4 } },
      1,
      0,
      { { 0 } } },
    { "a copy to the host in between is no attention",
      { { "gemm", 0, 20, 1 },
        { "softmax_warp_forward", 20, 40, 1 },
        { "Memcpy DtoH", 40, 41, 1, TO_HOST, 8 },
        { "gemm", 41, 60, 1 } },
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

/* What pinned memory would save of copies, in 4 ms or less. */
static const struct pinned_case {
    const char *name;
    struct op ops[4];
    uint32_t cc_major;
    int64_t pageable, saves_ns; /* -1: not known */
    bool from_trace;
} pinned_cases[] = {
    { "as fast as the pinned copy of this trace",
      { { "Memcpy HtoD (Pageable -> Device)", 0, 4000, 1, TO_DEVICE, 2 << 20 },
        { "Memcpy HtoD (Pinned -> Device)", 4000, 5000, 1, TO_DEVICE, 2 << 20 } },
      9,
      4000,
      3000000,
      true },
    { "only what no kernel covers",
      { { "Memcpy HtoD (Pageable -> Device)", 0, 4000, 1, TO_DEVICE, 2 << 20 },
        { "gemm", 1000, 3000, 1, KERNEL, 0, 2 },
        { "Memcpy HtoD (Pinned -> Device)", 4000, 5000, 1, TO_DEVICE, 2 << 20 } },
      9,
      2000,
      1500000,
      true },
    { "the other direction shows the link too",
      { { "Memcpy DtoH (Device -> Pageable)", 0, 4000, 1, TO_HOST, 2 << 20 },
        { "Memcpy HtoD (Pinned -> Device)", 4000, 5000, 1, TO_DEVICE, 2 << 20 } },
      9,
      4000,
      3000000,
      true },
    { "without any: the usual rate of an A100, 25 GB/s",
      { { "Memcpy HtoD (Pageable -> Device)", 0, 4000, 1, TO_DEVICE, 50000000 } },
      8,
      4000,
      2000000,
      false },
    { "a GPU that is not known",
      { { "Memcpy HtoD (Pageable -> Device)", 0, 4000, 1, TO_DEVICE, 50000000 } },
      0,
      4000,
      -1,
      false },
    { "no slower than pinned copies",
      { { "Memcpy HtoD (Pageable -> Device)", 0, 1000, 1, TO_DEVICE, 2 << 20 },
        { "Memcpy HtoD (Pinned -> Device)", 1000, 2000, 1, TO_DEVICE, 2 << 20 } },
      9,
      1000,
      0,
      true },
    { "copies on the GPU and hidden ones are none of it",
      { { "Memcpy DtoD (Device -> Device)", 0, 4000, 1, TO_DEVICE, 2 << 20 },
        { "gemm", 4000, 5000, 1, KERNEL, 0, 2 },
        { "Memcpy HtoD (Pageable -> Device)", 4000, 5000, 1, TO_DEVICE, 2 << 20 } },
      9,
      0,
      -1,
      false },
    { "two beside each other count once",
      { { "Memcpy HtoD (Pageable -> Device)", 0, 4000, 1, TO_DEVICE, 2 << 20 },
        { "Memcpy HtoD (Pageable -> Device)", 0, 4000, 1, TO_DEVICE, 2 << 20, 2 },
        { "Memcpy HtoD (Pinned -> Device)", 4000, 5000, 1, TO_DEVICE, 2 << 20 } },
      9,
      4000,
      3000000,
      true },
};

static double fact_or(const struct lpo_finding *f, enum lpo_fact fact, double none)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == fact)
            return f->evidence[i].value;
    return none;
}

static void check_pinned(void **state)
{
    const struct pinned_case *c = *state;
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) found = NULL;
    const struct lpo_finding *f;

    t->devices.at[device].cc_major = c->cc_major;
    push_call(t, &(struct span){ "cudaMemcpyAsync", -5, -4 }, 0);
    for (size_t i = 0; i < 4 && c->ops[i].name; i++)
        push_op(t, &c->ops[i], 0, 0, device);
    a = lpo_analysis_of(t, NULL);
    found = lpo_findings_create(NULL, NULL, a);
    assert_true(found->all.len >= 1);
    f = &found->all.at[0];
    assert_string_equal(lpo_findings_id(f->kind), "exposed-copies");
    assert_int_equal((int64_t)fact_or(f, LPO_FACT_PAGEABLE_NS, 0), us(c->pageable));
    assert_int_equal((int64_t)fact_or(f, LPO_FACT_PINNED_SAVES_NS, -1), c->saves_ns);
    assert_int_equal(fact_or(f, LPO_FACT_PINNED_RATE, -1) > 0, c->from_trace);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_ROWS(&u, pinned_cases, check_pinned);
    return unit_run(&u);
}
