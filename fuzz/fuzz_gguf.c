/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a GGUF file, the config made from it, and the model read from that. */
#include <stdint.h>
#include <stdlib.h>

#include "model/needs.h"
#include "model/read/read.h"
#include "util/arena.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_needs_options o = { .seq = 16 };
    LPO_AUTO(lpo_model_needs) needs = NULL;
    lpo_gguf_values values = { 0 };
    lpo_stored_vec tensors = { 0 };
    struct lpo_err err = { 0 };
    bool more = false;
    int rc = lpo_model_gguf_parse(arena, data, size, size + 4096, &values, &tensors, &more, &err);

    if (rc < 0 && !*lpo_err_cause(&err))
        abort();
    if (rc == 0) {
        const struct lpo_json *config = lpo_model_gguf_config(arena, &values, &tensors);

        if (!config)
            abort();
        lpo_model_needs_create(config, &o, &needs, &err);
    }
    lpo_vec_free(&values);
    lpo_vec_free(&tensors);
    return 0;
}
