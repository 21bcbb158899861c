/* SPDX-License-Identifier: Apache-2.0 */
/* Many small collectives one after another: which of them could be merged, and what is said of
 * them. Times are microseconds. */
#include "findings_trace.h"

#include "analysis/analysis.h"

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL"

/* Collectives of `took`, one every `took` + 20; each is launched 5 before it starts, or before all
 * of them. */
static const struct row_case {
    const char *name;
    int count;
    const char *kernels[2]; /* in turn */
    const char *between;    /* 4 long, right behind each; NULL: none */
    int64_t took;
    int64_t bytes; /* of a message; 0: not known */
    bool early;    /* and 20 apart all the same: something else keeps the GPU waiting */
    const char *id;
    int64_t saving; /* of that finding */
    bool said;      /* are they evidence? */
} cases[] = {
    { "fifty in a row",
      50,
      { ALL_REDUCE, ALL_REDUCE },
      NULL,
      10,
      0,
      false,
      "small-collectives",
      49 * 20,
      true },
    { "forty-nine are not many",
      49,
      { ALL_REDUCE, ALL_REDUCE },
      NULL,
      10,
      0,
      false,
      "launch-bound",
      48 * 20,
      false },
    { "what fills messages may stand between",
      50,
      { ALL_REDUCE, ALL_REDUCE },
      "vectorized_elementwise_kernel",
      10,
      0,
      false,
      "small-collectives",
      49 * 16,
      true },
    { "a product may not",
      50,
      { ALL_REDUCE, ALL_REDUCE },
      "gemm",
      10,
      0,
      false,
      "launch-bound",
      49 * 16,
      false },
    { "messages to one rank are not merged",
      50,
      { "ncclDevKernel_SendRecv", "ncclDevKernel_SendRecv" },
      NULL,
      10,
      0,
      false,
      "launch-bound",
      49 * 20,
      false },
    { "nor is one kind with another",
      50,
      { ALL_REDUCE, "ncclDevKernel_AllGather_RING_LL" },
      NULL,
      10,
      0,
      false,
      "launch-bound",
      49 * 20,
      false },
    { "two kernels of one kind are",
      50,
      { ALL_REDUCE, "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL" },
      NULL,
      10,
      0,
      false,
      "small-collectives",
      49 * 20,
      true },
    { "long ones are not small",
      50,
      { ALL_REDUCE, ALL_REDUCE },
      NULL,
      101,
      0,
      false,
      "launch-bound",
      49 * 20,
      false },
    { "where the size is known, it decides",
      50,
      { ALL_REDUCE, ALL_REDUCE },
      NULL,
      101,
      1 << 20,
      false,
      "small-collectives",
      49 * 20,
      true },
    { "large ones are not small",
      50,
      { ALL_REDUCE, ALL_REDUCE },
      NULL,
      10,
      (1 << 20) + 4,
      false,
      "launch-bound",
      49 * 20,
      false },
    { "where the host is in time they are evidence of communication",
      50,
      { ALL_REDUCE, ALL_REDUCE },
      NULL,
      10,
      0,
      true,
      "exposed-communication",
      50 * 10,
      true },
};

static void push_step(struct lpo_trace *t, const struct row_case *c, int64_t at, uint16_t device)
{
    for (int i = 0; i < c->count; i++) {
        int64_t start = at + i * (c->took + 20), call = c->early ? at - 1000 + i : start - 5;
        struct op o = { .name = c->kernels[i % 2],
                        .start = start,
                        .end = start + c->took,
                        .launch = 1,
                        .stream = 14 };
        struct op next = {
            .name = c->between, .start = o.end, .end = o.end + 4, .launch = 1, .stream = 7
        };

        push_call(t, &(struct span){ "cudaLaunchKernel", call, call + 1 }, 0);
        push_op(t, &o, 0, t->launches.len - 1, device);
        if (c->bytes)
            lpo_vec_push(&t->collectives,
                         ((struct lpo_collective){ .op = (uint32_t)t->gpu_ops.len - 1,
                                                   .kind = lpo_trace_name(t, "allreduce"),
                                                   .dtype = lpo_trace_name(t, "Float"),
                                                   .in_count = c->bytes / 4,
                                                   .out_count = c->bytes / 4,
                                                   .group = LPO_NONE,
                                                   .members = LPO_NONE,
                                                   .peer = LPO_NO_TIME,
                                                   .number = LPO_NO_TIME }));
        if (c->between)
            push_op(t, &next, 0, t->launches.len - 1, device);
    }
}

static const struct lpo_evidence *fact_of(const struct lpo_finding *f, enum lpo_fact fact)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == fact)
            return &f->evidence[i];
    return NULL;
}

static void check(void **state)
{
    const struct row_case *c = *state;
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    const struct lpo_finding *found = NULL;

    push_step(t, c, 0, device);
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    for (size_t i = 0; i < f->all.len; i++) {
        assert_true(strcmp(lpo_findings_id(f->all.at[i].kind), "small-collectives") != 0 ||
                    strcmp(c->id, "small-collectives") == 0);
        if (strcmp(lpo_findings_id(f->all.at[i].kind), c->id) == 0)
            found = &f->all.at[i];
        else
            assert_null(fact_of(&f->all.at[i], LPO_FACT_MESSAGES)); /* said once */
    }
    assert_non_null(found);
    assert_int_equal(found->saving_ns, us(c->saving));
    assert_int_equal(fact_of(found, LPO_FACT_MESSAGES) != NULL, c->said);
    assert_null(fact_of(found, LPO_FACT_MESSAGES_IN_STEP)); /* there are no steps */
    if (!c->said)
        return;
    assert_true(evidence(found, LPO_FACT_MESSAGES)->value == c->count);
    assert_true(evidence(found, LPO_FACT_MESSAGE_NS)->value == (double)us(c->took));
    assert_true(evidence(found, LPO_FACT_MESSAGES_NS)->value ==
                (double)us(c->count * (c->took + 20) - 20));
    assert_int_equal(fact_of(found, LPO_FACT_MESSAGE_BYTES) != NULL, c->bytes != 0);
    if (c->bytes)
        assert_true(evidence(found, LPO_FACT_MESSAGE_BYTES)->value == (double)c->bytes);
}

/* Three steps, with a product before each row. */
static void how_many_in_a_step(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    static const int counts[] = { 60, 50, 70 };
    static const char *const names[] = { "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3" };

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct row_case c = { .count = counts[i],
                              .kernels = { ALL_REDUCE, ALL_REDUCE },
                              .took = 10 };
        int64_t at = i * 10000;

        push_range(t, names[i], at, at + 9999);
        push_call(t, &(struct span){ "cudaLaunchKernel", at + 10, at + 11 }, 0);
        push_op(t, &(struct op){ .name = "gemm", .start = at + 20, .end = at + 980, .launch = 1 },
                0, t->launches.len - 1, device);
        push_step(t, &c, at + 1000, device);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    for (size_t i = 0; i < f->all.len; i++)
        if (f->all.at[i].kind == LPO_FINDING_MESSAGES) {
            assert_int_equal(f->all.at[i].saving_ns, us((59 + 49 + 69) * 20));
            assert_true(evidence(&f->all.at[i], LPO_FACT_MESSAGES)->value == 180);
            assert_true(evidence(&f->all.at[i], LPO_FACT_MESSAGES_IN_STEP)->value == 60);
            return;
        }
    fail_msg("no finding");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, how_many_in_a_step);
    return unit_run(&u);
}
