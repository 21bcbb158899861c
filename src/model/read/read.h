/* SPDX-License-Identifier: Apache-2.0 */
/* model/read/read.h - a model on disk: its config and the headers of its weights.
 *
 * No weights are read: a safetensors file begins with a JSON table of its tensors, a GGUF file
 * with typed metadata and a table. The result is a config (a GGUF's metadata is translated to
 * the keys of a config.json) and the stored tensors with their exact sizes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/dtype.h"
#include "util/vec.h"

struct lpo_arena;
struct lpo_err;
struct lpo_json;

#define LPO_STORED_DIMS 8

/* One tensor of a file. */
struct lpo_stored {
    const char *name;
    const char *type;                /* as the file names it: "BF16", "Q4_K" */
    uint64_t shape[LPO_STORED_DIMS]; /* outermost first */
    unsigned dims;
    uint64_t count, bytes;
};

typedef LPO_VEC(struct lpo_stored) lpo_stored_vec;

struct lpo_model_files {
    const struct lpo_json *config;
    const char *config_path; /* where it came from; the weights' file when it was made from them */
    bool config_made;        /* there is no config.json: built from a header */
    bool config_guessed;     /* … and parts of it guessed from names and shapes of tensors */
    lpo_stored_vec tensors;  /* free with lpo_model_files_free() */
    uint64_t files;          /* weight files read */
    uint64_t params, bytes;  /* of `tensors` */
};

/* `path`: a folder with config.json and/or weights, a config.json, a .safetensors (or its index)
 * or a .gguf file. Text lives in the arena. */
int lpo_model_read(struct lpo_arena *a, const char *path, struct lpo_model_files *out,
                   struct lpo_err *err);
void lpo_model_files_free(struct lpo_model_files *f);

/* A config with Hugging Face's keys, from the names and shapes of tensors alone: enough to count
 * parameters and products. NULL when they do not look like a decoder's. */
const struct lpo_json *lpo_model_guess(struct lpo_arena *a, const struct lpo_stored *tensors,
                                       size_t count);
