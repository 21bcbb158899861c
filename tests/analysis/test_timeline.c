/* SPDX-License-Identifier: Apache-2.0 */
#include "../region/build.h"
#include "../unit.h"

#include "analysis/wall/timeline.h"
#include "region/cells.h"
#include "region/classes.h"

/* A work: name, stream, start, end, start of its launch call (-1: no record). */
struct gpu_op {
    const char *name;
    uint32_t stream;
    int64_t start, end, launch;
};

static const struct time_case {
    const char *name;
    struct gpu_op gpu_ops[6];
    int64_t span, busy, compute, communication, exposed;
    int64_t host, dependency, other;
} cases[] = {
    { "one kernel", { { "a", 1, 10, 20, 5 } }, 10, 10, 10, 0, 0, 0, 0, 0 },
    { "overlap counts once",
      { { "a", 1, 10, 20, 5 }, { "b", 2, 15, 30, 6 } },
      20,
      20,
      20,
      0,
      0,
      0,
      0,
      0 },
    { "the host was late",
      { { "a", 1, 10, 20, 5 }, { "b", 1, 40, 50, 21 } },
      40,
      20,
      20,
      0,
      0,
      20,
      0,
      0 },
    { "launched at the very end is not late",
      { { "a", 1, 10, 20, 5 }, { "b", 1, 40, 50, 20 } },
      40,
      20,
      20,
      0,
      0,
      0,
      20,
      0 },
    { "launched before is a dependency",
      { { "a", 1, 10, 20, 5 }, { "b", 1, 40, 50, 19 } },
      40,
      20,
      20,
      0,
      0,
      0,
      20,
      0 },
    { "30 us is no dependency",
      { { "a", 1, 0, 10, 0 }, { "b", 1, 30010, 30020, 1 } },
      30020,
      20,
      20,
      0,
      0,
      0,
      0,
      30000 },
    { "just under 30 us is one",
      { { "a", 1, 0, 10, 0 }, { "b", 1, 30009, 30020, 1 } },
      30020,
      21,
      21,
      0,
      0,
      0,
      29999,
      0 },
    { "no launch record is not the host",
      { { "a", 1, 0, 10, 0 }, { "b", 1, 100000, 100010, -1 } },
      100010,
      20,
      20,
      0,
      0,
      0,
      0,
      99990 },
    { "the longest end so far counts",
      { { "a", 1, 0, 100, 0 }, { "b", 1, 10, 20, 1 }, { "c", 1, 110, 120, 105 } },
      120,
      110,
      110,
      0,
      0,
      10,
      0,
      0 },
    { "hidden communication",
      { { "a", 1, 0, 100, 0 }, { "ncclDevKernel", 2, 20, 60, 1 } },
      100,
      100,
      100,
      40,
      0,
      0,
      0,
      0 },
    { "exposed communication, any case",
      { { "a", 1, 0, 50, 0 }, { "void RCCLallreduce", 2, 20, 90, 1 } },
      90,
      90,
      50,
      70,
      40,
      0,
      0,
      0 },
    { "streams have gaps of their own",
      { { "a", 1, 0, 10, 0 }, { "b", 2, 0, 100, 0 }, { "c", 1, 90, 100, 50 } },
      100,
      100,
      100,
      0,
      0,
      80,
      0,
      0 },
};

