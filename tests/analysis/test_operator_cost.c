/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs and bytes of one call; the right column is worked out by hand. */
#include "../unit.h"

#include <math.h>

#include "analysis/operators/cost.h"
#include "analysis/steps/steps.h"
#include "trace/trace.h"
#include "util/err.h"

static const struct cost_case {
    const char *name, *dims, *types, *values;
    double flops, bytes; /* below 0: unknown */
    const char *own;     /* a rule of the user; NULL: none */
    const char *step;    /* the name of the step around it; NULL: none */
} cases[] = {
    { "aten::mm", "[[8,32],[32,16]]", "[\"float\",\"float\"]", NULL, 8192, 4 * (256 + 512 + 128),
      NULL },
    { "aten::mm", "[[8,32],[31,16]]", "[\"float\",\"float\"]", NULL, -1, -1, NULL },
    { "aten::mm", "[[8,32],[32,16]]", NULL, NULL, 8192, -1, NULL },
    { "aten::mm", "[[8,32]]", "[\"float\"]", NULL, -1, -1, NULL },
    { "aten::mm", "[[0,32],[32,16]]", "[\"float\",\"float\"]", NULL, 0, 4 * 512, NULL },
    { "aten::mm", "[[8,32],[32,16]", "[]", NULL, -1, -1, NULL },
    { "aten::mm", "[[8,-2],[32,16]]", "[]", NULL, -1, -1, NULL },
    { "aten::mm", "[[99999999999999999999,1],[1,1]]", "[]", NULL, -1, -1, NULL },
    { "aten::addmm", "[[16],[8,32],[32,16],[],[]]",
      "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"Scalar\",\"Scalar\"]", NULL, 8192,
      2 * (16 + 256 + 512 + 128), NULL },
    { "aten::bmm", "[[4,8,32],[4,32,16]]", "[\"c10::BFloat16\",\"c10::BFloat16\"]", NULL, 32768,
      2 * (1024 + 2048 + 512), NULL },
    { "aten::matmul", "[[4,8,32],[32,16]]", "[\"float\",\"float\"]", NULL, 32768,
      4 * (1024 + 512 + 512), NULL },
    { "aten::matmul", "[[32],[32]]", "[\"float\",\"float\"]", NULL, 64, 4 * 65, NULL },
    { "aten::matmul", "[[3,1,8,4],[2,4,5]]", "[\"float\",\"float\"]", NULL, 2 * 6 * 8 * 4 * 5,
      4 * (96 + 40 + 240), NULL },
    { "aten::linear", "[[2,8,32],[16,32],[16]]", "[\"float\",\"float\",\"float\"]", NULL, 16384,
      4 * (512 + 512 + 16 + 256), NULL },
    { "aten::mv", "[[8,32],[32]]", "[\"double\",\"double\"]", NULL, 512, 8 * (256 + 32 + 8), NULL },
    { "aten::_scaled_mm", "[[8,32],[32,16],[],[],[],[],[],[]]",
      "[\"c10::Float8_e4m3fn\",\"c10::Float8_e4m3fn\",\"float\",\"float\",\"\",\"\",\"Scalar\","
      "\"\"]",
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"15\",\"\"]", 8192, 256 + 512 + 2 * 128, NULL },
    { "aten::_grouped_mm", "[[100,32],[4,32,16],[4]]",
      "[\"c10::BFloat16\",\"c10::BFloat16\",\"int\"]", NULL, 2 * 100 * 32 * 16,
      2 * (3200 + 2048 + 1600), NULL },
    { "aten::scaled_dot_product_attention", "[[2,4,8,16],[2,4,10,16],[2,4,10,16],[],[],[],[],[]]",
      "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"\",\"\",\"\",\"\",\"\"]",
      "[\"\",\"\",\"\",\"\",\"0.\",\"False\",\"\",\"\"]", 4.0 * 2 * 4 * 8 * 10 * 16,
      2 * (1024 + 1280 + 1280 + 1024), NULL },
    { "aten::_scaled_dot_product_flash_attention", "[[2,4,8,16],[2,1,8,16],[2,1,8,16],[],[]]", "[]",
      "[\"\",\"\",\"\",\"0.\",\"True\"]", 2.0 * 2 * 4 * 8 * 8 * 16, -1, NULL },
    { "aten::_flash_attention_forward", "[[2,8,4,16],[2,10,4,16],[2,10,4,16]]", "[]", NULL,
      4.0 * 2 * 4 * 8 * 10 * 16, -1, NULL },
    { "aten::_flash_attention_forward", "[[16,4,16],[16,4,16],[16,4,16]]", "[]", NULL, -1, -1,
      NULL },
    { "aten::_scaled_dot_product_flash_attention_backward",
      "[[2,4,8,16],[2,4,8,16],[2,4,8,16],[2,4,8,16]]", "[]", NULL, 10.0 * 2 * 4 * 8 * 8 * 16, -1,
      NULL },
    /* 8 x 3 x 10 x 10 by 6 x 3 x 3 x 3, stride 2, padding 1: 5 x 5 */
    { "aten::conv2d", "[[8,3,10,10],[6,3,3,3],[6],[],[],[],[]]",
      "[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\"]",
      "[\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"1\"]", 2.0 * 8 * 162 * 25,
      4 * (2400 + 162 + 1200), NULL },
    /* two groups: the weight says so */
    /* shapes of the last arguments may be left out; types as other writers spell them */
    { "aten::convolution", "[[8,4,10],[6,2,3]]", "[\"Float\",\"c10::bfloat16\"]",
      "[\"\",\"\",\"\",\"(1)\",\"(0)\",\"(1)\",\"False\",\"(0)\",\"2\"]", 2.0 * 8 * 36 * 8,
      4 * 320 + 2 * 36 + 4 * 8 * 6 * 8, NULL },
    { "aten::convolution", "[[8,4,10],[6,2,3],[],[],[],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"[1]\",\"[0]\",\"[1]\",\"False\",\"[0]\",\"2\"]", 2.0 * 8 * 36 * 8, -1,
      NULL },
    { "aten::cudnn_convolution", "[[1,3,10,10],[6,3,3,3],[],[],[],[]]", "[]",
      "[\"\",\"\",\"[1, 1]\",\"[2, 2]\",\"[1, 1]\",\"1\"]", 2.0 * 162 * 25, -1, NULL },
    { "aten::conv2d", "[[1,3,10,10],[6,3,3,3],[],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"1\",\"same\",\"1\",\"1\"]", 2.0 * 162 * 100, -1, NULL },
    { "aten::convolution_backward", "[[1,6,5,5],[1,3,10,10],[6,3,3,3],[],[],[],[],[],[],[],[]]",
      "[]",
      "[\"\",\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\","
      "\"[True, True, False]\"]",
      2 * 2.0 * 162 * 25, -1, NULL },
    { "aten::add", "[[8,1,4],[3,1],[]]", "[\"float\",\"c10::Half\",\"Scalar\"]", NULL, -1,
      4 * 32 + 2 * 3 + 4 * 96, NULL },
    { "aten::mul_", "[[8,4],[4]]", "[\"float\",\"float\"]", NULL, -1, 4 * (32 + 4 + 32), NULL },
    { "aten::copy_", "[[8,4],[8,4],[]]", "[\"float\",\"bool\",\"Scalar\"]", NULL, -1, 128 + 32,
      NULL },
    { "aten::native_layer_norm", "[[8,4],[],[4],[4],[]]",
      "[\"float\",\"ScalarList\",\"float\",\"float\",\"Scalar\"]", NULL, -1, 4 * (32 + 4 + 4 + 32),
      NULL },
    { "aten::embedding", "[[1000,64],[2,3]]", "[\"float\",\"long int\"]", NULL, -1,
      2 * 6 * 64 * 4 + 6 * 8, NULL },
    { "aten::cat", "[[[2,3],[4,3]],[]]", "[\"TensorList\",\"Scalar\"]", NULL, -1, -1, NULL },
    { "my::op", "[[8,32],[32,16]]", "[\"float\",\"float\"]", NULL, -1, -1, NULL },
    { "my::op", "[[8,32],[16,32]]", "[\"float\",\"float\"]", NULL, 8192, 4 * (256 + 512 + 128),
      "aten::linear=my::*" },
    { "my::op", "[[],[32,16],[8,32]]", "[\"Scalar\",\"float\",\"float\"]", NULL, 8192,
      4 * (256 + 512 + 128), "aten::mm(2,1)=my::op" },
    { "aten::mm", NULL, NULL, NULL, -1, -1, NULL },

    /* two 4-bit numbers in a byte: K is 64 */
    { "aiter::gemm_a4w4", "[[8,32],[16,32]]", "[\"unsigned char\",\"unsigned char\"]", NULL,
      2.0 * 8 * 16 * 64, -1, NULL },
    { "vllm::gemm_with_dynamic_quant", "[[8,64],[16,32]]", "[\"c10::BFloat16\",\"unsigned char\"]",
      NULL, 2.0 * 8 * 16 * 64, 2 * 512 + 512 + 2 * 128, NULL },
    { "_C::cutlass_scaled_mm", "[[8,16],[8,32],[32,16],[8,1],[1,16]]",
      "[\"c10::BFloat16\",\"c10::Float8_e4m3fn\",\"c10::Float8_e4m3fn\",\"float\",\"float\"]", NULL,
      8192, 256 + 512 + 2 * 128, NULL },
    { "sgl_kernel::fp8_scaled_mm", "[[8,32],[32,16],[8,1],[1,16],[],[]]",
      "[\"c10::Float8_e4m3fn\",\"c10::Float8_e4m3fn\",\"float\",\"float\",\"Scalar\",\"\"]",
      "[\"\",\"\",\"\",\"\",\"15\",\"\"]", 8192, 256 + 512 + 2 * 128, NULL },
    { "aiter::gemm_a8w8_blockscale_ck", "[[8,32],[16,32],[8,1],[1,1]]",
      "[\"c10::Float8_e4m3fnuz\",\"c10::Float8_e4m3fnuz\",\"float\",\"float\"]", NULL, 8192, -1,
      NULL },
    /* a turned: M 16, K 32; b as it is: N 8 */
    { "tex_ts::te_gemm_ts", "[[16,32],[],[],[],[],[8,32],[],[],[],[],[8,16]]",
      "[\"c10::Half\",\"\",\"\",\"\",\"\",\"c10::Half\",\"\",\"\",\"\",\"\",\"c10::Half\"]",
      "[\"\",\"\",\"\",\"\",\"1\",\"\",\"\",\"\",\"\",\"0\",\"\"]", 2.0 * 16 * 8 * 32,
      2 * (512 + 256 + 128), NULL },

    /* 10 tokens go to 2 of 8 experts each: 32 by 2 x 48, then 48 by 32 */
    { "vllm::outplace_fused_experts", "[[10,32],[8,96,32],[8,32,48],[10,2],[10,2]]", "[]", NULL,
      2.0 * 20 * (32 * 96 + 48 * 32), -1, NULL },
    { "sglang::inplace_fused_experts", "[[10,32],[8,48,32],[8,32,48],[10,2],[10,2]]", "[]", NULL,
      2.0 * 20 * (32 * 48 + 48 * 32), -1, NULL },
    /* weights of 4 bits */
    { "aiter::fused_moe_", "[[10,32],[8,96,16],[8,32,24],[10,2],[10,2]]", "[]", NULL,
      2.0 * 20 * (32 * 96 + 48 * 32), -1, NULL },
    { "aiter::fused_moe_", "[[10,32],[8,90,32],[8,32,48],[10,2],[10,2]]", "[]", NULL, -1, -1,
      NULL },
    { "aiter::fmoe_g1u1", "[[10,32],[10,32],[8,96,32],[8,32,48],[],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"2\"]", 2.0 * 20 * (32 * 96 + 48 * 32), -1, NULL },
    { "aiter::ck_moe_stage1", "[[10,32],[8,96,32],[8,32,48],[64],[2],[1],[10,2,48]]", "[]", NULL,
      2.0 * 20 * 32 * 96, -1, NULL },
    { "aiter::ck_moe_stage2", "[[10,2,48],[8,96,32],[8,32,48]]", "[]", NULL, 2.0 * 20 * 48 * 32, -1,
      NULL },

    /* sequences of 6, 5 and 5 in a row, causal: 36 + 25 + 25 pairs, half of them */
    { "flash_attn::_flash_attn_varlen_forward",
      "[[16,4,32],[16,2,32],[16,2,32],[4],[4],[],[],[],[],[]]",
      "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"int\",\"int\",\"Scalar\",\"Scalar\","
      "\"Scalar\",\"Scalar\",\"Scalar\"]",
      "[\"\",\"\",\"\",\"\",\"\",\"6\",\"6\",\"0.\",\"0.1\",\"True\"]", 4.0 * 4 * 86 * 32 / 2,
      2 * (2 * 2048 + 2 * 1024), NULL },
    { "flash_attn::_flash_attn_varlen_backward",
      "[[16,4,32],[16,4,32],[16,2,32],[16,2,32],[],[],[],[],[],[4],[4],[],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"6\",\"6\",\"0.\",\"0.1\","
      "\"True\"]",
      2.5 * 4.0 * 4 * 86 * 32 / 2, -1, NULL },
    /* one sequence: its length is that of the row */
    { "aten::_flash_attention_forward", "[[16,4,32],[16,4,32],[16,4,32],[2],[2],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"\",\"\",\"16\",\"16\",\"0.\",\"False\"]", 4.0 * 4 * 256 * 32, -1, NULL },
    /* longer than the row */
    { "aten::_flash_attention_forward", "[[16,4,32],[16,4,32],[16,4,32],[3],[3],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"\",\"\",\"17\",\"16\",\"0.\",\"False\"]", -1, -1, NULL },
    { "aten::_efficient_attention_forward",
      "[[1,16,4,32],[1,16,4,32],[1,16,4,32],[],[3],[3],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"8\",\"8\",\"0.\",\"0\"]", 4.0 * 4 * 128 * 32, -1, NULL },
    { "flash_attn_3::fwd",
      "[[2,8,4,32],[2,8,4,32],[2,8,4,32],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],["
      "],"
      "[],[]]",
      "[]",
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\","
      "\"\",\"\",\"\",\"\",\"\",\"\",\"True\"]",
      4.0 * 2 * 4 * 64 * 32 / 2, -1, NULL },
    { "aten::_cudnn_attention_backward",
      "[[2,4,8,16],[2,4,8,16],[2,4,8,16],[2,4,8,16],[],[],[],[],[],[],[],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"0.\",\"True\"]",
      2.5 * 4.0 * 2 * 4 * 64 * 16 / 2, -1, NULL },
    /* values narrower than keys: scores twice and two gradients as wide as a key, two as a value */
    { "aiter::mha_bwd", "[[2,8,4,16],[2,8,4,24],[2,8,4,24],[2,8,4,16],[],[],[],[],[]]", "[]",
      "[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"False\"]", 2.0 * 2 * 4 * 64 * (3 * 24 + 2 * 16),
      -1, NULL },
    { "EvoformerAttention", "[[2,3,8,4,16],[2,3,8,4,16],[2,3,8,4,16]]", "[]", NULL,
      4.0 * 6 * 4 * 64 * 16, -1, NULL },

    /* prefill of 3 tokens behind 5, and 2 requests that see 7 and 9 tokens */
    { "vllm::unified_attention_with_output", "[[5,8,16],[5,2,16],[5,2,16],[5,8,16]]",
      "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\"]", NULL,
      4.0 * 8 * 16 * (3 * 8 - 4.5 + 7 + 9), 2 * (2 * 5 * 8 * 16 + 2 * 24 * 2 * 16), NULL,
      "execute_5_context_1(sq3sk8sqsq9sqsk24)_generation_2(sq2sk16sqsq2sqsk16)" },
    { "vllm::unified_attention_with_output", "[[5,8,16],[5,2,16],[5,2,16],[5,8,16]]", "[]", NULL,
      -1, -1, NULL, NULL },
    { "vllm::unified_attention_with_output", "[[5,8,16],[5,2,16],[5,2,16],[5,8,16]]", "[]", NULL,
      -1, -1, NULL, "execute_context_1(3)_generation_2(2)" },
    { "sgl_kernel::fwd", "[[4,8,16],[100,64,2,16],[100,64,2,16]]", "[]", NULL, 4.0 * 8 * 16 * 40,
      -1, NULL, "step[DECODE bs=4 g_sqsq=4 g_sqsk=40 g_sk=40]" },
    { "aiter::mha_batch_prefill", "[[4,8,16],[100,64,2,16],[100,64,2,16]]", "[]", NULL,
      4.0 * 8 * 16 * (16 - 8), -1, NULL, "prefill[bs=1 tok=4 ctx=[4] sqsq=16 sqsk=16 sk=4]" },

    { "aten::convolution_backward", "[[1,6,5,5],[1,3,10,10],[6,3,3,3],[],[],[],[],[],[],[],[]]",
      "[\"float\",\"float\",\"float\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"]",
      "[\"\",\"\",\"\",\"\",\"[2, 2]\",\"[1, 1]\",\"[1, 1]\",\"False\",\"[0, 0]\",\"1\","
      "\"[False, True, False]\"]",
      2.0 * 162 * 25, 4 * (150 + 300 + 162 + 162), NULL },
    { "aten::cudnn_convolution_backward_input", "[[],[1,6,5,5],[6,3,3,3],[],[],[]]", "[]", NULL,
      2.0 * 162 * 25, -1, NULL },
    { "aten::native_layer_norm_backward", "[[8,4],[8,4],[],[8,1],[8,1],[4],[4],[]]",
      "[\"float\",\"float\",\"\",\"float\",\"float\",\"float\",\"float\",\"\"]", NULL, -1,
      4 * (64 + 16 + 8 + 32 + 8), NULL },
    { "_C::fused_add_rms_norm", "[[8,4],[8,4],[4],[]]",
      "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"Scalar\"]", NULL, -1, 2 * (64 + 4 + 64), NULL },
    { "triton_poi_fused_add_cos_sin_0", "[[10,10],[10,10],[10,10],[]]",
      "[\"float\",\"float\",\"float\",\"Scalar\"]", NULL, -1, 1200, NULL },
};

