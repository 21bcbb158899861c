/* SPDX-License-Identifier: Apache-2.0 */
/* Findings beside each other: time that two of them claim, other ranks and GPUs, facts that change
 * an advice, what lies outside every region, and sums that stay below the span. */
#include "findings_trace.h"

#include "analysis/analysis.h"

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

/* All ranks end together, and the critical one waits for the slow one: 12 of its 15 us of exposed
 * communication. */
static void a_rank_that_others_wait_for(void **state)
{
    const int64_t computes[] = { 30, 30, 42, 31 };
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    for (int i = 0; i < 4; i++) {
        uint16_t device = lpo_trace_device(t, 0, i);

        push_op(t, &(struct op){ .name = "gemm", .end = computes[i] }, 0, 0, device);
        push_op(t,
                &(struct op){ .name = "ncclDevKernel_AllReduce", .start = computes[i], .end = 45 },
                0, 0, device);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 2);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), "slow-rank");
    assert_int_equal(f->all.at[0].saving_ns, us(12));
    assert_int_equal(t->devices.at[f->all.at[0].device].rank, 2);
    assert_string_equal(lpo_findings_id(f->all.at[1].kind), "exposed-communication");
    assert_int_equal(f->all.at[1].saving_ns, us(3));
    assert_true(evidence(&f->all.at[1], LPO_FACT_EXPOSED_NS)->value == (double)us(15));
    assert_true(evidence(&f->all.at[1], LPO_FACT_RANK_WAIT_NS)->value == (double)us(12));
    lpo_findings_destroy(f);
    t->ranks = 10; /* of the job: what six others do is not known */
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), "exposed-communication");
    assert_int_equal(f->all.at[0].saving_ns, us(15));
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

/* Late launches on three devices, and one that is never late: each kind of finding says where else
 * it holds, with what that device could save. */
static void any_finding_names_the_other_gpus(void **state)
{
    const int64_t gaps[] = { 30, 50, 40, 0 };
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    for (int i = 0; i < 4; i++) {
        uint16_t device = lpo_trace_device(t, i, -1);
        size_t first = t->launches.len;

        push_call(t, &(struct span){ "cudaLaunchKernel", -5, -4 }, 0);
        push_call(t, &(struct span){ "cudaLaunchKernel", 11, 12 }, 0);
        push_op(t, &(struct op){ "gemm", 0, 10, 1 }, 0, first, device);
        push_op(t, &(struct op){ "gemm", 10 + gaps[i], 20 + gaps[i], 2 }, 0, first, device);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), "launch-bound");
    assert_int_equal(f->all.at[0].saving_ns, us(50));
    assert_int_equal(f->all.at[0].others.len, 2);
    assert_int_equal(t->devices.at[f->all.at[0].others.at[0].device].id, 2);
    assert_int_equal(f->all.at[0].others.at[0].saving_ns, us(40));
    assert_int_equal(f->all.at[0].others.at[1].saving_ns, us(30));
    assert_true(evidence(&f->all.at[0], LPO_FACT_OTHER_GPUS)->value == 2);
}

static bool has_fact(const struct lpo_finding *f, enum lpo_fact fact)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == fact)
            return true;
    return false;
}

