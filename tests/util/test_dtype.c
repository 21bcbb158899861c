/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/dtype.h"

static const struct dtype_case {
    const char *name; /* as it is written */
    enum lpo_dtype want;
    unsigned bits;
} cases[] = {
    { "bf16", LPO_BF16, 16 },
    { "bfloat16", LPO_BF16, 16 },
    { "torch.bfloat16", LPO_BF16, 16 },
    { "BF16", LPO_BF16, 16 },
    { "float32", LPO_FP32, 32 },
    { "F8_E4M3", LPO_FP8, 8 },
    { "fp64", LPO_FP64, 64 },
    { "int8", LPO_INT8, 8 },
    { "int4", LPO_INT4, 4 },
    { "bool", LPO_BOOL, 8 },
    { "no such type", LPO_DTYPE_NONE, 0 },
};

static void check_dtype(void **state)
{
    const struct dtype_case *c = *state;
    enum lpo_dtype got = lpo_dtype_parse(c->name);

    assert_int_equal(got, c->want);
    assert_int_equal(lpo_dtype_bits(got), c->bits);
    assert_true(lpo_dtype_bytes(got) == c->bits / 8.0);
}

static void a_name_reads_back(void **state)
{
    (void)state;
    for (int t = LPO_DTYPE_NONE + 1; t < LPO_DTYPES; t++)
        assert_int_equal(lpo_dtype_parse(lpo_dtype_name(t)), t);
    assert_string_equal(lpo_dtype_name(LPO_DTYPE_NONE), "unknown");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_dtype);
    UNIT_TEST(&u, a_name_reads_back);
    return unit_run(&u);
}
