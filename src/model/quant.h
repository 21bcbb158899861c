/* SPDX-License-Identifier: Apache-2.0 */
/* model/quant.h - in how many bits a checkpoint stores which of its products.
 *
 * From `quantization_config` of a config.json, or from the hf_quant_config.json beside it: one
 * format for all products of the layers, patterns of those that keep theirs, or a list that gives
 * each its own. Routers and the head keep theirs unless they are listed. */
#pragma once

#include "model/op.h"

struct lpo_json;
struct lpo_model_quant;

/* The member that a reader adds to a config for the file beside it. */
#define LPO_QUANT_BESIDE "hf_quant_config"

/* *out is NULL where nothing is quantised. Fails on a method whose width lpo does not know. */
int lpo_model_quant_create(const struct lpo_json *config, struct lpo_model_quant **out,
                           struct lpo_err *err);
void lpo_model_quant_destroy(struct lpo_model_quant *q); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_model_quant);

/* The format of the product `name` ("model.layers.3.mlp.experts.down_proj"); its dtype is NONE for
 * one that is not quantised. `q` may be NULL. */
struct lpo_weight_format lpo_model_quant_of(const struct lpo_model_quant *q, const char *name,
                                            enum lpo_op_kind kind);
/* Of what no list or pattern names: of most weights. */
enum lpo_dtype lpo_model_quant_main(const struct lpo_model_quant *q);
/* Of the cache; NONE where the config does not say. */
enum lpo_dtype lpo_model_quant_cache(const struct lpo_model_quant *q);