/* What the program does already, and what computing cannot hide, is evidence. */
static void facts_that_change_the_advice(void **state)
{
    static const struct {
        struct op ops[3];
        const char *operator;
        enum lpo_fact fact;
        bool there;
    } rows[] = {
        { { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 2 } }, "aten::mm", LPO_FACT_COMPILED, false },
        { { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 2 } },
          "CompiledFunction",
          LPO_FACT_COMPILED,
          false },
        { { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 2 } },
          "CompiledFunction",
          LPO_FACT_NOT_FUSED,
          true },
        { { { "triton_poi_fused_add_0", 0, 10, 1 }, { "gemm", 60, 70, 2 } },
          "CompiledFunction",
          LPO_FACT_COMPILED,
          true },
        { { { "triton_poi_fused_add_0", 0, 10, 1 }, { "gemm", 60, 70, 2 } },
          "CompiledFunction",
          LPO_FACT_NOT_FUSED,
          false },
        { { { "triton__0d1d2d", 0, 10, 1 }, { "gemm", 60, 70, 2 } },
          "CompiledFunction",
          LPO_FACT_NOT_FUSED,
          false },
        { { { "triton_mine", 0, 10, 1 }, { "gemm", 60, 70, 2 } },
          "aten::mm",
          LPO_FACT_COMPILED,
          false },
        { { { "gemm", 0, 10, 1 }, { "gemm", 60, 70, 2 } }, "x", LPO_FACT_GRAPHS, false },
        { { { "gemm", 0, 10, 1, GRAPH }, { "gemm", 60, 70, 2 } }, "x", LPO_FACT_GRAPHS, true },
        { { { "gemm", 0, 10, 1 }, { "Memcpy HtoD", 10, 20, 1, TO_DEVICE, 9 } },
          "x",
          LPO_FACT_HIDES_NS,
          false },
        { { { "gemm", 0, 10, 1 }, { "Memcpy HtoD", 10, 21, 1, TO_DEVICE, 9 } },
          "x",
          LPO_FACT_HIDES_NS,
          true },
        { { { "gemm", 0, 10, 1 }, { "ncclDevKernel_Broadcast", 10, 21, 1 } },
          "x",
          LPO_FACT_HIDES_NS,
          true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LPO_AUTO(lpo_trace) t = empty_trace();
        uint16_t device = lpo_trace_device(t, 0, -1);
        LPO_AUTO(lpo_analysis) a = NULL;
        LPO_AUTO(lpo_findings) f = NULL;

        push_call(t, &(struct span){ "cudaLaunchKernel", -5, -4 }, 0);
        push_call(t, &(struct span){ "cudaLaunchKernel", 40, 41 }, 0);
        for (int k = 0; k < 3 && rows[i].ops[k].name; k++)
            push_op(t, &rows[i].ops[k], 0, 0, device);
        push_host_op(t, rows[i].operator, - 9, -8);
        a = lpo_analysis_of(t, NULL);
        f = lpo_findings_create(NULL, NULL, a);
        assert_int_equal(f->all.len, 1);
        assert_int_equal(has_fact(&f->all.at[0], rows[i].fact), rows[i].there);
    }
}

/* Of runs that differ, the finding names the kind that could save most, not the longest one. */
static void the_run_to_look_at_first(void **state)
{
    static const struct op ops[] = {
        { "vectorized_elementwise_kernel<A>", 0, 20, 1 },    { "reduce_kernel", 20, 40, 1 },
        { "vectorized_elementwise_kernel<B>", 40, 60, 1 },   { "gemm", 60, 70, 1 },
        { "vectorized_elementwise_kernel<C>", 70, 90, 1 },   { "reduce_kernel", 90, 110, 1 },
        { "vectorized_elementwise_kernel<B>", 110, 290, 1 }, { "gemm", 290, 300, 1 },
        { "vectorized_elementwise_kernel<A>", 300, 320, 1 }, { "reduce_kernel", 320, 340, 1 },
        { "vectorized_elementwise_kernel<B>", 340, 360, 1 },
    };
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    push_call(t, &(struct span){ "cudaLaunchKernel", -5, -4 }, 0);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        push_op(t, &ops[i], 0, 0, device);
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), "unfused-kernels");
    assert_true(evidence(&f->all.at[0], LPO_FACT_RUNS)->value == 3);
    assert_true(evidence(&f->all.at[0], LPO_FACT_MAIN_RUN)->value == 2);
    assert_string_equal(lpo_trace_text(t, evidence(&f->all.at[0], LPO_FACT_MAIN_RUN)->name),
                        "vectorized_elementwise_kernel<A>");
    assert_true(evidence(&f->all.at[0], LPO_FACT_MAIN_RUN_LENGTH)->value == 3);
    assert_true(evidence(&f->all.at[0], LPO_FACT_MAIN_RUN_NS)->value == (double)us(120));
}

