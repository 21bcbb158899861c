/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by name, as data: the formula of each, and which of the arguments are the ones it
 * needs. A new operator of a known kind is one row; docs/operators.md lists them. */
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
    { "aten::_grouped_mm", lpo_operators_grouped, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::_scaled_grouped_mm", lpo_operators_grouped, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "vllm::rocm_unquantized_gemm", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, TURNED },
    { "vllm::rocm_unquantized_gemm_impl", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE,
      TURNED },
    { "aiter::gemm_a16w16", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, TURNED },
    { "aiter::gemm_a8w8", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, TURNED },
    { "trtllm::cublas_scaled_mm", lpo_operators_product, 0, 1, NOT_THERE, NOT_THERE, 0 },

    { "aten::scaled_dot_product_attention", lpo_operators_attention, 0, 1, 2, 5, 0 },
    { "aten::_scaled_dot_product_attention_math", lpo_operators_attention, 0, 1, 2, 5, 0 },
    { "aten::_scaled_dot_product_flash_attention", lpo_operators_attention, 0, 1, 2, 4, 0 },
    { "aten::_scaled_dot_product_fused_attention_overrideable", lpo_operators_attention, 0, 1, 2, 5,
      0 },
    { "aten::_scaled_dot_product_efficient_attention", lpo_operators_attention, 0, 1, 2, 6, 0 },
    { "aten::_scaled_dot_product_cudnn_attention", lpo_operators_attention, 0, 1, 2, 6, 0 },
    { "aten::_cudnn_attention_forward", lpo_operators_attention, 0, 1, 2, 10, 0 },
    { "aten::_flash_attention_forward", lpo_operators_attention, 0, 1, 2, 8, TOKENS },
    { "aten::_efficient_attention_forward", lpo_operators_attention, 0, 1, 2, 9, TOKENS },
    { "flash_attn::_flash_attn_forward", lpo_operators_attention, 0, 1, 2, 5, TOKENS },
    { "flash_attn_3::fwd", lpo_operators_attention, 0, 1, 2, NOT_THERE, TOKENS },
    { "aiter::fmha_fwd", lpo_operators_attention, 0, 1, 2, NOT_THERE, TOKENS },
    { "aten::_scaled_dot_product_flash_attention_backward", lpo_operators_attention, 1, 2, 3, 11,
      BACKWARD },
    { "aten::_scaled_dot_product_efficient_attention_backward", lpo_operators_attention, 1, 2, 3,
      11, BACKWARD },
    { "aten::_scaled_dot_product_cudnn_attention_backward", lpo_operators_attention, 1, 2, 3, 14,
      BACKWARD },
    { "aten::_flash_attention_backward", lpo_operators_attention, 1, 2, 3, 11, TOKENS | BACKWARD },
    { "aten::_efficient_attention_backward", lpo_operators_attention, 1, 2, 3, 14,
      TOKENS | BACKWARD },
    { "flash_attn::_flash_attn_backward", lpo_operators_attention, 1, 2, 3, 11, TOKENS | BACKWARD },

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
    NORM("aten::dropout"),
    NORM("aten::native_dropout"),
    NORM("aten::_softmax_backward_data"),
    NORM("aten::_log_softmax_backward_data"),
    { "aten::copy_", lpo_operators_copy, 0, 1, NOT_THERE, NOT_THERE, 0 },
    { "aten::fill_", lpo_operators_copy, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0 },
    { "aten::zero_", lpo_operators_copy, 0, NOT_THERE, NOT_THERE, NOT_THERE, 0 },
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
        size_t known = strlen(rules[i].name);

        if (len == known && memcmp(rules[i].name, name, len) == 0)
            return &rules[i];
        if (len == known + 1 && name[known] == '_' && rules[i].cost == lpo_operators_elementwise &&
            memcmp(rules[i].name, name, known) == 0)
            return &in_place;
    }
    return NULL;
}
