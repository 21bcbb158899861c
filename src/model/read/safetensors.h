/* SPDX-License-Identifier: Apache-2.0 */
/* model/read/safetensors.h - the table at the head of a safetensors file.
 *
 * Eight bytes of length, little-endian, then JSON: { name: { dtype, shape, data_offsets } }. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/read/read.h"

#define LPO_SAFETENSORS_HEADER_MAX  (100u << 20) /* the format's own limit */
#define LPO_SAFETENSORS_TENSORS_MAX 1000000u

/* `header` is the JSON alone; `data_bytes` is what follows it in the file. Appends to `out`.
 * Offsets outside the file, shapes that overflow and sizes that do not fit their dtype are
 * errors. */
int lpo_model_safetensors_parse(struct lpo_arena *a, const char *header, size_t len,
                                uint64_t data_bytes, lpo_stored_vec *out, struct lpo_err *err);
int lpo_model_safetensors_read(struct lpo_arena *a, const char *path, lpo_stored_vec *out,
                               struct lpo_err *err);
