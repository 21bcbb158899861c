/* SPDX-License-Identifier: Apache-2.0 */
#include "util/dtype.h"

#include <strings.h>

static const struct {
    const char *name;
    unsigned bits;
} formats[LPO_DTYPES] = {
    [LPO_DTYPE_NONE] = { "unknown", 0 },
    [LPO_FP64] = { "fp64", 64 },
    [LPO_FP32] = { "fp32", 32 },
    [LPO_TF32] = { "tf32", 32 },
    [LPO_FP16] = { "fp16", 16 },
    [LPO_BF16] = { "bf16", 16 },
    [LPO_FP8] = { "fp8", 8 },
    [LPO_FP4] = { "fp4", 4 },
    [LPO_INT64] = { "int64", 64 },
    [LPO_INT32] = { "int32", 32 },
    [LPO_INT16] = { "int16", 16 },
    [LPO_INT8] = { "int8", 8 },
    [LPO_INT4] = { "int4", 4 },
    [LPO_BOOL] = { "bool", 8 },
};

/* Other spellings: PyTorch's, safetensors', people's. */
static const struct {
    const char *text;
    enum lpo_dtype dtype;
} spellings[] = {
    { "float64", LPO_FP64 },
    { "f64", LPO_FP64 },
    { "double", LPO_FP64 },
    { "float32", LPO_FP32 },
    { "f32", LPO_FP32 },
    { "float", LPO_FP32 },
    { "float16", LPO_FP16 },
    { "f16", LPO_FP16 },
    { "half", LPO_FP16 },
    { "bfloat16", LPO_BF16 },
    { "float8_e4m3fn", LPO_FP8 },
    { "float8_e5m2", LPO_FP8 },
    { "f8_e4m3", LPO_FP8 },
    { "f8_e5m2", LPO_FP8 },
    { "f8_e8m0", LPO_FP8 },
    { "e4m3", LPO_FP8 },
    { "e5m2", LPO_FP8 },
    { "float8", LPO_FP8 },
    { "f8", LPO_FP8 },
    { "f4", LPO_FP4 },
    { "nvfp4", LPO_FP4 },
    { "mxfp4", LPO_FP4 },
    { "float4", LPO_FP4 },
    { "i64", LPO_INT64 },
    { "long", LPO_INT64 }, /* c10::ScalarType: collectives of Kineto */
    { "int", LPO_INT32 },
    { "short", LPO_INT16 },
    { "byte", LPO_INT8 },
    { "char", LPO_INT8 },
    { "u64", LPO_INT64 },
    { "i32", LPO_INT32 },
    { "u32", LPO_INT32 },
    { "i16", LPO_INT16 },
    { "u16", LPO_INT16 },
    { "i8", LPO_INT8 },
    { "u8", LPO_INT8 },
    { "uint8", LPO_INT8 },
};

enum lpo_dtype lpo_dtype_parse(const char *text)
{
    if (strncasecmp(text, "torch.", 6) == 0)
        text += 6;
    for (int i = 1; i < LPO_DTYPES; i++)
        if (strcasecmp(text, formats[i].name) == 0)
            return (enum lpo_dtype)i;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strcasecmp(text, spellings[i].text) == 0)
            return spellings[i].dtype;
    return LPO_DTYPE_NONE;
}

const char *lpo_dtype_name(enum lpo_dtype t)
{
    return formats[(unsigned)t < LPO_DTYPES ? t : LPO_DTYPE_NONE].name;
}

unsigned lpo_dtype_bits(enum lpo_dtype t)
{
    return formats[(unsigned)t < LPO_DTYPES ? t : LPO_DTYPE_NONE].bits;
}

double lpo_dtype_bytes(enum lpo_dtype t)
{
    return lpo_dtype_bits(t) / 8.0;
}
