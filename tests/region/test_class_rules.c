/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of kernel classes decides the name that tests/data/rules has for it; a rule that a
 * wider one before it hides fails here. Shapes of names have a table of their own. */
#include "../unit.h"
#include "region/kernel_name/class.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/map.h"
#include "util/path.h"
#include "util/str.h"

static struct lpo_arena *arena;
static const struct lpo_json *examples; /* tests/data/rules/kernels.json */

static void check_rule(void **state)
{
    const struct lpo_json *row = *state;
    const char *name = lpo_json_text(lpo_json_get(row, "name"), "");
    struct lpo_class_decision d =
        lpo_region_class_decide(lpo_region_class_rules(), name, strlen(name));

    assert_non_null(d.rule);
    assert_string_equal(d.rule->text, lpo_json_text(lpo_json_get(row, "pattern"), ""));
    assert_string_equal(lpo_region_class_name(d.class),
                        lpo_json_text(lpo_json_get(row, "class"), ""));
}

/* Compilers' tables have no examples: the shapes below are theirs. */
static size_t rules_with_examples(const struct lpo_class_rules *r)
{
    size_t n = r->functions.rules.len + r->layer.rules.len + r->simple.rules.len +
               r->scopes.rules.len + r->leftovers.rules.len + r->carriers.rules.len;

    for (size_t i = 0; i < r->others.len; i++)
        if (strstr(r->others.at[i]->name, "_functors"))
            n += r->others.at[i]->rules.len;
    return n;
}

static void every_rule_has_an_example(void **state)
{
    LPO_AUTO(lpo_map) seen = lpo_map_create();
    size_t n = 0;

    (void)state;
    LPO_JSON_EACH(row, examples)
    {
        LPO_STR key = { 0 };
        bool fresh;

        lpo_str_addf(&key, "%s %s", lpo_json_text(lpo_json_get(row, "table"), ""),
                     lpo_json_text(lpo_json_get(row, "pattern"), ""));
        lpo_map_put(seen, key.at, key.len, &fresh);
        assert_true(fresh);
        n++;
    }
    assert_int_equal(n, rules_with_examples(lpo_region_class_rules()));
}

