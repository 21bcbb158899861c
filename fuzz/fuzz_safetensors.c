/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file: any bytes, before a data part of any size. */
#include <stdint.h>
#include <stdlib.h>

#include "model/read/read.h"
#include "util/arena.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    lpo_stored_vec out = { 0 };
    struct lpo_err err = { 0 };
    uint64_t room = size ? (uint64_t)data[0] << 4 : 0;
    int rc = lpo_model_safetensors_parse(arena, (const char *)data, size, room, &out, &err);

    if (rc < 0 && !*lpo_err_cause(&err))
        abort();
    for (size_t i = 0; rc == 0 && i < out.len; i++)
        if (out.at[i].bytes > room)
            abort();
    lpo_model_guess(arena, out.at, out.len);
    lpo_vec_free(&out);
    return 0;
}
