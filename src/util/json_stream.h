/* SPDX-License-Identifier: Apache-2.0 */
/* util/json_stream.h - JSON of any size from a file, one value in memory at a time.
 *
 * The caller hands over a function that reads one value (or one key, or one bracket) with
 * util/json_pull. When the text at hand ends inside it, more is fetched and the function runs
 * again from the start of the value: it must not have side effects before its last pull. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"
#include "util/json_pull.h"

struct lpo_err;
struct lpo_input;
struct lpo_json_stream;

typedef int (*lpo_json_fn)(struct lpo_pull *q, void *ctx);

/* `limit`: the largest single value, in bytes. */
int lpo_json_stream_open(const char *path, enum lpo_pull_mode mode, size_t limit,
                         struct lpo_json_stream **out, struct lpo_err *err);
void lpo_json_stream_destroy(struct lpo_json_stream *s); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_json_stream);

/* What `fn` returned. LPO_PULL_MORE: the whole text ends inside the value. LPO_E_LIMIT: the value
 * is too large. LPO_E_IO: reading failed. After a failure the place is where the value began. */
int lpo_json_stream_read(struct lpo_json_stream *s, lpo_json_fn fn, void *ctx, struct lpo_err *err);
/* The same in another mode, for one value. */
int lpo_json_stream_read_as(struct lpo_json_stream *s, enum lpo_pull_mode mode, lpo_json_fn fn,
                            void *ctx, struct lpo_err *err);

/* Takes a bracket that opens, and returns it; any other character is returned and stays. */
int lpo_json_stream_bracket(struct lpo_json_stream *s, struct lpo_err *err);
/* The next key of the object: 1, and whether it is `wanted`; 0 at its end. *first: none was read.
 */
int lpo_json_stream_key(struct lpo_json_stream *s, bool *first, const char *wanted, bool *is_wanted,
                        struct lpo_err *err);

/* Passes over one value of any size, in constant memory. */
int lpo_json_stream_skip(struct lpo_json_stream *s, struct lpo_err *err);

/* After a broken value, at it or at the comma before it: goes on to the next place that looks like
 * the start of an object in a list. Returns 1 there (as before lpo_json_pull_item() took the comma:
 * the comma is behind us), 0 when the text ends first. */
int lpo_json_stream_resync(struct lpo_json_stream *s, struct lpo_err *err);

uint64_t lpo_json_stream_offset(const struct lpo_json_stream *s); /* of the place, in bytes */
/* What is wrong with the compressed data, or NULL. */
const char *lpo_json_stream_damage(const struct lpo_json_stream *s);
