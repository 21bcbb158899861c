/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by name, as data: the formula of each, and which of the arguments are the ones it
 * needs. A '*' at the end of a name is any text. A new operator of a known kind is one row;
 * docs/operators.md lists them. */
#include "analysis/operators/rules.h"

#include <string.h>

#define ONE(name)                                                                                  \
    {                                                                                              \
        name, lpo_operators_elementwise, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0                     \
    }
#define NORM(name)                                                                                 \
    {                                                                                              \
        name, lpo_operators_like_first, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0                      \
    }

#define EVERY(name)                                                                                \
    {                                                                                              \
        name, lpo_operators_every_tensor, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0                    \
    }
#define PRODUCT(name, a, b, c, word, how)                                                          \
    {                                                                                              \
        name, lpo_operators_product, a, b, c, word, how                                            \
    }
#define WEIGHT_TURNED(name) PRODUCT(name, 0, 1, NOT_THERE, NOT_THERE, TURNED)
#define EXPERTS(name)                                                                              \
    {                                                                                              \
        name, lpo_operators_experts, 0, 1, 2, 3, 0                                                 \
    }
#define ATTENTION(name, a, word, how)                                                              \
    {                                                                                              \
        name, lpo_operators_attention, a, (a) + 1, (a) + 2, word, how                              \
    }
#define IN_ROWS(name, a, word, how, ends, longest)                                                 \
    {                                                                                              \
        name, lpo_operators_attention, a, (a) + 1, (a) + 2, word, how, ends, longest               \
    }
#define PAGED(name, a)                                                                             \
    {                                                                                              \
        name, NULL, a, (a) + 1, (a) + 2, NOT_THERE, 0, 0, 0, lpo_operators_paged_attention         \
    }
#define GROUPS(name, how)                                                                          \
    {                                                                                              \
        name, lpo_operators_grouped, 0, 1, NOT_THERE, NOT_THERE, how                               \
    }
#define BY_SIZES(name, how)                                                                        \
    {                                                                                              \
        name, lpo_operators_packed_by_sizes, 0, NOT_THERE, NOT_THERE, NOT_THERE, how               \
    }
#define PACKED_N(name, c)                                                                          \
    {                                                                                              \
        name, lpo_operators_packed, 0, NOT_THERE, c, NOT_THERE, 0                                  \
    }
#define LAYER(name)                                                                                \
    {                                                                                              \
        name, lpo_operators_layer, NOT_THERE, NOT_THERE, NOT_THERE, NOT_THERE, 0                   \
    }
#define INTO(name, a, b, c, how)                                                                   \
    {                                                                                              \
        name, lpo_operators_experts_into, a, b, c, NOT_THERE, how                                  \
    }
#define REDUCED(name, word)                                                                        \
    {                                                                                              \
        name, lpo_operators_reduction, 0, NOT_THERE, NOT_THERE, word, 0                            \
    }
#define ALONG(name, how)                                                                           \
    {                                                                                              \
        name, lpo_operators_reduction, 0, NOT_THERE, NOT_THERE, 1, ONE_DIM | (how)                 \
    }
#define TRUTH(name)                                                                                \
    {                                                                                              \
        name, lpo_operators_elementwise, 0, NOT_THERE, NOT_THERE, NOT_THERE, TO_BOOL               \
    }
#define WRITTEN(name)                                                                              \
    {                                                                                              \
        name, lpo_operators_copy, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0                            \
    }
#define FLAGS(name, how)                                                                           \
    {                                                                                              \
        name, lpo_operators_turned_by_flags, 0, 2, NOT_THERE, 4, how                               \
    }