static void a_region_that_was_called_once_says_so(void **state)
{
    (void)state;
    for (int calls = 1; calls <= 2; calls++) {
        LPO_AUTO(lpo_trace) t = empty_trace();
        uint16_t device = lpo_trace_device(t, 0, -1);
        LPO_AUTO(lpo_analysis) a = NULL;
        LPO_AUTO(lpo_findings) f = NULL;

        push_call(t, &(struct span){ "cudaLaunchKernel", -5, -4 }, 0);
        push_call(t, &(struct span){ "cudaLaunchKernel", 340, 341 }, 0);
        push_op(t, &(struct op){ "gemm", 0, 10, 1 }, 0, 0, device);
        push_op(t, &(struct op){ "gemm", 360, 370, 2 }, 0, 0, device);
        push_range(t, "prefill", -9, 350);
        if (calls == 2)
            push_range(t, "prefill", 360, 370);
        a = lpo_analysis_of(t, NULL);
        f = lpo_findings_create(NULL, NULL, a);
        assert_int_equal(f->all.len, 1);
        assert_int_equal(has_fact(&f->all.at[0], LPO_FACT_CALLED_ONCE), calls == 1);
    }
}

/* 10 us inside a range; outside, 60 us under an operator (and one inside it), 20 us under none, and
 * 5 us that are too little to be named. */
static void what_lies_outside_is_named(void **state)
{
    static const struct op kernels[] = { { "gemm", 0, 10, 1 },
                                         { "gemm", 10, 40, 2 },
                                         { "gemm", 40, 70, 3 },
                                         { "relu", 70, 90, 4 },
                                         { "tanh", 90, 95, 5 } };
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    const struct lpo_caution *c = NULL;
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    for (int i = 0; i < 5; i++)
        push_call(t, &(struct span){ "cudaLaunchKernel", i - 60, i - 60 }, 0);
    for (int i = 0; i < 5; i++)
        push_op(t, &kernels[i], 0, 0, device);
    push_range(t, "step", -61, -60);
    push_host_op(t, "inner", -59, -59);
    push_host_op(t, "outer", -59, -58);
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    for (size_t i = 0; i < f->cautions.len; i++)
        if (f->cautions.at[i].kind == LPO_CAUTION_OUTSIDE)
            c = &f->cautions.at[i];
    assert_non_null(c);
    assert_int_equal(c->nevidence, 3);
    assert_true(c->evidence[0].value == 85.0 / 95);
    assert_int_equal(c->evidence[1].fact, LPO_FACT_OUTSIDE_OPERATOR);
    assert_string_equal(lpo_trace_text(t, c->evidence[1].name), "outer");
    assert_true(c->evidence[1].value == 60.0 / 95);
    assert_int_equal(c->evidence[2].fact, LPO_FACT_OUTSIDE_KERNEL);
    assert_string_equal(lpo_trace_text(t, c->evidence[2].name), "relu");
    assert_true(c->evidence[2].value == 20.0 / 95);
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

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, forward_work_that_is_done_again);
    UNIT_TEST(&u, a_nanosecond_is_claimed_once);
    UNIT_TEST(&u, a_slow_rank);
    UNIT_TEST(&u, a_rank_that_others_wait_for);
    UNIT_TEST(&u, other_gpus_are_evidence);
    UNIT_TEST(&u, any_finding_names_the_other_gpus);
    UNIT_TEST(&u, facts_that_change_the_advice);
    UNIT_TEST(&u, the_run_to_look_at_first);
    UNIT_TEST(&u, a_region_that_was_called_once_says_so);
    UNIT_TEST(&u, what_lies_outside_is_named);
    UNIT_TEST(&u, a_saving_inside_the_noise_is_no_advice);
    UNIT_TEST(&u, savings_are_at_most_the_span);
    return unit_run(&u);
}
