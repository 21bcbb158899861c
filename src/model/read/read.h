/* SPDX-License-Identifier: Apache-2.0 */
/* model/read/read.h - a model on disk: its config and the headers of its weights.
 *
 * No weights are read: a safetensors file begins with a JSON table of its tensors, a GGUF file
 * with typed metadata and a table. The result is a config (a GGUF's metadata is translated to
 * the keys of a config.json) and the stored tensors with their exact sizes. */
#pragma once

#include "util/dtype.h"

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

/* The table at the head of a safetensors file.
 *
 * Eight bytes of length, little-endian, then JSON: { name: { dtype, shape, data_offsets } }. */

#define LPO_SAFETENSORS_HEADER_MAX  (100u << 20) /* the format's own limit */
#define LPO_SAFETENSORS_TENSORS_MAX 1000000u

/* `header` is the JSON alone; `data_bytes` is what follows it in the file. Appends to `out`.
 * Offsets outside the file, shapes that overflow and sizes that do not fit their dtype are
 * errors. */
int lpo_model_safetensors_parse(struct lpo_arena *a, const char *header, size_t len,
                                uint64_t data_bytes, lpo_stored_vec *out, struct lpo_err *err);
int lpo_model_safetensors_read(struct lpo_arena *a, const char *path, lpo_stored_vec *out,
                               struct lpo_err *err);

/* The head of a GGUF file: metadata and the table of tensors.
 *
 * Versions 1 to 3, little-endian. Quantised types are blocks: so many elements in so many bytes,
 * scales included. */

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