static void check_time(void **state)
{
    const struct time_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace("");
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_timeline) line = NULL;
    const struct lpo_device_time *d;

    for (int i = 0; i < 6 && c->gpu_ops[i].name; i++) {
        const struct gpu_op *w = &c->gpu_ops[i];

        if (w->launch >= 0)
            lpo_vec_push(&t->launches, (struct lpo_launch){ w->launch, w->launch, 0 });
        lpo_vec_push(&t->gpu_ops,
                     (struct lpo_gpu_op){ .start_ns = w->start,
                                          .end_ns = w->end,
                                          .name = lpo_trace_name(t, w->name),
                                          .launch = w->launch >= 0 ? (uint32_t)t->launches.len - 1
                                                                   : LPO_NONE,
                                          .stack = LPO_NONE,
                                          .capture = LPO_NONE,
                                          .stream = w->stream,
                                          .kind = LPO_KERNEL });
    }
    tree = lpo_region_tree_create(t);
    line = lpo_wall_timeline_create(tree);
    d = &line->devices.at[0];
    assert_int_equal(d->span_ns, c->span);
    assert_int_equal(d->busy_ns, c->busy);
    assert_int_equal(d->idle_ns, c->span - c->busy);
    assert_int_equal(d->compute_ns, c->compute);
    assert_int_equal(d->communication_ns, c->communication);
    assert_int_equal(d->exposed_ns, c->exposed);
    assert_int_equal(d->gaps.by[LPO_GAP_HOST].ns, c->host);
    assert_int_equal(d->gaps.by[LPO_GAP_DEPENDENCY].ns, c->dependency);
    assert_int_equal(d->gaps.by[LPO_GAP_OTHER].ns, c->other);
}

/* Shares of a CUDA graph are laid end to end: how its communication lay beside its computing is not
 * in them. */
static void communication_in_whole_graphs(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        LPO_AUTO(lpo_trace) t = build_trace("A 0-9 k 1-2=5 k 3-4=5");
        LPO_AUTO(lpo_region_tree) tree = NULL;
        LPO_AUTO(lpo_wall_timeline) line = NULL;

        t->gpu_ops.at[1].name = lpo_trace_name(t, "ncclDevKernel");
        t->gpu_ops.at[1].flags |= shared ? LPO_GPU_OP_GRAPH | LPO_GPU_OP_SHARE : 0;
        tree = lpo_region_tree_create(t);
        line = lpo_wall_timeline_create(tree);
        assert_int_equal(line->devices.at[0].overlap_unknown, shared);
        assert_int_equal(line->devices.at[0].exposed_ns, shared ? 0 : 5);
    }
}

/* A gap is inside the regions that hold the works on both sides of it. */
static void gaps_lie_in_common_regions(void **state)
{
    LPO_AUTO(lpo_trace) t = build_trace("A 0-100 B 1-20 k 2-3=5 C 30-50 k 31-32=5");
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_timeline) line = NULL;

    (void)state;
    t->gpu_ops.at[1].start_ns += 40;
    t->gpu_ops.at[1].end_ns += 40;
    tree = lpo_region_tree_create(t);
    line = lpo_wall_timeline_create(tree);
    for (uint32_t i = 0; i < tree->nodes.len; i++)
        assert_int_equal(lpo_wall_gaps_ns(&line->nodes[i]), tree->nodes.at[i].depth == 0 ? 40 : 0);
}

/* Works of one stream and whether each is set aside; then what is left of the device. */
static const struct aside_case {
    const char *name;
    struct {
        int64_t start, end;
        bool aside;
    } gpu_ops[5];
    uint64_t devices, counted;
    int64_t busy, idle, gaps;
} aside_cases[] = {
    { "nothing aside", { { 0, 10, false }, { 30, 40, false } }, 1, 2, 20, 20, 20 },
    { "all aside leaves no device", { { 0, 10, true }, { 30, 40, true } }, 0, 0, 0, 0, 0 },
    { "no gap borders on what is aside",
      { { 0, 10, true },
        { 30, 40, false },
        { 45, 50, false },
        { 70, 80, true },
        { 90, 95, false } },
      1,
      3,
      20,
      5,
      5 },
    { "a work under one aside does not open a gap",
      { { 0, 100, true }, { 20, 30, false }, { 150, 160, false } },
      1,
      2,
      20,
      0,
      0 },
    { "what is aside between two others is no gap",
      { { 0, 10, false }, { 10, 90, true }, { 90, 100, false } },
      1,
      2,
      20,
      0,
      0 },
};

