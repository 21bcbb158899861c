/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs and bytes of one call; the right column is worked out by hand. */
#include "../unit.h"

#include <math.h>

#include "analysis/operators/cost.h"
#include "trace/trace.h"
#include "util/err.h"

static const struct cost_case {
    const char *name, *dims, *types, *values;
    double flops, bytes; /* below 0: unknown */
    const char *own;     /* a rule of the user; NULL: none */
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
    { "aten::convolution", "[[8,4,10],[6,2,3]]", "[]",
      "[\"\",\"\",\"\",\"[1]\",\"[0]\",\"[1]\",\"False\",\"[0]\",\"2\"]", -1, -1, NULL },
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
};

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
    struct lpo_err err = { 0 };

    if (c->dims)
        op.args = lpo_trace_op_args(t, &args);
    if (c->own)
        assert_int_equal(lpo_operators_rules_read(&c->own, 1, &own, &err), 0);
    got = lpo_operators_cost(t, &op, own);
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

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    unit_add(&u, "wrong rules", wrong_rules, NULL);
    return unit_run(&u);
}
