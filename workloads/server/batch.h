/* SPDX-License-Identifier: Apache-2.0 */
/* server/batch.h - continuous batching around the toy model.
 *
 * Sequences of different lengths share a batch, and join and leave it between two steps. A step
 * runs the prompts of those that joined, one after the other, then one token of all the others
 * together. Ranges: `step` (its payload: sequences in the batch) with `prefill` (tokens of the
 * prompt) and `decode` (sequences) inside, and the model's own inside those. */
#pragma once

#include <stdbool.h>

#include "toy/options.h"
#include "util/auto.h"

struct lpo_err;
struct toy_batch;

/* A token of the sequence that `owner` brought; `last`: its place is free again. */
typedef void toy_emit_fn(void *owner, int token, bool last);

/* As many sequences as o->batch. Borrows `o`. */
int toy_batch_create(const struct toy_options *o, struct toy_batch **out, struct lpo_err *err);
void toy_batch_destroy(struct toy_batch *b); /* NULL is fine */
LPO_AUTO_DEFINE(toy_batch);

/* True when the sequence joins at the next step; false: there is no room now. The prompt is copied.
 * Fails (LPO_E_RANGE, no room needed) when prompt and answer can never fit. */
int toy_batch_check(const struct toy_batch *b, const int *prompt, int count, int answer,
                    struct lpo_err *err);
bool toy_batch_join(struct toy_batch *b, const int *prompt, int count, int answer, void *owner);
/* The sequence of `owner`, if there is one, is dropped: nobody waits for it any more. */
void toy_batch_leave(struct toy_batch *b, const void *owner);
int toy_batch_active(const struct toy_batch *b);

/* One step. `emit` must not call toy_batch_join(). */
int toy_batch_step(struct toy_batch *b, toy_emit_fn *emit, struct lpo_err *err);
