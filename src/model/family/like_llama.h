/* SPDX-License-Identifier: Apache-2.0 */
/* model/family/like_llama.h - the names most families share, as Llama chose them.
 *
 * For the tables of rows alone: a row starts from these and overrides some of them. */
#pragma once

#include "model/family/family.h"

/* A row repeats a member of LIKE_LLAMA to override it, which this warning is about. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define LIKE_LLAMA                                                                                 \
    .root = "model", .embed = "embed_tokens", .layers = "layers", .final_norm = "norm",            \
    .head = "lm_head", .attn = "self_attn", .q = "q_proj", .k = "k_proj", .v = "v_proj",           \
    .o = "o_proj", .q_norm = "q_norm", .k_norm = "k_norm",                                         \
    .norms = "input_layernorm post_attention_layernorm", .mlp = "mlp", .gate = "gate_proj",        \
    .up = "up_proj", .down = "down_proj"

struct lpo_decoder_rows {
    const struct lpo_decoder_family *at;
    size_t count;
};

extern const struct lpo_decoder_rows lpo_model_dense_families, lpo_model_moe_families;