static const struct lpo_operators_rule rules[] = {
    { "aten::mm", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::addmm", lpo_operators_product, 1, 2, 0, NOT_THERE, 0 },
    { "aten::addmm_", lpo_operators_product, 1, 2, NOT_THERE, NOT_THERE, 0 },
    { "aten::_addmm_activation", lpo_operators_product, 1, 2, 0, NOT_THERE, 0 },
    { "aten::bmm", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::baddbmm", lpo_operators_product, 1, 2, 0, NOT_THERE, 0 },
    { "aten::baddbmm_", lpo_operators_product, 1, 2, 0, NOT_THERE, 0 },
    { "aten::addbmm", lpo_operators_product, 1, 2, 0, NOT_THERE, 0 },
    { "aten::matmul", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::linear", lpo_operators_product, 0, 1, 2, NOT_THERE, TURNED },
    { "aten::mv", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::addmv", lpo_operators_product, 1, 2, 0, NOT_THERE, 0 },
    { "aten::addmv_", lpo_operators_product, 1, 2, 0, NOT_THERE, 0 },
    { "aten::dot", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::vdot", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::_scaled_mm", lpo_operators_product, 0, 1, NOT_THERE, 6, 0 },
    { "aten::_scaled_mm_v2", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::_int_mm", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::_weight_int8pack_mm", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, TURNED },
    PRODUCT("trtllm::cublas_scaled_mm", 0, 1, NOT_THERE, 5, 0),
    PRODUCT("_C::cutlass_scaled_mm", 1, 2, NOT_THERE, 0, 0),
    PRODUCT("_C::cutlass_scaled_mm_azp", 1, 2, NOT_THERE, 0, 0),
    PRODUCT("_C::cutlass_scaled_fp4_mm", 1, 2, NOT_THERE, 0, TURNED | PACKED),
    PRODUCT("sgl_kernel::fp8_scaled_mm", 0, 1, NOT_THERE, 4, 0),
    PRODUCT("sgl_kernel::int8_scaled_mm", 0, 1, NOT_THERE, 4, 0),
    { "tex_ts::te_gemm_ts", lpo_operators_turned_by_words, 0, 5, 10, NOT_THERE, 0 },
    PRODUCT("vllm::gemm_with_dynamic_quant", 0, 1, NOT_THERE, NOT_THERE, TURNED | PACKED_B),
    PRODUCT("aiter::batched_gemm_a16wfp4_", 0, 1, NOT_THERE, NOT_THERE, TURNED | PACKED_B),
    PRODUCT("aiter::gemm_a4w4", 0, 1, NOT_THERE, NOT_THERE, TURNED | PACKED),
    PRODUCT("aiter::_gemm_a4w4_asm", 0, 1, NOT_THERE, NOT_THERE, TURNED | PACKED),
    PRODUCT("aiter::gemm_afp4wfp4_", 0, 1, NOT_THERE, NOT_THERE, TURNED | PACKED),
    PRODUCT("_C::dsv3_fused_a_gemm", 1, 2, NOT_THERE, 0, 0),
    PRODUCT("sgl_kernel::dsv3_fused_a_gemm", 1, 2, NOT_THERE, 0, 0),
    PRODUCT("sgl_kernel::dsv3_router_gemm", 1, 2, NOT_THERE, 0, TURNED),
    PRODUCT("sgl_kernel::bmm_fp8", 0, 1, NOT_THERE, 2, 0),
    PRODUCT("sgl_kernel::fp8_blockwise_scaled_mm", 0, 1, NOT_THERE, 4, 0),
    PRODUCT("sgl_kernel::cutlass_scaled_fp4_mm", 1, 2, NOT_THERE, 0, TURNED | PACKED),
    WEIGHT_TURNED("bitsandbytes::int8_linear_matmul"),
    PRODUCT("vllm::rocm_unquantized_gemm", 0, 1, 2, NOT_THERE, TURNED),
    PRODUCT("vllm::rocm_unquantized_gemm_impl", 0, 1, 2, NOT_THERE, TURNED),
    WEIGHT_TURNED("vllm::rocm_aiter_triton_gemm_a8w8_blockscale"),
    WEIGHT_TURNED("vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm"),
    WEIGHT_TURNED("sglang_profiler::fp8_utils_gemm_a8w8_blockscale"),
    WEIGHT_TURNED("sglang_profiler::gemm_a8w8_blockscale_gemm_a8w8_blockscale"),
    WEIGHT_TURNED("sglang_profiler::gemm_kernels_flydsl_hgemm"),
    PRODUCT("aiter::gemm_a16w16", 0, 1, 2, NOT_THERE, TURNED),
    WEIGHT_TURNED("aiter::gemm_a16w16_atomic_"),
    WEIGHT_TURNED("aiter::_gemm_a16w16_asm"),
    WEIGHT_TURNED("aiter::gemm_a8w8"),
    WEIGHT_TURNED("aiter::gemm_a8w8_ck"),
    WEIGHT_TURNED("aiter::gemm_a8w8_bpreshuffle"),
    WEIGHT_TURNED("aiter::gemm_a8w8_bpreshuffle_ck"),
    WEIGHT_TURNED("aiter::gemm_a8w8_blockscale_ck"),
    WEIGHT_TURNED("aiter::gemm_a8w8_blockscale_cktile"),
    WEIGHT_TURNED("aiter::gemm_a8w8_blockscale_bpreshuffle_ck"),
    WEIGHT_TURNED("aiter::gemm_a8w8_blockscale_bpreshuffle_cktile"),
    WEIGHT_TURNED("aiter::_gemm_a8w8_blockscale_bpreshuffle_asm"),
    WEIGHT_TURNED("aiter::flatmm_a8w8_blockscale_asm"),
    WEIGHT_TURNED("aiter::gfx950_a8w8_blockscale_asm"),
    PRODUCT("sglang_profiler::batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_"
            "quant_batched_gemm_a8w8_a_per_token_group_prequant_w_per_batched_tensor_quant",
            0, 1, NOT_THERE, NOT_THERE, TURNED | ROWS_FIRST),
    { "aiter::mhc_pre_gemm_sqrsum", lpo_operators_product_of_flat, 2, 3, NOT_THERE, NOT_THERE, 0 },
    FLAGS("primus_turbo_cpp_extension::hipblaslt_gemm_fp8", 0),
    FLAGS("primus_turbo::hipblaslt_gemm_fp8", 0),
    FLAGS("primus_turbo_cpp_extension::hipblaslt_gemm_fp4", PACKED),
    FLAGS("primus_turbo::hipblaslt_gemm_fp4", PACKED),
    LAYER("_Linear"),
    LAYER("_LayerNormLinear"),
    LAYER("_GroupedLinear"),

    PACKED_N("_C::awq_gemm", 2),
    PACKED_N("_C::gptq_gemm", 1),
    PACKED_N("sgl_kernel::gptq_gemm", 1),
    PACKED_N("_C::machete_mm", 1),
    PACKED_N("aten::_weight_int4pack_mm", 3),
    { "bitsandbytes::gemv_4bit", lpo_operators_packed, 0, NOT_THERE, NOT_THERE, 2, 0 },
    BY_SIZES("_C::marlin_gemm", 0),
    BY_SIZES("_C::gptq_marlin_gemm", 0),
    BY_SIZES("_C::gptq_marlin_24_gemm", 0),
    BY_SIZES("_C::fp8_marlin_gemm", 0),
    BY_SIZES("_C::marlin_qqq_gemm", 0),
    BY_SIZES("sgl_kernel::gptq_marlin_gemm", 0),
    BY_SIZES("_moe_C::moe_wna16_marlin_gemm", EACH_EXPERT),
    BY_SIZES("sgl_kernel::moe_wna16_marlin_gemm", EACH_EXPERT),

    GROUPS("aten::_grouped_mm", 0),
    GROUPS("aten::_scaled_grouped_mm", 0),
    GROUPS("primus_turbo::grouped_gemm", 0),
    GROUPS("primus_turbo::grouped_gemm_impl", 0),
    GROUPS("primus_turbo_cpp_extension::grouped_gemm", 0),
    GROUPS("primus_turbo_cpp_extension::ck_grouped_gemm", 0),
    GROUPS("primus_turbo::grouped_gemm_variable_k", BACKWARD),
    GROUPS("primus_turbo::grouped_gemm_variable_k_impl", BACKWARD),
    GROUPS("primus_turbo_cpp_extension::grouped_gemm_variable_k", BACKWARD),
    GROUPS("primus_turbo_cpp_extension::ck_grouped_gemm_variable_k", BACKWARD),

    EXPERTS("vllm::outplace_fused_experts"),
    EXPERTS("vllm::inplace_fused_experts"),
    EXPERTS("sglang::outplace_fused_experts"),
    EXPERTS("sglang::inplace_fused_experts"),
    EXPERTS("vllm::rocm_aiter_fused_moe"),
    EXPERTS("aiter::fused_moe_"),
    { "trtllm::fused_moe", lpo_operators_experts, 0, 3, 5, 1, 0 },
    { "aiter::fmoe_g1u1", lpo_operators_experts, 1, 2, 3, 8, 0 },
    { "aiter::fmoe_fp8_blockscale_g1u1", lpo_operators_experts, 1, 2, 3, 8, 0 },
    { "aiter::ck_moe_stage1", lpo_operators_experts_up, 0, 1, NOT_THERE, 6, 0 },
    { "aiter::ck_moe_stage2", lpo_operators_experts_down, 0, 2, NOT_THERE, NOT_THERE, 0 },
    { "aiter::moe_cktile2stages_gemm1_ck", lpo_operators_experts_up, 0, 1, NOT_THERE, 2, 0 },
    { "aiter::moe_cktile2stages_gemm2_ck", lpo_operators_experts_down, 0, 1, NOT_THERE, NOT_THERE,
      0 },

    INTO("sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", 0, 1, 3, 0),
    INTO("_moe_C::moe_wna16_gemm", 0, 2, 1, 0),
    INTO("_C::cutlass_moe_mm", 1, 2, 0, 0),
    INTO("sgl_kernel::cutlass_w4a8_moe_mm", 1, 2, 0, 0),
    INTO("_C::cutlass_fp4_group_mm", 1, 2, 0, PACKED),
    INTO("sgl_kernel::cutlass_fp4_group_mm", 1, 2, 0, PACKED),

    { "aten::scaled_dot_product_attention", lpo_operators_attention, 0, 1, 2, 5, 0 },
    { "aten::_scaled_dot_product_attention_math", lpo_operators_attention, 0, 1, 2, 5, 0 },
    { "aten::_scaled_dot_product_flash_attention", lpo_operators_attention, 0, 1, 2, 4, 0 },
    { "aten::_scaled_dot_product_fused_attention_overrideable", lpo_operators_attention, 0, 1, 2, 5,
      0 },
    { "aten::_scaled_dot_product_efficient_attention", lpo_operators_attention, 0, 1, 2, 6, 0 },
    { "aten::_scaled_dot_product_cudnn_attention", lpo_operators_attention, 0, 1, 2, 6, 0 },
    { "aten::_cudnn_attention_forward", lpo_operators_attention, 0, 1, 2, 10, 0 },
    IN_ROWS("aten::_flash_attention_forward", 0, 8, TOKENS, 3, 5),
    IN_ROWS("aten::_efficient_attention_forward", 0, 9, TOKENS, 4, 6),
    ATTENTION("flash_attn::_flash_attn_forward", 0, 5, TOKENS),
    IN_ROWS("flash_attn::_flash_attn_varlen_forward", 0, 9, TOKENS, 3, 5),
    IN_ROWS("flash_attn_3::fwd", 0, 24, TOKENS, 7, 12),
    ATTENTION("FlashAttnFunc", 0, 5, TOKENS),
    IN_ROWS("FlashAttnVarlenFunc", 0, 9, TOKENS, 3, 5),
    IN_ROWS("xformers_flash::flash_fwd", 0, 10, TOKENS, 3, 6),
    ATTENTION("EvoformerAttention", 0, NOT_THERE, TOKENS),
    ATTENTION("aiter::fmha_fwd", 0, NOT_THERE, TOKENS),
    ATTENTION("aiter::_flash_attn_forward", 0, 5, TOKENS),
    ATTENTION("aiter::mha_fwd", 0, 5, TOKENS),
    ATTENTION("aiter::fmha_v3_fwd", 0, 5, TOKENS),
    ATTENTION("aiter::wrapper_fmha_v3_fwd", 1, 6, TOKENS),
    ATTENTION("aten::_scaled_dot_product_flash_attention_backward", 1, 11, BACKWARD),
    ATTENTION("aten::_scaled_dot_product_efficient_attention_backward", 1, 11, BACKWARD),
    ATTENTION("aten::_scaled_dot_product_cudnn_attention_backward", 1, 14, BACKWARD),
    ATTENTION("aten::_scaled_dot_product_fused_attention_overrideable_backward", 1, 13, BACKWARD),
    ATTENTION("aten::_cudnn_attention_backward", 1, 14, BACKWARD),
    IN_ROWS("aten::_flash_attention_backward", 1, 11, TOKENS | BACKWARD, 6, 8),
    IN_ROWS("aten::_efficient_attention_backward", 1, 14, TOKENS | BACKWARD, 6, 8),
    ATTENTION("flash_attn::_flash_attn_backward", 1, 11, TOKENS | BACKWARD),
    IN_ROWS("flash_attn::_flash_attn_varlen_backward", 1, 15, TOKENS | BACKWARD, 9, 11),
    IN_ROWS("xformers_flash::flash_bwd", 2, 13, TOKENS | BACKWARD, 7, 9),
    ATTENTION("aiter::_flash_attn_backward", 1, 12, TOKENS | BACKWARD),
    ATTENTION("aiter::mha_bwd", 1, 8, TOKENS | BACKWARD),
    ATTENTION("aiter::wrapper_fmha_v3_bwd", 1, 9, TOKENS | BACKWARD),
    PAGED("vllm::unified_attention", 0),
    PAGED("vllm::unified_attention_with_output", 0),
    PAGED("_vllm_fa2_C::varlen_fwd", 0),
    PAGED("_vllm_fa3_C::fwd", 0),
    PAGED("sgl_kernel::fwd", 0),
    PAGED("aiter::mha_varlen_fwd", 0),
    PAGED("aiter::fmha_v3_varlen_fwd", 0),
    PAGED("aiter::mha_batch_prefill", 0),
    PAGED("sglang_profiler::attention_paged_attention_ragged", 2),
    { "aiter::pa_decode_gluon", NULL, 0, 2, NOT_THERE, 19, DECODE, 0, 0,
      lpo_operators_paged_attention },
    { "aiter::pa_sparse_prefill_opus_fwd", lpo_operators_sparse_attention, 0, 2, 5, 1, 0 },
    { "vllm::gdn_attention_core", NULL, 0, 1, 3, NOT_THERE, 0, 0, 0, lpo_operators_gated_delta },
    { "aiter::linear_attention_with_output_base", NULL, 0, 1, 3, NOT_THERE, 0, 0, 0,
      lpo_operators_gated_delta },
    { "MambaSplitConv1dScanCombinedFn", lpo_operators_scan, 0, 1, NOT_THERE, NOT_THERE, 0 },

    { "aten::conv1d", lpo_operators_convolution, 0, 1, NOT_THERE, 3, 0 },
    { "aten::conv2d", lpo_operators_convolution, 0, 1, NOT_THERE, 3, 0 },
    { "aten::conv3d", lpo_operators_convolution, 0, 1, NOT_THERE, 3, 0 },
    { "aten::convolution", lpo_operators_convolution, 0, 1, 6, 3, 0 },
    { "aten::_convolution", lpo_operators_convolution, 0, 1, 6, 3, 0 },
    { "aten::convolution_overrideable", lpo_operators_convolution, 0, 1, 6, 3, 0 },
    { "aten::cudnn_convolution", lpo_operators_convolution, 0, 1, NOT_THERE, 2, PAD_FIRST },
    { "aten::miopen_convolution", lpo_operators_convolution, 0, 1, NOT_THERE, 3, PAD_FIRST },
    { "aten::miopen_depthwise_convolution", lpo_operators_convolution, 0, 1, NOT_THERE, 3,
      PAD_FIRST },
    { "aten::_conv_depthwise2d", lpo_operators_convolution, 0, 1, NOT_THERE, 4, 0 },
    { "aten::conv_transpose1d", lpo_operators_convolution, 0, 1, NOT_THERE, NOT_THERE, TRANSPOSED },
    { "aten::conv_transpose2d", lpo_operators_convolution, 0, 1, NOT_THERE, NOT_THERE, TRANSPOSED },
    { "aten::conv_transpose3d", lpo_operators_convolution, 0, 1, NOT_THERE, NOT_THERE, TRANSPOSED },
    { "aten::cudnn_convolution_transpose", lpo_operators_convolution, 0, 1, NOT_THERE, NOT_THERE,
      TRANSPOSED },
    { "aten::convolution_backward", lpo_operators_convolution, 1, 2, 7, 10, BACKWARD },
    { "aten::cudnn_convolution_backward_input", lpo_operators_convolution, 1, 2, NOT_THERE,
      NOT_THERE, TRANSPOSED }, /* until 2021: one gradient */

    { "ConvBias_", lpo_operators_convolution, 0, 1, NOT_THERE, 3, PAD_FIRST | NOT_SPREAD },
    { "ConvBiasReLU_", lpo_operators_convolution, 0, 1, NOT_THERE, 3, PAD_FIRST | NOT_SPREAD },
    { "DaoAILab::_causal_conv1d_fwd_cpp", lpo_operators_causal_convolution, 0, 1, 2, NOT_THERE, 0 },

    ONE("aten::add"),
    ONE("aten::sub"),
    ONE("aten::rsub"),
    ONE("aten::mul"),
    ONE("aten::div"),
    ONE("aten::pow"),
    ONE("aten::sqrt"),
    ONE("aten::rsqrt"),
    ONE("aten::exp"),
    ONE("aten::log"),
    ONE("aten::neg"),
    ONE("aten::abs"),
    ONE("aten::reciprocal"),
    ONE("aten::sin"),
    ONE("aten::cos"),
    ONE("aten::tanh"),
    ONE("aten::sigmoid"),
    ONE("aten::relu"),
    ONE("aten::gelu"),
    ONE("aten::silu"),
    ONE("aten::clamp"),
    ONE("aten::clamp_min"),
    ONE("aten::clamp_max"),
    ONE("aten::erf"),
    ONE("aten::minimum"),
    ONE("aten::maximum"),
    ONE("aten::where"),
    ONE("aten::lerp"),
    ONE("aten::masked_fill"),
    ONE("aten::addcmul"),
    ONE("aten::addcdiv"),
    ONE("aten::softplus"),
    ONE("aten::leaky_relu"),
    ONE("aten::hardtanh"),
    ONE("aten::hardswish"),
    ONE("aten::mish"),
    ONE("aten::gelu_backward"),
    ONE("aten::silu_backward"),
    ONE("aten::threshold_backward"),
    ONE("aten::tanh_backward"),
    ONE("aten::sigmoid_backward"),
    ONE("aten::clone"),
    ONE("aten::elu"),
    ONE("aten::nan_to_num"),
    ONE("aten::tril"),
    ONE("aten::triu"),
    ONE("LigerSiLUMulFunction"),
    TRUTH("aten::eq"),
    TRUTH("aten::ne"),
    TRUTH("aten::lt"),
    TRUTH("aten::le"),
    TRUTH("aten::gt"),
    TRUTH("aten::ge"),
    TRUTH("aten::logical_and"),
    TRUTH("aten::logical_or"),
    TRUTH("aten::logical_not"),
    TRUTH("aten::isnan"),
    TRUTH("aten::isinf"),
    TRUTH("aten::isneginf"),
    TRUTH("aten::isposinf"),
    REDUCED("aten::sum", 1),
    REDUCED("aten::mean", 1),
    REDUCED("aten::amax", 1),
    REDUCED("aten::amin", 1),
    REDUCED("aten::std", 1),
    REDUCED("aten::var", 1),
    REDUCED("aten::logsumexp", 1),
    REDUCED("aten::norm", 2),
    REDUCED("aten::linalg_norm", 2),
    REDUCED("aten::linalg_vector_norm", 2),
    ALONG("aten::max", WITH_PLACE),
    ALONG("aten::min", WITH_PLACE),
    ALONG("aten::argmax", ONLY_PLACE),
    ALONG("aten::argmin", ONLY_PLACE),
    ALONG("aten::all", 0),
    ALONG("aten::any", 0),
    { "aten::cumsum", lpo_operators_running, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0 },
    { "aten::cumprod", lpo_operators_running, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0 },
    NORM("aten::softmax"),
    NORM("aten::_softmax"),
    NORM("aten::log_softmax"),
    NORM("aten::_log_softmax"),
    NORM("aten::layer_norm"),
    NORM("aten::native_layer_norm"),
    NORM("aten::rms_norm"),
    NORM("aten::_fused_rms_norm"),
    NORM("aten::group_norm"),
    NORM("aten::native_group_norm"),
    NORM("aten::batch_norm"),
    NORM("aten::native_batch_norm"),
    NORM("aten::cudnn_batch_norm"),
    NORM("aten::miopen_batch_norm"),
    NORM("aten::instance_norm"),
    NORM("aiter::rms_norm"),
    NORM("aiter::rmsnorm2d_fwd_ck"),
    NORM("primus::fused_ln_modulate"),
    NORM("aten::dropout"),
    NORM("aten::native_dropout"),
    NORM("aten::_softmax_backward_data"),
    NORM("aten::_log_softmax_backward_data"),
    { "aten::native_layer_norm_backward", lpo_operators_like_first, 0, 5, 6, NOT_THERE, 0 },
    { "aten::_fused_rms_norm_backward", lpo_operators_like_first, 0, 4, NOT_THERE, NOT_THERE, 0 },
    { "aten::native_group_norm_backward", lpo_operators_like_first, 0, 4, 4, NOT_THERE, 0 },
    { "aten::native_batch_norm_backward", lpo_operators_like_first, 0, 2, 2, NOT_THERE, 0 },
    { "aten::cudnn_batch_norm_backward", lpo_operators_like_first, 0, 2, 2, NOT_THERE, 0 },
    { "aten::miopen_batch_norm_backward", lpo_operators_like_first, 0, 2, 2, NOT_THERE, 0 },
    { "_C::fused_add_rms_norm", lpo_operators_like_first, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "sgl_kernel::fused_add_rmsnorm", lpo_operators_like_first, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aiter::_fused_qk_rmsnorm_kernel", lpo_operators_like_first, 0, 3, NOT_THERE, NOT_THERE, 0 },
    { "primus::fused_ln_modulate_backward", lpo_operators_like_first, 0, 4, 4, NOT_THERE, 0 },
    EVERY("_C::rms_norm"),
    EVERY("_C::silu_and_mul"),
    EVERY("_C::gelu_and_mul"),
    EVERY("_C::gelu_tanh_and_mul"),
    EVERY("_C::static_scaled_fp8_quant"),
    EVERY("_C::dynamic_scaled_fp8_quant"),
    EVERY("_C::dynamic_per_token_scaled_fp8_quant"),
    EVERY("_C::per_token_group_fp8_quant"),
    EVERY("sgl_kernel::rmsnorm"),
    EVERY("sgl_kernel::silu_and_mul"),
    EVERY("sgl_kernel::sgl_per_token_group_quant_fp8"),
    EVERY("aiter::silu_and_mul"),
    EVERY("aiter::gelu_and_mul"),
    EVERY("aiter::gelu_tanh_and_mul"),
    EVERY("aiter::rmsnorm"),
    EVERY("aiter::rmsnorm2d_fwd_with_add_ck"),
    EVERY("aiter::add_rmsnorm"),
    EVERY("aiter::rmsnorm2d_fwd_with_dynamicquant_ck"),
    EVERY("aiter::rmsnorm_quant"),
    EVERY("aiter::dynamic_per_token_scaled_quant"),
    EVERY("aiter::dynamic_per_group_scaled_quant"),
    EVERY("aiter::dynamic_per_group_scaled_quant_fp4"),
    EVERY("aiter::dynamic_per_tensor_quant"),
    EVERY("aiter::mhc_post"),
    EVERY("_C_cache_ops::concat_mla_q"),
    EVERY("triton_poi_*"),
    EVERY("triton_red_*"),
    EVERY("triton_per_*"),
    { "FusedRoPEFunc", lpo_operators_rewrite, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0 },
    { "_C::rotary_embedding", lpo_operators_rewrite, 1, 2, NOT_THERE, NOT_THERE, 0 },
    { "sgl_kernel::rotary_embedding", lpo_operators_rewrite, 1, 2, NOT_THERE, NOT_THERE, 0 },
    { "aiter::rope_cached_positions_2c_fwd_impl", lpo_operators_rewrite, 2, 3, NOT_THERE, NOT_THERE,
      0 },
    { "sglang::store_cache", lpo_operators_rewrite, 0, 1, 2, NOT_THERE, 0 },
    { "_C_cache_ops::concat_and_cache_mla", lpo_operators_rewrite, 0, 1, 2, NOT_THERE, 0 },
    { "vllm::triton_per_token_group_quant_fp8", lpo_operators_quantized, 0, NOT_THERE, NOT_THERE, 1,
      0 },
    { "vllm::rocm_aiter_rmsnorm_fp8_group_quant", lpo_operators_quantized, 0, NOT_THERE, NOT_THERE,
      3, 0 },
    { "vllm::rocm_aiter_rmsnorm_with_add_fp8_group_quant", lpo_operators_quantized, 0, 1, NOT_THERE,
      4, 0 },
    { "primus_turbo_cpp_extension::quantize_fp8_tensorwise", lpo_operators_quantized, 0, NOT_THERE,
      NOT_THERE, NOT_THERE, 0 },
    { "primus_turbo::quantize_fp8_tensorwise", lpo_operators_quantized, 0, NOT_THERE, NOT_THERE,
      NOT_THERE, 0 },
    { "aten::copy", lpo_operators_copy, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::copy_", lpo_operators_copy, 0, 1, NOT_THERE, NOT_THERE, 0 },
    WRITTEN("aten::fill_"),
    WRITTEN("aten::zero_"),
    WRITTEN("aten::normal_"),
    WRITTEN("aten::uniform_"),
    WRITTEN("aten::exponential_"),
    WRITTEN("aten::bernoulli_"),
    { "aten::gather", lpo_operators_gather, 0, 2, NOT_THERE, NOT_THERE, 0 },
    { "aten::embedding", lpo_operators_look_up, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::index_select", lpo_operators_look_up, 0, 2, NOT_THERE, NOT_THERE, 0 },
};

/* aten::mul_ writes what it reads. */
static const struct lpo_operators_rule in_place = {
    "", lpo_operators_like_first, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0
};

const struct lpo_operators_rule *lpo_operators_rule_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t known;

        if (!len || rules[i].name[0] != *name)
            continue;
        known = strlen(rules[i].name);
        if (len == known && memcmp(rules[i].name, name, len) == 0)
            return &rules[i];
        if (rules[i].name[known - 1] == '*' && len >= known &&
            memcmp(rules[i].name, name, known - 1) == 0)
            return &rules[i];
        if (len == known + 1 && name[known] == '_' && rules[i].cost == lpo_operators_elementwise &&
            memcmp(rules[i].name, name, known) == 0)
            return &in_place;
    }
    return NULL;
}
