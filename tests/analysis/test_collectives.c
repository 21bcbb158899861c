/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives by kind and size: kinds of names, exposed time, bus bandwidth. */
#include "../unit.h"

#include "analysis/wall/collectives.h"
#include "region/tree.h"
#include "trace/trace.h"

static const struct kind_case {
    const char *name, *text, *want;
} kind_cases[] = {
    { "Kineto's word", "allreduce", "all-reduce" },
    { "a base call", "_allgather_base", "all-gather" },
    { "a call that was put together", "reduce_scatter_tensor_coalesced", "reduce-scatter" },
    { "old kernels", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all-reduce" },
    { "new kernels", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce-scatter" },
    { "point to point", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "send/receive" },
    { "all_to_all", "all_to_allv", "all-to-all" },
    { "vLLM's own", "void vllm::cross_device_reduce_1stage<bf16, 2>", "all-reduce" },
    { "reduce alone", "reduce", "reduce" },
    { "RCCL's one kernel for all", "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage)", "other" },
    { "no text", "", "other" },
};

static void check_kind(void **state)
{
    const struct kind_case *c = *state;

    assert_string_equal(lpo_wall_collective_kind(c->text), c->want);
}

static uint32_t push(struct lpo_trace *t, const char *name, int64_t start, int64_t end)
{
    lpo_vec_push(&t->gpu_ops, (struct lpo_gpu_op){ .start_ns = start,
                                                   .end_ns = end,
                                                   .name = lpo_trace_name(t, name),
                                                   .launch = LPO_NONE,
                                                   .stack = LPO_NONE,
                                                   .capture = LPO_NONE,
                                                   .shape = LPO_NONE,
                                                   .metrics = LPO_NONE });
    return (uint32_t)t->gpu_ops.len - 1;
}

static void say(struct lpo_trace *t, uint32_t op, const char *kind, const char *dtype,
                uint32_t ranks, int64_t in, int64_t out)
{
    lpo_vec_push(&t->collectives,
                 (struct lpo_collective){ op, lpo_trace_name(t, kind),
                                          dtype ? lpo_trace_name(t, dtype) : LPO_NONE, ranks, in,
                                          out });
}

static struct lpo_trace *make_trace(void)
{
    struct lpo_trace *t = lpo_trace_create();

    lpo_trace_process(t, 1, -1);
    lpo_trace_device(t, 0, -1);
    return t;
}

static void exposed_is_what_no_compute_covers(void **state)
{
    LPO_AUTO(lpo_trace) t = make_trace();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_collectives) c = NULL;

    (void)state;
    push(t, "gemm", 0, 100);
    push(t, "ncclDevKernel_AllReduce_Sum_f32", 50, 250); /* 50 covered, then 30 of 160 to 190 */
    push(t, "gemm", 160, 180);
    push(t, "gemm", 170, 190);
    push(t, "ncclDevKernel_AllReduce_Sum_f32", 165, 175); /* all of it */
    tree = lpo_region_tree_create(t);
    c = lpo_wall_collectives_create(tree);
    assert_int_equal(c->rows.len, 1);
    assert_string_equal(c->rows.at[0].kind, "all-reduce");
    assert_int_equal(c->rows.at[0].calls, 2);
    assert_int_equal(c->rows.at[0].ns, 210);
    assert_int_equal(c->rows.at[0].min_ns, 10);
    assert_int_equal(c->rows.at[0].max_ns, 200);
    assert_int_equal(c->rows.at[0].exposed_ns, 120);
    assert_false(lpo_measure_known(c->rows.at[0].bytes));
    assert_false(lpo_measure_known(c->rows.at[0].bus_rate));
}

/* One collective over a hundred kernels, of which each covers a half of its hundredth. */
static void many_kernels_cover_one_collective(void **state)
{
    LPO_AUTO(lpo_trace) t = make_trace();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_collectives) c = NULL;

    (void)state;
    push(t, "ncclDevKernel_AllReduce_Sum_f32", 0, 1000);
    for (int i = 0; i < 100; i++)
        push(t, "gemm", 10 * i, 10 * i + 5);
    tree = lpo_region_tree_create(t);
    c = lpo_wall_collectives_create(tree);
    assert_int_equal(c->rows.at[0].exposed_ns, 500);
}

/* Of two that compute at once the one that began first hides; the rows add up to what is hidden. */
static void each_moment_hides_behind_one_kernel(void **state)
{
    LPO_AUTO(lpo_trace) t = make_trace();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_collectives) c = NULL;

    (void)state;
    push(t, "gemm_a", 0, 100);
    push(t, "gemm_b", 50, 220);
    push(t, "gemm_c", 60, 90); /* inside of others: hides nothing */
    push(t, "ncclDevKernel_AllReduce_Sum_f32", 80, 300);
    push(t, "ncclDevKernel_AllReduce_Sum_f32", 90, 110);
    tree = lpo_region_tree_create(t);
    c = lpo_wall_collectives_create(tree);
    assert_int_equal(c->hiding.rows.len, 2);
    assert_string_equal(lpo_trace_text(t, c->hiding.rows.at[0].kernel), "gemm_b");
    assert_int_equal(c->hiding.rows.at[0].ns, 120 + 10);
    assert_int_equal(c->hiding.rows.at[0].overlaps, 2);
    assert_string_equal(lpo_trace_text(t, c->hiding.rows.at[1].kernel), "gemm_a");
    assert_int_equal(c->hiding.rows.at[1].ns, 20 + 10);
    assert_int_equal(c->rows.at[0].ns - c->rows.at[0].exposed_ns, 160);
}

