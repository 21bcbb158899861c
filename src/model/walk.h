/* SPDX-License-Identifier: Apache-2.0 */
/* model/walk.h - the building blocks every family is made of.
 *
 * A walk visits every module of a model once and names it; each block adds the tensors it stores
 * and the operations it runs in one phase. What a block counts is decided here and nowhere else:
 * `LPO_COUNT_FRAMEWORK` is what PyTorch's counter sees (every score of the square, the head on
 * every position, the rotary product), `LPO_COUNT_MODEL` is what the model needs (causal half,
 * windows, the head where a token is drawn). */
#pragma once

#include "model/op.h"

struct lpo_model_quant;

enum lpo_counting { LPO_COUNT_MODEL, LPO_COUNT_FRAMEWORK };

/* What runs. Tokens are per sequence; `batch` sequences (or images) run together. */
struct lpo_phase {
    uint64_t batch;
    uint64_t tokens; /* new ones: the prompt, or 1 */
    uint64_t cached; /* already in the cache */
    uint64_t image;  /* pixels a side; vision parts only */
    enum lpo_counting counting;
    bool head_all; /* logits of every position, not of the last */
    bool absorb;   /* MLA: keys' and values' expansion folded into query and output */
    bool flash;    /* attention keeps its scores on the chip */
};

struct lpo_walk {
    struct lpo_arena *arena;
    const struct lpo_phase *phase;
    const struct lpo_model_quant *quant; /* NULL: nothing is quantised */
    lpo_tensor_vec *tensors;             /* NULL: not wanted */
    lpo_model_op_vec *ops;               /* NULL: not wanted */
    struct lpo_model_place at;
    struct lpo_str path; /* of the module around: "model.layers.3." */
};

/* Enter "layers.3" below the current module; pass what it returns to leave(). */
size_t lpo_model_walk_enter(struct lpo_walk *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void lpo_model_walk_leave(struct lpo_walk *w, size_t mark);

/* A bare tensor; unused dimensions are 0. */
void lpo_model_walk_tensor(struct lpo_walk *w, const char *name, uint64_t a, uint64_t b, uint64_t c,
                           uint64_t d);

struct lpo_linear {
    const char *name;
    uint64_t in, out;
    bool bias;
    bool in_first;   /* stored [in, out] */
    bool bias_after; /* the product runs without its bias (mm, not addmm) */
    bool tied;
    const char *weight; /* its tensor's name, when that is not "<name>.weight" */
    enum lpo_op_kind kind;
    uint64_t ways;
};

/* A matrix product over `rows` vectors; rows 0 stores the weights and runs nothing. */
void lpo_model_walk_linear(struct lpo_walk *w, const struct lpo_linear *l, uint64_t rows);

/* Root-mean-square (weight) or layer norm (weight and bias) over `width`, for `rows` vectors. */
void lpo_model_walk_norm(struct lpo_walk *w, const char *name, uint64_t width, bool bias,
                         uint64_t rows);

/* A lookup of `rows` rows. */
void lpo_model_walk_embedding(struct lpo_walk *w, const char *name, uint64_t count, uint64_t width,
                              uint64_t rows);

struct lpo_conv {
    const char *name;
    uint64_t in, out, kernel;
    bool bias;
};

/* `pixels` output positions a sequence; 0 stores the weights and runs nothing. */
void lpo_model_walk_conv(struct lpo_walk *w, const struct lpo_conv *c, uint64_t pixels);

/* Scores and values of one attention layer. */
struct lpo_attention {
    uint64_t heads, kv_heads, qk_dim, v_dim;
    uint64_t tokens, cached; /* per sequence */
    uint64_t groups;         /* windows computed apart (SAM); 1 otherwise */
    uint64_t window;         /* keys a query may see at most; 0: all */
    bool causal;
    uint64_t kv_width; /* cache elements a token leaves in this layer; 0: no cache */
};

void lpo_model_walk_attention(struct lpo_walk *w, const struct lpo_attention *a);

/* Query-key pairs of one sequence, and the keys read for them: the two numbers that causal
 * halving, windows and caches change. */
uint64_t lpo_model_attention_pairs(const struct lpo_attention *a, enum lpo_counting counting);

/* Any other product. */
void lpo_model_walk_product(struct lpo_walk *w, const char *name, enum lpo_op_kind kind,
                            enum lpo_aten aten, uint64_t flops, uint64_t ways);