/* Shapes of names that no row of a table shows: cut by a table, of compilers. */
static const struct shape_case {
    const char *name, *kernel;
    enum lpo_region_kernel_class class;
} shapes[] = {
    { "cut in a number", "void marlin::Marlin<(long)1125899906910725, (long)1125…",
      LPO_CLASS_GEMM },
    { "cut in a type", "void vllm::cross_device_reduce_2stage<__hip_bfloat16...",
      LPO_CLASS_COLLECTIVE },
    { "cut without a mark",
      "void transformer_engine::normalization::rmsnorm_fwd_general_kernel<transf", LPO_CLASS_NORM },
    { "cut behind an unnamed scope",
      "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::FusedOptimize",
      LPO_CLASS_OPTIMIZER },
    { "cut in the function", "void at::native::(anonymous namespace)::fused_dropou...",
      LPO_CLASS_ELEMENTWISE },
    { "cut in the function, without a mark it is a word", "fused_dropou", LPO_CLASS_OTHER },
    { "cut, too little is left of a word", "void f::cunn_soft...", LPO_CLASS_OTHER },
    { "cut in a long name", "void at::native::vectorized_elem...", LPO_CLASS_ELEMENTWISE },
    { "a whole word before one that is cut", "void f::GroupQueryAttention...",
      LPO_CLASS_ATTENTION },
    { "PyTorch's function by its beginning",
      "void at::native::(anonymous namespace)::vectorized_l...", LPO_CLASS_NORM },
    { "the same as nsys writes it", "void at::native::<unnamed>::cunn_Spatial…",
      LPO_CLASS_SOFTMAX },
    { "the same, mangled", "_ZN2at6native12_GLOBAL__N_115sum_and_scat...", LPO_CLASS_INDEXING },
    { "its function, not whole and not cut", "void at::native::vectorized_l<float>(int)",
      LPO_CLASS_OTHER },
    { "somebody else's function", "void f::(anonymous namespace)::vectorized_l...",
      LPO_CLASS_OTHER },
    { "too little of PyTorch's function", "void at::native::(anonymous namespace)::cunn_S...",
      LPO_CLASS_OTHER },
    { "PyTorch's functor by its beginning",
      "void at::native::unrolled_elementwise_kernel<at::native::bfl...", LPO_CLASS_COPY },
    { "a functor cut without a mark",
      "void at::native::elementwise_kernel<128, 4, "
      "at::native::gpu_kernel_impl_nocast<at::native::dire",
      LPO_CLASS_COPY },
    { "too little of a functor", "void at::native::elementwise_kernel<128, 4, at::native::di...",
      LPO_CLASS_ELEMENTWISE },
    { "cut behind a word", "void tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRouting...",
      LPO_CLASS_MOE },
    { "cut in an operator of a compiler", "triton_red_fused__to_copy_add_copy__fused_add_rms_no...",
      LPO_CLASS_NORM },
    { "cut behind the mean of a norm", "triton_red_fused__to_copy_add_mean_mul_p…",
      LPO_CLASS_NORM },
    { "a mean, not cut", "triton_red_fused__to_copy_add_mean_mul_0", LPO_CLASS_REDUCTION },
    { "cut behind a move", "triton_poi_fused_clone_transpose...", LPO_CLASS_COPY },
    { "a type is no functor",
      "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<c10::BFloat16, "
      "c10::BF...",
      LPO_CLASS_ELEMENTWISE },
    { "a functor in brackets", "void k_bin_bcast<(&op_repeat), float>(float const*)",
      LPO_CLASS_COPY },
    { "cut in the parameters", "void f<int, (bool)1>(const softmax<in…", LPO_CLASS_OTHER },
    { "a shift is no bracket", "void softmax_kernel<(1<<3)>(int)", LPO_CLASS_SOFTMAX },
    { "mangled, cut", "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE…",
      LPO_CLASS_COPY },
    { "mangled, cut in a word", "_ZN7ck_tile6kentryILi256ELi2ENS_13FmhaFwdKer...",
      LPO_CLASS_ATTENTION },
    { "mangled, with a wrong length", "_ZN5aiter9fmoe_bf16_32x384E", LPO_CLASS_GEMM },
    { "a match across words", "void relu_backward_grad<float>(float*)", LPO_CLASS_ELEMENTWISE },
    { "a match inside of a word", "page_summary_kernel(float*)", LPO_CLASS_OTHER },
    { "another", "void tensorflow::SplitOpKernel<float>(float const*)", LPO_CLASS_COPY },
    { "the driver's own copy inside a graph", "memcpy_post", LPO_CLASS_COPY },
    { "the driver's own memset inside a graph", "memset_post", LPO_CLASS_COPY },
    { "attention merges its parts", "void turbomind::attention::reduce<128, 8>(float*)",
      LPO_CLASS_ATTENTION },
    { "tokens move between experts", "void moe::dev::permute::permuteKernel<float>(int)",
      LPO_CLASS_MOE },
    { "numba's tag", "cudapy::__main__::softmax_kernel[abi:v1,cw51cXTL](Array<float, 1, C>)",
      LPO_CLASS_SOFTMAX },
    { "Triton's constants",
      "_mla_decode_fwd_kernel_num_query_heads_12_TILE_SIZE_64_QK_ROPE_HEAD_DIM_64",
      LPO_CLASS_ATTENTION },
    { "Triton's constants alone", "kernel_SOFTMAX_1_BLOCK_SIZE_64", LPO_CLASS_SOFTMAX },
    { "CuTe DSL, its class decides",
      "kernel_cutlass_kernel_mylibgemm_tailFusedAddRMSNormKernel_object_at__tensorptrbf16_0",
      LPO_CLASS_NORM },
    { "CuTe DSL, its module decides", "kernel_cutlass_kernel_mylib_softmax_Kernel_object_at_",
      LPO_CLASS_SOFTMAX },
    { "CuTe DSL, cut in the class", "kernel_cutlass_kernel_mylib_multicast_gemmFusedAddMult...",
      LPO_CLASS_GEMM },
    { "CuTe DSL, a function", "kernel_cutlass_gdn_decode_kernel_tensorptrf32gmemalign16_0",
      LPO_CLASS_ATTENTION },
    { "a product of another kernel", "triton_poi_fused_bmm_expand_transpose_0", LPO_CLASS_COPY },
    { "moves and an index", "triton_poi_fused_clone_index_select_slice_7", LPO_CLASS_INDEXING },
    { "a sum of squares", "triton_red_fused_linalg_vector_norm_0", LPO_CLASS_REDUCTION },
    { "a softmax by its parts", "triton_per_fused_amax_div_exp_sub_sum_3", LPO_CLASS_SOFTMAX },
    { "a norm of known sums", "triton_poi_fused__native_batch_norm_legit_no_training_relu_3",
      LPO_CLASS_NORM },
    { "the elements of its backward", "triton_poi_fused_native_layer_norm_backward_4",
      LPO_CLASS_ELEMENTWISE },
    { "a rotation by its parts", "triton_poi_fused_add_cat_mul_neg_slice_2", LPO_CLASS_ROTARY },
    { "a rotation with its angles", "triton_poi_fused_add_cos_mul_sin_slice_sub_1",
      LPO_CLASS_ROTARY },
    { "angles alone", "triton_poi_fused_cos_mul_sin_1", LPO_CLASS_ELEMENTWISE },
    { "the step of a diffusion", "triton_poi_fused_cat_cos_exp_mul_sin_slice_1",
      LPO_CLASS_ELEMENTWISE },
    { "a pool of a few elements", "triton_poi_fused_avg_pool2d_2", LPO_CLASS_REDUCTION },
    { "its backward", "triton_poi_fused_max_pool2d_with_indices_backward_3", LPO_CLASS_OTHER },
    { "a pad that repeats", "triton_poi_fused_reflection_pad2d_3", LPO_CLASS_COPY },
    { "without a kind", "triton_fused_add_view_3", LPO_CLASS_ELEMENTWISE },
    { "with a word before it", "fwd_triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0",
      LPO_CLASS_NORM },
    { "with a word before it, it moves", "my_triton_poi_fused_clone_view_2", LPO_CLASS_COPY },
    { "XLA moves", "loop_convert_transpose_fusion_3", LPO_CLASS_COPY },
    { "XLA computes and moves", "loop_add_convert_fusion", LPO_CLASS_ELEMENTWISE },
    { "XLA chooses", "loop_select_fusion", LPO_CLASS_ELEMENTWISE },
    { "XLA without a kind", "add_convert_fusion_3", LPO_CLASS_ELEMENTWISE },
    { "XLA without a kind, it moves", "slice_concatenate_fusion", LPO_CLASS_COPY },
    { "XLA without a kind, a product", "gemm_fusion_dot_fusion.7", LPO_CLASS_GEMM },
    { "XLA without a kind, between GPUs", "all-reduce_fusion", LPO_CLASS_COLLECTIVE },
    { "XLA says nothing", "input_fusion_2", LPO_CLASS_REDUCTION },
    { "Myelin's norm", "__myl_CastMulMeanAddSqrtDivMul_0x2f3c", LPO_CLASS_NORM },
    { "Myelin's softmax", "__myl_MaxSubExpSumDivMul_myl0_12", LPO_CLASS_SOFTMAX },
    { "Myelin moves", "__myl_ReshTranMove_0xab12cd", LPO_CLASS_COPY },
    { "Myelin moves in a block", "__myl_bb1_2_TraSliSliResTraResMovSli", LPO_CLASS_COPY },
    { "Myelin's product", "__myl_FcCast_myl2_3", LPO_CLASS_GEMM },
    { "tinygrad computes", "E_4096_32_4n1", LPO_CLASS_ELEMENTWISE },
    { "tinygrad reduces", "r_256_4_1024", LPO_CLASS_REDUCTION },
    { "candle, one tensor", "urecip_f32", LPO_CLASS_ELEMENTWISE },
    { "candle, two tensors", "bmul_bf16", LPO_CLASS_ELEMENTWISE },
    { "candle's index_select", "is_u32_bf16", LPO_CLASS_INDEXING },
    { "an operation, but no type behind it", "bmul_x32", LPO_CLASS_OTHER },
    { "two letters, but no type behind them", "is_ready_kernel", LPO_CLASS_OTHER },
    { "Triton's marks of divisors", "triton_poi_fused_clone_1_0d1d2de", LPO_CLASS_COPY },
    { "CuTe DSL, only types", "kernel_cutlass_device_kernel_tensorptrbf16gmemo96div85121_cutlas",
      LPO_CLASS_OTHER },
    { "how rows are found, not what is done", "_indexed_gate_kernel", LPO_CLASS_ELEMENTWISE },
    { "FBGEMM is a library", "_fbgemm_silu_mul_quant", LPO_CLASS_ELEMENTWISE },
    { "FBGEMM's product", "_fbgemm_grouped_gemm_fp8_rowwise", LPO_CLASS_GEMM },
};

static void check_shape(void **state)
{
    const struct shape_case *c = *state;

    assert_string_equal(lpo_region_class_name(lpo_region_kernel_class(c->kernel)),
                        lpo_region_class_name(c->class));
}

int main(void)
{
    struct unit u = { 0 };
    struct lpo_err err = { 0 };
    int rc;

    arena = lpo_arena_create();
    if (lpo_json_read_file(
            arena,
            lpo_path_join(arena, unit_env("LPO_SOURCE_ROOT", "."), "tests/data/rules/kernels.json"),
            &examples, &err) < 0)
        return 1;
    UNIT_ROWS(&u, shapes, check_shape);
    UNIT_TEST(&u, every_rule_has_an_example);
    LPO_JSON_EACH(row, examples)
    unit_add(&u, lpo_json_text(lpo_json_get(row, "name"), ""), check_rule, row);
    rc = unit_run(&u);
    lpo_arena_destroy(arena);
    return rc;
}
