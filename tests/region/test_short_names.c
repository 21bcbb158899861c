/* SPDX-License-Identifier: Apache-2.0 */
/* Short names: what they keep, how long they are, and that they differ. */
#include "../unit.h"
#include "region/classes.h"
#include "region/kernel_name/short.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"

static struct lpo_kernel_span span(const char *text)
{
    return (struct lpo_kernel_span){ text, strlen(text) };
}

static const struct short_case {
    const char *name, *kernel, *want;
} cases[] = {
    { "functor and type",
      "void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, "
      "c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, "
      "std::array<char*, 3ul> >(int, int)",
      "elementwise<MulFunctor bf16>" },
    { "type of a lambda",
      "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::"
      "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
      "{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&)::"
      "{lambda(int)#1}>(int)",
      "elementwise<direct_copy bf16>" },
    { "reduction",
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
      "at::native::MeanOps<float, "
      "float, float, float>, unsigned int, float, 4, 4> >(int)",
      "reduce<MeanOps float>" },
    { "nvjet", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "nvjet 64x8 splitK TNT" },
    { "built for one architecture",
      "std::enable_if<!(kattr_no_packed_fp32_ops_v<ck_tile::gfx950_t>), void>::type "
      "ck_tile::kentry<ck_tile::gfx950_t, 1, ck_tile::FmhaFwdKernel<ck_tile::Async<float> > "
      ">(int)",
      "ck<FmhaFwd float>" },
    { "attributes before the kernel",
      "void ck_tile::kentry<ck_tile::kernel_attr<true>, 1, ck_tile::QuantGemmKernel<float> >(int)",
      "ck<QuantGemm float>" },
    { "a type of 8 bits",
      "_ZN5aiter30fused_mx_quant_moe_sort_kernelIDF16bDB8_Li256ELi32EEEvPT0_PhPKT_",
      "fused_mx_quant_moe_sort<bf16,_BitInt(8),256,32>" },
    { "nvjet without an architecture", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT",
      "nvjet 256x128 coopA NNT" },
    { "xmma",
      "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_"
      "alignc4_execute_kernel__5x_cublas",
      "xmma gemm f32f32 nn 32x32x8" },
    { "Tensile", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256_MI16x16x1_SN",
      "Cijk_Alik_Bljk_BBS MT64x32x256" },
    { "bmm of TensorRT-LLM",
      "bmm_E2m1_E2m1E2m1_Fp32_Ab16_Bb16_Cb16_t128x32x512u2_s4_et128x32_m128x32x64_c1x1x1_rM_TN_"
      "transOut_schPd2x1x2x3_biasFp32M_bN_ldgsts_ldgstsSf_rgTma_clmp_swiGlu_dynB_sm100f",
      "bmm E2m1_E2m1E2m1 128x32x512u2 swiGlu" },
    { "CuTe DSL",
      "kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at_"
      "_tensorptrbf16gmemalign128o512051201_0",
      "cute<FusedAddRMSNorm>" },
    { "CuTe DSL, cut", "kernel_cutlass_kernel_flashinfernormkernelsfused_add_rms...",
      "cute<flashinfernormkernelsfused_add_rms>" },
    { "a long word, without what all have",
      "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_32x3_relu_tn",
      "ampere_bf16_s16816gemm_bf16_128x256_stages_32x3_relu_tn" },
    { "the same in CUTLASS",
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x64_32x4_nn_align8>("
      "int)",
      "cutlass_80_bf16_s16816gemm_relu_bf16_256x64_32x4_nn_align8" },
    { "the architecture only wraps",
      "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnBwdSm90<int> > >(int)",
      "cutlass<FlashAttnBwdSm90 int>" },
    { "a function that is passed on",
      "void k_bin_bcast<&(op_add(float, float)), float, float>(float const*)",
      "k_bin_bcast<op_add,float,float>" },
    { "the same with scopes and types",
      "void vllm::act_and_mul_kernel<c10::Half, &(c10::Half "
      "vllm::silu_kernel<c10::Half>(c10::Half const&)), true>(int)",
      "act_and_mul<f16,silu,true>" },
    { "called by its scope", "void internal::gemvx::kernel<int, __half, 7>(int)",
      "gemvx<int,f16,7>" },
    { "flash attention",
      "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
      "cutlass::bfloat16_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, "
      "true, false, false, true, true, false>(flash::Flash_fwd_params)",
      "flash_fwd<128,128x64,causal>" },
    { "flash attention, not causal",
      "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)64, (int)128, (int)64, (int)4, "
      "(bool)0, (bool)0>, (bool)0, (bool)0>(int)",
      "flash_fwd<64,128x64>" },
    { "flash attention as nsys writes it",
      "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)64, (int)128, (int)64, (int)4>, "
      "(bool)0, (bool)1>(int)",
      "flash_fwd<64,128x64,causal>" },
    { "a cast is no type",
      "void at::native::vectorized_elementwise_kernel<(int)8, at::native::CUDAFunctor_add<c10::"
      "BFloat16>, std::array<char *, (unsigned long)3>>(int, T2, T3)",
      "elementwise<CUDAFunctor_add bf16>" },
    { "CUTLASS with a name of its own",
      "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(int)",
      "cutlass_80_simt_sgemm_128x32_8x5_nn_align1" },
    { "compiled", "triton_poi_fused_add_mul_3", "triton_poi_fused_add_mul_3" },
    { "cut in its arguments", "void vllm::cross_device_reduce_2stage<__hip_bfloat16…",
      "cross_device_reduce_2stage<bf16>" },
    { "mangled, cut", "_ZN7ck_tile6kentryILi64ELi2ENS_22FmhaBwdOGradDotOKer...",
      "ck<FmhaBwdOGradDotOKer>" },
    { "mangled, cut in a type", "_ZN5aiter12scaled_quantIDF1…", "scaled_quant" },
    { "Eigen",
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<"
      "Eigen::TensorMap<Eigen::Tensor<float, 1, 1, long>, 16, Eigen::MakePointer>, "
      "Eigen::TensorCwiseBinaryOp<Eigen::internal::scalar_sum_op<float, float> > > > >(int)",
      "eigen<scalar_sum_op float>" },
    { "Paddle",
      "void phi::funcs::VectorizedBroadcastKernel<phi::funcs::SubtractFunctor<float>, float, "
      "2>(int)",
      "broadcast<SubtractFunctor float>" },
    { "C", "axpy(float *, const float *, float, int)", "axpy" },
    { "template arguments", "void (anonymous namespace)::store_kvcache<2048l, 4, false, long>(int)",
      "store_kvcache<2048,4,false,long>" },
    { "a negative number", "void f_kernel<-2, 3u>(int)", "f<-2,3>" },
    { "mangled", "_Z9my_kernelIfLi4EEvPT_", "my<float,4>" },
    { "AMD's suffix", "_bias_kernel.kd", "_bias_kernel" },
    { "cut", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg",
      "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefffffffff…" },
    { "nothing", "", "" },
    { "only brackets", "<>", "<>" },
};

static void check_short(void **state)
{
    const struct short_case *c = *state;
    LPO_STR out = { 0 };

    lpo_region_short_name(span(c->kernel), &out);
    assert_string_equal(lpo_str_text(&out), c->want);
}

/* Kernels of one report that would look the same. */
static const struct set_case {
    const char *name, *kernels[3], *want[3];
} sets[] = {
    { "a word differs",
      { "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT" },
      { "nvjet 64x8 TNT [2x1]", "nvjet 64x8 TNT [4x1]" } },
    { "one is alone", { "f(int)", "g(int)", "f(long)" }, { "f [int]", "g", "f [long]" } },
    { "two words differ",
      { "void a::f<1>(int)", "void b::f<1>(int)", "void b::f<1>(long)" },
      { "f<1> [a]", "f<1> [b,int]", "f<1> [b,long]" } },
    { "no word differs", { "f(int)", "f (int)", "f( int)" }, { "f", "f #2", "f #3" } },
};

static void check_set(void **state)
{
    const struct set_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_kernel_span names[3];
    const char *out[3];
    size_t n = 0;

    for (; n < 3 && c->kernels[n]; n++)
        names[n] = span(c->kernels[n]);
    lpo_region_short_names(a, names, n, out);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(out[i], c->want[i]);
}

static const struct list_case {
    const char *name, *file;
    size_t count;
} lists[] = {
    { "names of real traces differ", "tests/data/classes/names.json", 721 },
    { "names of many engines differ", "tests/data/classes/classes-fourth.json", 1228 },
};

/* All names of a file, as if they were of one report. */
static void check_list(void **state)
{
    const struct list_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *path = lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), c->file);
    const struct lpo_json *json = NULL;
    struct lpo_err err = { 0 };
    struct lpo_kernel_span names[1400];
    const char *out[1400];
    size_t n = 0;

    assert_int_equal(lpo_json_read_file(a, path, &json, &err), 0);
    LPO_JSON_EACH(row, json)
    {
        assert_true(n < 1400);
        names[n++] = span(lpo_json_text(lpo_json_get(row, "name"), ""));
    }
    assert_int_equal(n, c->count);
    lpo_region_short_names(a, names, n, out);
    for (size_t i = 0; i < n; i++) {
        size_t columns = 0;

        for (const char *p = out[i]; *p; p++)
            columns += ((unsigned char)*p & 0xc0) != 0x80;
        assert_true(columns > 0 && columns <= LPO_SHORT_NAME);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(out[i], out[k]);
    }
}

/* Tables cut names anywhere: each piece has a class and a short name. Every 5th place is enough. */
static void cut_names_of(const char *file)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *path = lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), file);
    const struct lpo_json *json = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_json_read_file(a, path, &json, &err), 0);
    LPO_JSON_EACH(row, json)
    {
        const char *name = lpo_json_text(lpo_json_get(row, "name"), "");

        for (size_t len = strlen(name); len > 0; len = len > 5 ? len - 5 : 0) {
            char *piece = test_malloc(len + 1); /* of its size, so that a sanitizer sees its end */
            LPO_STR out = { 0 };

            memcpy(piece, name, len);
            piece[len] = 0;
            assert_true(lpo_region_kernel_class(piece) < LPO_CLASSES);
            lpo_region_short_name(span(piece), &out);
            assert_true(out.len > 0);
            test_free(piece);
        }
    }
}

static void names_cut_anywhere(void **state)
{
    (void)state;
    cut_names_of("tests/data/classes/classes-blind.json");
    cut_names_of("tests/data/classes/classes-fourth.json");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_short);
    UNIT_ROWS(&u, sets, check_set);
    UNIT_ROWS(&u, lists, check_list);
    UNIT_TEST(&u, names_cut_anywhere);
    return unit_run(&u);
}