static void check_aside(void **state)
{
    const struct aside_case *c = *state;
    LPO_AUTO(lpo_trace) t = build_trace("k 0-1=1 A 2-9 k 3-4=1"); /* one place out, one in A */
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall_timeline) line = NULL;
    struct lpo_gpu_op out = t->gpu_ops.at[0], in = t->gpu_ops.at[1];
    bool aside[8] = { false };

    t->gpu_ops.len = 0;
    for (int i = 0; i < 5 && c->gpu_ops[i].end; i++) {
        struct lpo_gpu_op w = c->gpu_ops[i].aside ? in : out;

        w.start_ns = c->gpu_ops[i].start;
        w.end_ns = c->gpu_ops[i].end;
        lpo_vec_push(&t->gpu_ops, w);
    }
    tree = lpo_region_tree_create(t);
    assert_true(tree->places.len <= 8);
    aside[lpo_region_place(tree, &in)] = true;
    line = lpo_wall_timeline_create_without(tree, aside);
    assert_int_equal(line->devices.len, c->devices);
    if (!c->devices)
        return;
    assert_int_equal(line->devices.at[0].gpu_ops, c->counted);
    assert_int_equal(line->devices.at[0].busy_ns, c->busy);
    assert_int_equal(line->devices.at[0].idle_ns, c->idle);
    assert_int_equal(line->devices.at[0].span_ns, c->busy + c->idle);
    assert_int_equal(lpo_wall_gaps_ns(&line->devices.at[0].gaps), c->gaps);
}

static const struct class_case {
    const char *name;
    enum lpo_region_kernel_class want;
    const char *function;
} class_cases[] = {
    { "nvjet_sm90_tst_8x64_64x16_2x1_v_bz_TNN", LPO_CLASS_GEMM,
      "nvjet_sm90_tst_8x64_64x16_2x1_v_bz_TNN" },
    { "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm>(T1::Params)",
      LPO_CLASS_GEMM, "Kernel2" },
    { "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_3_64x64x64_4x1x1_kernel0_0",
      LPO_CLASS_ATTENTION,
      "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_3_64x64x64_4x1x1_kernel0_"
      "0" },
    { "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64>, false>(Flash_fwd_params)",
      LPO_CLASS_ATTENTION, "flash_fwd_kernel" },
    { "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(int, float*)",
      LPO_CLASS_NORM, "vectorized_layer_norm_kernel" },
    { "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
      LPO_CLASS_ELEMENTWISE, "vectorized_elementwise_kernel" },
    { "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
      "at::TensorIteratorBase&)::{lambda()#3}::operator()() const>(int)",
      LPO_CLASS_COPY, "unrolled_elementwise_kernel" },
    { "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", LPO_CLASS_COLLECTIVE,
      "ncclDevKernel_AllReduce_Sum_f32_RING_LL" },
    { "Cijk_Ailk_Bljk_SB_MT128x64x16_SE_1LDSB1", LPO_CLASS_GEMM,
      "Cijk_Ailk_Bljk_SB_MT128x64x16_SE_1LDSB1" },
    { "triton_poi_fused_add_0", LPO_CLASS_ELEMENTWISE, "triton_poi_fused_add_0" },
    { "triton_red_fused_mean_1", LPO_CLASS_REDUCTION, "triton_red_fused_mean_1" },
    { "axpy(float *, const float *, float, int)", LPO_CLASS_ELEMENTWISE, "axpy" },
    { "my_kernel", LPO_CLASS_OTHER, "my_kernel" },
    { "<>", LPO_CLASS_OTHER, "<>" },
};

static void check_class(void **state)
{
    const struct class_case *c = *state;
    size_t len;
    const char *function = lpo_region_kernel_function(c->name, &len);

    assert_string_equal(lpo_region_class_name(lpo_region_kernel_class(c->name)),
                        lpo_region_class_name(c->want));
    assert_int_equal(len, strlen(c->function));
    assert_memory_equal(function, c->function, len);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_time);
    UNIT_TEST(&u, communication_in_whole_graphs);
    UNIT_TEST(&u, gaps_lie_in_common_regions);
    UNIT_ROWS(&u, aside_cases, check_aside);
    UNIT_ROWS(&u, class_cases, check_class);
    return unit_run(&u);
}
