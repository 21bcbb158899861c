/* SPDX-License-Identifier: Apache-2.0 */
/* util/dtype.h - number formats: their names in the wild and their width.
 *
 * Widths are in bits because 4-bit formats exist; block formats (GGUF) carry their scales, so
 * their width is a ratio of a block's bytes to its elements. */
#pragma once

#include "util/base.h"

enum lpo_dtype {
    LPO_DTYPE_NONE, /* not said */
    LPO_FP64,
    LPO_FP32,
    LPO_TF32, /* a rate, not a storage format: stored as fp32 */
    LPO_FP16,
    LPO_BF16,
    LPO_FP8,
    LPO_FP4,
    LPO_INT64,
    LPO_INT32,
    LPO_INT16,
    LPO_INT8,
    LPO_INT4,
    LPO_BOOL,
    LPO_DTYPES,
};

/* Knows "bf16", "bfloat16", "torch.bfloat16", "BF16", "F8_E4M3", "float32", …; LPO_DTYPE_NONE when
 * it does not. */
enum lpo_dtype lpo_dtype_parse(const char *text);
const char *lpo_dtype_name(enum lpo_dtype t); /* "bf16"; "unknown" for LPO_DTYPE_NONE */
unsigned lpo_dtype_bits(enum lpo_dtype t);    /* 0 for LPO_DTYPE_NONE */
double lpo_dtype_bytes(enum lpo_dtype t);
