/* SPDX-License-Identifier: Apache-2.0 */
/* toy/model.h - the toy decoder on the CPU, with its key/value cache.
 *
 * A session holds the cache of `batch` sequences that advance together. Feed it the prompt in one
 * call and then one token at a time: each call continues where the last one ended. Ranges opened:
 * `layerN` with `attn` and `mlp` inside, then `lm_head`. */
#pragma once

#include "toy/ranges.h"
#include "toy/weights.h"

struct toy_pool;
struct toy_session;

/* Borrows weights, pool and ranges. */
struct toy_session *toy_session_create(const struct toy_weights *w, int batch,
                                       struct toy_pool *pool, const struct toy_ranges *ranges);
void toy_session_destroy(struct toy_session *s); /* NULL is fine */
LPO_AUTO_DEFINE(toy_session);

/* Forgets the sequences, keeps the memory. */
void toy_session_reset(struct toy_session *s);
void toy_session_reset_one(struct toy_session *s, int sequence);

/* Appends `count` tokens to every sequence (tokens[b * count + t]) and writes the logits that
 * follow the last one, logits[b * vocab + v]. Fails when the context is full or a token is not
 * in the vocabulary. */
int toy_forward(struct toy_session *s, const int *tokens, int count, float *logits,
                struct lpo_err *err);
/* The same for `active` of the sequences, which may have different lengths by now: a batch that
 * sequences join and leave between two steps. */
int toy_forward_some(struct toy_session *s, const int *sequences, int active, const int *tokens,
                     int count, float *logits, struct lpo_err *err);
