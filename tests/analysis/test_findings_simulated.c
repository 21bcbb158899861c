/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about kernels of a program that waits for its host half of the time: what they save is
 * simulated, and looked for on every GPU. Times are microseconds. */
#include "findings_trace.h"

#include "analysis/analysis.h"

static void launch(struct lpo_trace *t, uint16_t process, uint32_t thread, uint16_t device,
                   int64_t call, const char *kernel, int64_t start, int64_t end)
{
    struct span c = { "cudaLaunchKernel", call, call + 1 };
    struct op o = { .name = kernel, .start = start, .end = end, .launch = 1 };

    push_call(t, &c, 0);
    t->launches.at[t->launches.len - 1].thread = t->calls.at[t->calls.len - 1].thread = thread;
    push_op(t, &o, 0, t->launches.len - 1, device);
    t->gpu_ops.at[t->gpu_ops.len - 1].process = process;
}

/* A run of three kernels that could be one, twice. Behind the first one the host is late in any
 * case, so that shorter kernels save nothing there; behind the second one the GPU is. */
static void push_rank(struct lpo_trace *t, int rank)
{
    uint16_t process = lpo_trace_process(t, 100 + (uint64_t)rank, -1);
    uint16_t device = lpo_trace_device(t, rank, -1);
    uint32_t thread = lpo_trace_thread(t, process, 100 + (uint64_t)rank);

    t->processes.at[process].has_calls = true;
    for (int64_t i = 0; i < 2; i++) {
        int64_t call = i ? 155 : -10, at = i ? 160 : 0;

        if (i)
            launch(t, process, thread, device, 150, "gemm", 152, 160);
        launch(t, process, thread, device, call, "vectorized_elementwise_kernel<A>", at, at + 24);
        launch(t, process, thread, device, call + 1, "reduce_kernel", at + 24, at + 48);
        launch(t, process, thread, device, call + 2, "vectorized_elementwise_kernel<B>", at + 48,
               at + 72);
        launch(t, process, thread, device, call + 3, "gemm", at + 72, i ? 300 : 80);
    }
}

static const struct lpo_finding *find(const struct lpo_findings *f, enum lpo_finding_kind kind)
{
    for (size_t i = 0; i < f->all.len; i++)
        if (f->all.at[i].kind == kind)
            return &f->all.at[i];
    fail_msg("no finding of kind %d", (int)kind);
    return NULL;
}

static void a_simulated_saving_says_so(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    const struct lpo_finding *fuse;

    (void)state;
    push_rank(t, 0);
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_true(f->kernels_simulated);
    fuse = find(f, LPO_FINDING_UNFUSED);
    assert_int_equal(fuse->saving_ns, us(32)); /* two thirds of two kernels of 24 us, once */
    assert_int_equal(fuse->shorter_ns, us(64));
    assert_int_equal(fuse->evidence[fuse->nevidence - 1].fact, LPO_FACT_SHORTER_NS);
    assert_true(evidence(fuse, LPO_FACT_SHORTER_NS)->value == (double)us(64));
}

static void a_saving_that_was_not_simulated_does_not(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    const struct lpo_finding *fuse;

    (void)state;
    push_rank(t, 0);
    for (size_t i = 0; i < t->launches.len; i++) /* all were launched in time */
        t->launches.at[i].start_ns = t->launches.at[i].end_ns = us(-20 + (int64_t)i);
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    fuse = find(f, LPO_FINDING_UNFUSED);
    assert_int_equal(fuse->saving_ns, us(64));
    assert_int_equal(fuse->shorter_ns, 0);
    for (size_t i = 0; i < fuse->nevidence; i++)
        assert_int_not_equal(fuse->evidence[i].fact, LPO_FACT_SHORTER_NS);
}

/* However many there are: none is left out because it would take long to look at. */
static void all_other_gpus_are_counted(void **state)
{
    static const int counts[] = { 2, 17, 65, 130 };

    (void)state;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        LPO_AUTO(lpo_trace) t = lpo_trace_create();
        LPO_AUTO(lpo_analysis) a = NULL;
        LPO_AUTO(lpo_findings) f = NULL;

        for (int i = 0; i < counts[k]; i++)
            push_rank(t, i);
        a = lpo_analysis_of(t, NULL);
        f = lpo_findings_create(NULL, NULL, a);
        assert_int_equal(f->all.len, 2);
        for (size_t i = 0; i < f->all.len; i++) {
            assert_true(evidence(&f->all.at[i], LPO_FACT_OTHER_GPUS)->value == counts[k] - 1);
            for (size_t n = 0; n < f->all.at[i].others.len; n++)
                assert_int_equal(f->all.at[i].others.at[n].saving_ns, f->all.at[i].saving_ns);
        }
        assert_int_equal(find(f, LPO_FINDING_UNFUSED)->saving_ns, us(32));
        assert_int_equal(find(f, LPO_FINDING_LAUNCH_BOUND)->saving_ns, us(72));
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, a_simulated_saving_says_so);
    UNIT_TEST(&u, a_saving_that_was_not_simulated_does_not);
    UNIT_TEST(&u, all_other_gpus_are_counted);
    return unit_run(&u);
}
