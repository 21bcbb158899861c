/* SPDX-License-Identifier: Apache-2.0 */
/* model/read/gguf.h - the head of a GGUF file: metadata and the table of tensors.
 *
 * Versions 1 to 3, little-endian. Quantised types are blocks: so many elements in so many bytes,
 * scales included. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/read/read.h"

/* One metadata value that lpo may want: numbers and texts, and of arrays the length and, when they
 * hold numbers, the first and the largest. */
struct lpo_gguf_value {
    const char *key;
    const char *text; /* strings; NULL otherwise */
    double number;    /* numbers and booleans; arrays of numbers: the largest */
    uint64_t length;  /* arrays: items; 0 otherwise */
};

typedef LPO_VEC(struct lpo_gguf_value) lpo_gguf_values;

#define LPO_GGUF_MAX_ITEMS 1000000u /* metadata keys, and tensors */

/* LPO_E_LIMIT with *more set says that `len` bytes were not enough: give more of the file. */
int lpo_model_gguf_parse(struct lpo_arena *a, const void *bytes, size_t len, uint64_t file_bytes,
                         lpo_gguf_values *values, lpo_stored_vec *tensors, bool *more,
                         struct lpo_err *err);

/* The config.json that says the same as this metadata. */
const struct lpo_json *lpo_model_gguf_config(struct lpo_arena *a, const lpo_gguf_values *values,
                                             const lpo_stored_vec *tensors);

int lpo_model_gguf_read(struct lpo_arena *a, const char *path, const struct lpo_json **config,
                        lpo_stored_vec *tensors, struct lpo_err *err);

/* "Q4_K" and its block, by number; NULL for an unknown one. */
struct lpo_model_gguf_type {
    const char *name;
    unsigned elements, bytes;
};
const struct lpo_model_gguf_type *lpo_model_gguf_type(uint32_t id);