/* Names of steps, and what they say about lengths; "" where they say nothing. */
static const struct lengths_case {
    const char *name, *want;
} names[] = {
    { "execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)_generation_3(sq3sk6144sqsq3"
      "sqsk6144)",
      "6144 7144 20971520 23019520, 3 6144 3 6144" },
    { "execute_5_context_1(sq3sk8sqsq9)_generation_2(sq2sk16sqsq2sqsk16)", "" },
    { "execute_5_context_1(sq3sk8sqsq9sqsk24)", "" },
    { "step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12 g_sqsq=1 "
      "g_sqsk=12]",
      "5 8 25 40, 1 12 1 12" },
    { "step[EXTEND bs=2 toks=9 c_sqsq=45 c_sqsk=45 c_sk=9]", "9 9 45 45, 0 0 0 0" },
    { "step[DECODE bs=64]", "" },
    { "step[DECODE bs=64 g_sqsq=99999999999999999999999 g_sqsk=1 g_sk=1]", "" },
    { "decode[bs=117/128 tok=117 d=117 sqsq=117 sqsk=900 sk=900]", "0 0 0 0, 117 900 117 900" },
    { "decode", "" },
    { "", "" },
};

static void check_lengths(void **state)
{
    const struct lengths_case *c = *state;
    struct lpo_step_lengths l;
    char got[160] = "";

    if (lpo_steps_read_lengths(c->name, &l))
        snprintf(got, sizeof got, "%.0f %.0f %.0f %.0f, %.0f %.0f %.0f %.0f", l.context.queries,
                 l.context.keys, l.context.queries_squared, l.context.queries_by_keys,
                 l.generation.queries, l.generation.keys, l.generation.queries_squared,
                 l.generation.queries_by_keys);
    assert_string_equal(got, c->want);
}