/* A kernel of the backward pass runs in no region: it is shown with that of its forward. */
static void the_backward_pass_hides_by_its_forward(void **state)
{
    LPO_AUTO(lpo_trace) t = make_trace();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_collectives) c = NULL;
    uint32_t forward = lpo_trace_thread(t, 0, 1), engine = lpo_trace_thread(t, 0, 2);

    (void)state;
    lpo_vec_push(
        &t->ranges,
        ((struct lpo_range){
            .start_ns = 0, .end_ns = 40, .name = lpo_trace_name(t, "layer"), .thread = forward }));
    lpo_vec_push(&t->ops, ((struct lpo_op){ 10, 20, lpo_trace_name(t, "aten::mm"), forward,
                                            LPO_NONE, 7, 0 }));
    lpo_vec_push(&t->ops, ((struct lpo_op){ 50, 90, lpo_trace_name(t, "MmBackward0"), engine,
                                            LPO_NONE, 7, 1 }));
    lpo_vec_push(&t->launches, ((struct lpo_launch){ 60, 61, engine, 0 }));
    push(t, "gemm_back", 100, 200);
    t->gpu_ops.at[t->gpu_ops.len - 1].launch = 0;
    push(t, "ncclDevKernel_AllReduce_Sum_f32", 150, 300);
    tree = lpo_region_tree_create(t);
    c = lpo_wall_collectives_create(tree);
    assert_int_equal(c->hiding.rows.len, 1);
    assert_int_equal(c->hiding.rows.at[0].ns, 50);
    assert_true(c->hiding.rows.at[0].backward);
    assert_string_equal(lpo_trace_text(t, tree->nodes.at[c->hiding.rows.at[0].region].name),
                        "layer");
}

/* nccl-tests: an all-reduce of 4 ranks moves 2 * 3/4 of its message over each link. */
static const struct rate_case {
    const char *name, *kind, *dtype;
    uint32_t ranks;
    int64_t in, out;
    double bytes, rate; /* of a kernel of a microsecond; 0: not known */
} rate_cases[] = {
    { "all-reduce", "allreduce", "Float", 4, 1000, 1000, 4000, 6e9 },
    { "all-gather counts what is received", "_allgather_base", "BFloat16", 4, 1000, 4000, 8000,
      6e9 },
    { "reduce-scatter counts what is sent", "_reduce_scatter_base", "Half", 4, 4000, 1000, 8000,
      6e9 },
    { "all-to-all", "all_to_all", "Long", 2, 500, 500, 4000, 2e9 },
    { "broadcast", "broadcast", "Byte", 8, 1000, 1000, 1000, 1e9 },
    { "no number of ranks, no rate", "allreduce", "Float", 0, 1000, 1000, 4000, 0 },
    { "one rank moves nothing", "allreduce", "Float", 1, 1000, 1000, 4000, 0 },
    { "an unknown format, no size", "allreduce", "Quux", 4, 1000, 1000, 0, 0 },
    { "no count, no size", "allreduce", "Float", 4, LPO_NO_TIME, 1000, 0, 0 },
};

static void check_rate(void **state)
{
    const struct rate_case *r = *state;
    LPO_AUTO(lpo_trace) t = make_trace();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_collectives) c = NULL;

    say(t, push(t, "ncclDevKernel_Generic", 0, 1000), r->kind, r->dtype, r->ranks, r->in, r->out);
    say(t, push(t, "ncclDevKernel_Generic", 2000, 3000), r->kind, r->dtype, r->ranks, r->in,
        r->out);
    tree = lpo_region_tree_create(t);
    c = lpo_wall_collectives_create(tree);
    assert_int_equal(c->rows.len, 1);
    assert_int_equal(lpo_measure_known(c->rows.at[0].bytes), r->bytes > 0);
    if (r->bytes > 0)
        assert_true(c->rows.at[0].bytes.value == r->bytes);
    assert_int_equal(lpo_measure_known(c->rows.at[0].bus_rate), r->rate > 0);
    if (r->rate > 0)
        assert_true(c->rows.at[0].bus_rate.value > r->rate * 0.999999 &&
                    c->rows.at[0].bus_rate.value < r->rate * 1.000001);
}

static void sizes_and_groups_stand_apart(void **state)
{
    LPO_AUTO(lpo_trace) t = make_trace();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_collectives) c = NULL;

    (void)state;
    say(t, push(t, "ncclDevKernel_A", 0, 10), "allreduce", "Float", 2, 8, 8);
    say(t, push(t, "ncclDevKernel_A", 20, 40), "allreduce", "Float", 4, 8, 8);
    say(t, push(t, "ncclDevKernel_A", 50, 80), "allreduce", "Float", 2, 16, 16);
    say(t, push(t, "ncclDevKernel_A", 90, 130), "allreduce", NULL, 2, 16, 16);
    tree = lpo_region_tree_create(t);
    c = lpo_wall_collectives_create(tree);
    assert_int_equal(c->rows.len, 4);
    for (size_t i = 0; i < 4; i++) /* most time first */
        assert_int_equal(c->rows.at[i].ns, 40 - 10 * (int64_t)i);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, kind_cases, check_kind);
    UNIT_ROWS(&u, rate_cases, check_rate);
    UNIT_TEST(&u, exposed_is_what_no_compute_covers);
    UNIT_TEST(&u, many_kernels_cover_one_collective);
    UNIT_TEST(&u, each_moment_hides_behind_one_kernel);
    UNIT_TEST(&u, the_backward_pass_hides_by_its_forward);
    UNIT_TEST(&u, sizes_and_groups_stand_apart);
    return unit_run(&u);
}
