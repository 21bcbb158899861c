/* SPDX-License-Identifier: Apache-2.0 */
/* model/family/family.h - model families as rows of data.
 *
 * A row of conf/rules/families.yaml says how one `model_type` names its modules, which of the
 * shared blocks it is made of and which config keys steer them; model/decoder.c and vision.c walk
 * any row. To add a family, add a row (and its class's defaults); only a block that no family has
 * yet needs code.
 *
 * Wherever a row says "key or yes": NULL is no, "yes" is yes, anything else is a boolean config
 * key. Where several rows have one model_type, the first whose `when` matches wins. */
#pragma once

#include "util/base.h"

struct lpo_fields;

enum lpo_qk_norm {
    LPO_QK_NORM_HEAD,     /* one weight of head_dim (Qwen3, Gemma 3) */
    LPO_QK_NORM_HEAD_LN,  /* … with a bias (Phi) */
    LPO_QK_NORM_WIDE,     /* one weight over all heads (OLMo 2) */
    LPO_QK_NORM_MATRIX,   /* a matrix of heads and head_dim (Cohere) */
    LPO_QK_NORM_PER_HEAD, /* a norm module per head (StableLM) */
};

enum lpo_mlp_form {
    LPO_MLP_GATED,       /* gate, up, down */
    LPO_MLP_GATED_FUSED, /* gate and up in one product */
    LPO_MLP_PLAIN,       /* up, down */
};

/* Which layers see only a window, when the config has no `layer_types`. */
enum lpo_window_rule {
    LPO_WINDOW_ALL, /* every layer, when sliding_window is set */
    LPO_WINDOW_NONE,
    LPO_WINDOW_PATTERN, /* every layer but each n-th: `window_every`, or sliding_window_pattern */
    LPO_WINDOW_ABOVE,   /* use_sliding_window, from max_window_layers on (Qwen2) */
};

/* How routed experts are stored, and what belongs to them. */
struct lpo_moe_names {
    const char *module;  /* around all of it; NULL: as the MLP's */
    const char *router;  /* "gate" */
    const char *experts; /* "experts" */
    bool router_bias;
    bool in_first; /* [experts, in, out] */
    bool expert_bias;
    const char *shared;      /* the shared experts' module, or NULL */
    const char *shared_gate; /* a product of width 1 that weighs them, or NULL */
    const char *correction;  /* a parameter [1, experts] below the router, or NULL */
};

struct lpo_decoder_family {
    const char *model_type; /* and others that are read the same, after '|' */
    const char *name;       /* for people */
    const char *when;       /* "key=value …", NULL: always */
    const char *defaults;   /* of the model class */
    const char *root;       /* module around everything but the head: "model" */
    const char *embed, *positions, *layers, *final_norm;
    const char *head; /* NULL: has none */
    const char *head_bias;
    const char *pooled; /* a dense layer on one token (text encoders), or NULL */
    const char *attn;
    const char *qkv; /* all three in one product; NULL: q, k, v apart */
    const char *q, *k, *v, *o;
    const char *qkv_bias, *o_bias; /* key or yes */
    bool in_first, bias_after;     /* see struct lpo_linear */
    const char *qk_norm;           /* key or yes */
    enum lpo_qk_norm qk_norm_form;
    const char *q_norm, *k_norm;
    const char *sinks; /* a parameter per head, or NULL */
    const char *norms; /* of a layer, separated by spaces */
    bool norm_bias;
    const char *mlp;
    enum lpo_mlp_form mlp_form;
    const char *gate, *up, *down;
    const char *mlp_bias;            /* key or yes */
    const struct lpo_moe_names *moe; /* NULL: dense */
    bool no_rotary;
    bool rotary_per_type; /* one product for each kind of layer (Gemma 3) */
    enum lpo_window_rule window;
    int window_every;
    bool bidirectional, no_cache; /* text encoders */
};

/* The part that turns an image into tokens. */
struct lpo_vision_family {
    const char *model_type;
    const char *name, *part; /* "CLIP", and the region people give it: "clip" */
    const char *when;
    const char *defaults;
    const char *root;
    const char *patch; /* convolution */
    bool patch_bias;
    const char *cls, *mask, *positions; /* parameters; NULL: none */
    const char *mask_when;              /* key or yes */
    bool cls_flat, mask_flat;           /* [width] and [1, width] instead of [1, 1, width] */
    bool positions_embedding;           /* [n, width] instead of [1, n, width] */
    const char *pre_norm, *post_norm;
    bool post_norm_pooled; /* only on the first token */
    const char *layers;
    const char *attn, *qkv, *q, *k, *v, *o;
    const char *qkv_bias;
    const char *norm1, *norm2;
    const char *scale1, *scale2; /* layer scale parameters */
    const char *mlp, *up, *down;
    const char *swiglu_when, *swiglu_up, *swiglu_down; /* a gated MLP */
    const char *merger;    /* joins neighbouring patches for the decoder (Qwen) */
    const char *pooler;    /* a dense layer on the first token */
    const char *pool_head; /* attention pooling (SigLIP) */
    const char *pool_when;
    bool windowed;               /* SAM: windows, relative positions, a neck */
    const char *classifier_root; /* the module around it under a classifier: "vit" */
    bool classifier_doubled;     /* takes the first token and the mean of the others */
};

/* The row for a config of this model_type, or NULL. */
const struct lpo_decoder_family *lpo_model_decoder_family_find(const char *model_type,
                                                               const struct lpo_fields *fields);
const struct lpo_vision_family *lpo_model_vision_family_find(const char *model_type,
                                                             const struct lpo_fields *fields);
/* The row any unknown vision transformer is read by. */
const struct lpo_vision_family *lpo_model_vision_family_generic(void);
/* The row any unknown decoder is read by: Llama's, with no defaults. */
const struct lpo_decoder_family *lpo_model_decoder_family_generic(void);

/* All rows, for help and tests. */
const struct lpo_decoder_family *lpo_model_decoder_family_at(size_t i); /* NULL past the last */
const struct lpo_vision_family *lpo_model_vision_family_at(size_t i);

/* A "key or yes" of a row. */
bool lpo_model_family_says(const struct lpo_fields *fields, const char *key_or_yes);