static void same(double want, double got)
{
    if (want < 0)
        assert_true(isnan(got));
    else
        assert_float_equal(got, want, 0);
}

static uint32_t id(struct lpo_trace *t, const char *text)
{
    return text ? lpo_trace_name(t, text) : LPO_NONE;
}

static void check(void **state)
{
    const struct cost_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_operators_rules) own = NULL;
    struct lpo_op_args args = { id(t, c->dims), id(t, c->types), id(t, c->values) };
    struct lpo_op op = { .name = id(t, c->name), .args = LPO_NONE };
    struct lpo_operator_cost got;
    struct lpo_step_lengths lengths;
    struct lpo_err err = { 0 };

    if (c->dims)
        op.args = lpo_trace_op_args(t, &args);
    if (c->own)
        assert_int_equal(lpo_operators_rules_read(&c->own, 1, &own, &err), 0);
    got = lpo_operators_cost(
        t, &op, own, c->step && lpo_steps_read_lengths(c->step, &lengths) ? &lengths : NULL);
    same(c->flops, got.flops);
    same(c->bytes, got.bytes);
}

static void wrong_rules(void **state)
{
    static const char *const rules[] = {
        "aten::mm", "=x", "aten::none=x", "aten::mm(=x", "aten::mm(a)=x", "aten::mm(1,2,3,4)=x", ""
    };

    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct lpo_operators_rules *own = NULL;
        struct lpo_err err = { 0 };

        assert_true(lpo_operators_rules_read(&rules[i], 1, &own, &err) < 0);
        assert_null(own);
    }
}

