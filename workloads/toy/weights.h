/* SPDX-License-Identifier: Apache-2.0 */
/* toy/weights.h - the toy model's shape and its seeded random weights.
 *
 * The model is a Llama in all but size: RMSNorm, rotary positions, grouped-query attention,
 * SwiGLU, untied head. Every weight is a function of (seed, tensor, index) alone, so the CPU
 * program, the CUDA program and the tests' reference make the same numbers without sharing more
 * than this file. A matrix is stored row-major as [out][in], the way Hugging Face stores it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"

struct lpo_err;

struct toy_config {
    int layers, hidden, heads, kv_heads, ffn, vocab;
    int context; /* positions a cache may hold: prompt plus new tokens */
    uint64_t seed;
};

#define TOY_ROPE_THETA 10000.0
#define TOY_NORM_EPS   1e-5

static inline int toy_head_dim(const struct toy_config *c)
{
    return c->hidden / c->heads;
}

static inline int toy_kv_dim(const struct toy_config *c)
{
    return toy_head_dim(c) * c->kv_heads;
}

/* Refuses impossible shapes: heads that do not divide, an odd head size, more than 2^31 weights. */
int toy_config_check(const struct toy_config *c, struct lpo_err *err);
/* The number of weights. Needs a checked config. */
size_t toy_param_count(const struct toy_config *c);

struct toy_layer {
    const float *attn_norm, *q, *k, *v, *o, *mlp_norm, *gate, *up, *down;
};

struct toy_weights {
    struct toy_config config;
    float *at; /* all of them, in the order of toy_tensor_at() */
    size_t count;
    const float *embed, *norm, *head;
    struct toy_layer *layers;
};

/* One tensor under its Hugging Face name; a vector has rows == 0. */
struct toy_tensor {
    char name[64];
    size_t offset; /* into toy_weights.at */
    size_t rows, cols;
};

size_t toy_tensor_count(const struct toy_config *c);
/* The i-th tensor in storage order. */
struct toy_tensor toy_tensor_at(const struct toy_config *c, size_t i);

/* Fills every weight from config->seed. The config must have been checked. */
struct toy_weights *toy_weights_create(const struct toy_config *config);
void toy_weights_destroy(struct toy_weights *w); /* NULL is fine */
LPO_AUTO_DEFINE(toy_weights);

/* 64 well-mixed bits for a pair of numbers: the one source of randomness of the toy. */
uint64_t toy_mix(uint64_t a, uint64_t b);
/* The same as a number in [0, 1). */
double toy_unit(uint64_t a, uint64_t b);