/* Files in the grammar of conf/rules/operators.yaml; 8 x 32 by 32 x 16. */
static const struct file_case {
    const char *name, *text;
    double flops; /* below 0: the file is refused */
} files[] = {
    { "a product", "operators:\n- product(0,1): my::op\n", 8192 },
    { "a glob", "operators:\n- product(0,1): my::*\n", 8192 },
    { "the first decides", "operators:\n- product(0,1): my::op\n- elementwise(0): my::*\n", 8192 },
    { "turned: it does not fit", "operators:\n- product(0,1) turned: my::op\n", NAN },
    { "another operator", "operators:\n- product(0,1): your::op\n", NAN },
    { "no such formula", "operators:\n- produkt(0,1): my::op\n", -1 },
    { "no arguments", "operators:\n- product: my::op\n", -1 },
    { "four arguments", "operators:\n- product(0,1,2,3): my::op\n", -1 },
    { "no such word", "operators:\n- product(0,1) round: my::op\n", -1 },
    { "a number that is none", "operators:\n- product(0,1) word=x: my::op\n", -1 },
    { "a table of another file's", "functions:\n- GEMM: my\n", NAN },
};

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_operators_rules) own = NULL;
    struct lpo_op_args args = { id(t, "[[8,32],[32,16]]"), id(t, "[\"float\",\"float\"]"),
                                id(t, "[\"\",\"\"]") };
    struct lpo_op op = { .name = id(t, "my::op"), .args = lpo_trace_op_args(t, &args) };
    char path[64], rule[80];
    const char *rules[] = { rule };
    struct lpo_err err = { 0 };
    int rc;

    unit_file(c->text, strlen(c->text), path);
    snprintf(rule, sizeof rule, "file:%s", path);
    rc = lpo_operators_rules_read(rules, 1, &own, &err);
    unlink(path);
    assert_int_equal(rc < 0, c->flops < 0);
    if (rc < 0)
        return;
    if (isnan(c->flops))
        assert_true(isnan(lpo_operators_cost(t, &op, own, NULL).flops));
    else
        same(c->flops, lpo_operators_cost(t, &op, own, NULL).flops);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_ROWS(&u, names, check_lengths);
    UNIT_ROWS(&u, files, check_file);
    unit_add(&u, "wrong rules", wrong_rules, NULL);
    return unit_run(&u);
}
