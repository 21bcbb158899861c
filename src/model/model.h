/* SPDX-License-Identifier: Apache-2.0 */
/* model/model.h - a model's architecture, from its config and independent of its spelling.
 *
 * A model is a decoder, vision parts, a projector between them, or any of these alone. It is
 * plain numbers; lpo_model_walk() turns it into tensors and operations for one phase. Nothing here
 * touches a file. */
#pragma once

#include "model/family/family.h"
#include "model/walk.h"

struct lpo_json;

enum lpo_model_layer_kind {
    LPO_LAYER_ATTENTION, /* heads over a cache of keys and values */
    LPO_LAYER_LATENT,    /* … of one short vector a token (MLA) */
    LPO_LAYER_COMPRESSED, /* … of one vector for each token near by, and one for several far away */
    LPO_LAYER_DELTA,      /* linear attention: a state per head instead of a cache */
    LPO_LAYER_KDA,        /* … with a gate for every channel (Kimi) */
    LPO_LAYER_MAMBA,      /* Mamba-2's state space */
    LPO_LAYER_LINEAR,     /* one product (searched architectures) */
    LPO_LAYER_MLP,
    LPO_LAYER_EXPERTS,
};

/* One block of a layer and its widths. What a kind does not have is 0. */
struct lpo_model_layer_block {
    enum lpo_model_layer_kind kind;
    uint64_t heads, kv_heads, head_dim, v_dim;    /* linear attention: value heads, key heads */
    uint64_t q_rank, kv_rank, nope_dim, rope_dim; /* MLA when kv_rank > 0 */
    uint64_t o_rank, o_groups;                    /* an output in two steps */
    uint64_t window;                              /* keys a query sees at most; 0: all */
    uint64_t index_heads, index_dim, top_keys; /* sparse attention picks so many keys for a query */
    uint64_t compress;                         /* tokens that one cached vector stands for */
    uint64_t state, conv, groups;              /* of linear attention and state spaces */
    bool gated;                                /* the output is multiplied with a product's */
    bool keys_are_values, borrows_cache;       /* no product for values; none for both */
    bool plain;                                /* MLP and experts: without a gate */
    uint64_t inter;
    uint64_t experts, top_k, expert_inter, shared_inter;
    uint64_t expert_hidden; /* experts work on vectors this wide; 0: on the model's */
};

#define LPO_LAYER_BLOCKS 3

struct lpo_model_layer {
    struct lpo_model_layer_block block[LPO_LAYER_BLOCKS];
    int count;
};

/* A stack of text layers. */
struct lpo_model_decoder {
    const struct lpo_decoder_family *family;
    struct lpo_fields *fields;
    const char *root;
    uint64_t hidden, layers, vocab, positions;
    uint64_t rotary_dim, rotary_products;
    uint64_t pooled_out;
    uint64_t layer_input,
        layer_vocab;     /* an embedding of its own for every layer (Gemma); 0: none */
    uint64_t streams;    /* residual streams that are mixed (hyper-connections) */
    uint64_t predictors; /* further heads that predict tokens ahead; not in any sum */
    bool tied, headless; /* headless: the base model alone, as "LlamaModel" is */
    struct lpo_model_layer_block base; /* widths as the config gives them for the whole model */
    struct lpo_model_layer *layer;
    int part;
};

/* Elements that one token leaves in the cache of this block, on one of `tp` ranks, and elements of
 * a state that a sequence keeps however long it is. */
uint64_t lpo_model_block_state(const struct lpo_model_layer_block *b, uint64_t tp);

/* A stack of image layers. */
struct lpo_model_vision {
    const struct lpo_vision_family *family;
    struct lpo_fields *fields;
    const char *root;
    uint64_t hidden, layers, heads, inter, image, patch, channels;
    bool swiglu;
    uint64_t window, neck; /* SAM */
    bool *global;          /* per layer: sees the whole image */
    uint64_t down[2];      /* channels of further convolutions with stride 2; 0: none */
    uint64_t fed; /* > 0: takes its patches from the part before, one for so many pixels a side */
    uint64_t merge, out; /* patches a side that become one token for the decoder, and its width */
    uint64_t deep;       /* layers whose output the decoder gets as well, each through a merger */
    uint64_t classes;    /* > 0: a classifier instead of a pooler */
    int part;
};

enum lpo_projector_kind {
    LPO_PROJECTOR_NONE,
    LPO_PROJECTOR_LINEAR, /* one product with bias (DeepSeek-OCR) */
    LPO_PROJECTOR_POOLED, /* average pooling, norm, product (Gemma 3) */
    LPO_PROJECTOR_MLP,    /* two products (LLaVA) */
    LPO_PROJECTOR_DUAL,   /* one for image and one for text, on pooled vectors (CLIP) */
};

struct lpo_projector {
    enum lpo_projector_kind kind;
    const char *root;
    uint64_t in, out, text_in, tokens; /* tokens 0: as many as the vision part gives */
    int part;
};

#define LPO_MODEL_PARTS  6
#define LPO_MODEL_VISION 2
#define LPO_MODEL_EXTRA  4

struct lpo_model {
    const char *family;     /* "llama", "deepseek_v2", "generic" */
    const char *label;      /* "Llama" */
    const char *model_type; /* as in the config; may be NULL */
    bool guessed;           /* unknown family, read as a generic decoder */
    enum lpo_dtype dtype;   /* LPO_DTYPE_NONE: the config does not say */
    struct lpo_model_decoder *decoder;
    struct lpo_model_vision *vision[LPO_MODEL_VISION];
    int visions;
    struct lpo_projector projector;
    struct {
        const char *name;
        uint64_t count;
    } extra[LPO_MODEL_EXTRA]; /* single parameters: "logit_scale", "model.image_newline" */
    const char *parts[LPO_MODEL_PARTS];
    int nparts;
    const char *unknown; /* parts that the config has and lpo does not know: not in any sum */
    bool vision_guessed;
};

struct lpo_model_options {
    bool strict; /* no generic fallback: an unknown family is an error */
};

/* `config` is a parsed config.json. Everything lives in the arena. */
int lpo_model_create(struct lpo_arena *a, const struct lpo_json *config,
                     const struct lpo_model_options *options, struct lpo_model **out,
                     struct lpo_err *err);

enum lpo_side { LPO_TEXT = 1, LPO_VISION = 2 };

/* Adds tensors and operations of the chosen sides (a sum of enum lpo_side). */
void lpo_model_walk(const struct lpo_model *m, int sides, struct lpo_walk *w);

/* Pixels a side that the model is made for; 0 without a vision part. */
uint64_t lpo_model_image(const struct lpo_model *m);
/* Tokens that one image of that side becomes in the decoder; 0 without a vision part. */
uint64_t lpo_model_image_tokens(const struct lpo_model *m, uint64_t image);

/* For decoder.c: the blocks of every layer, from all forms in which configs say it. */
int lpo_model_layers_read(struct lpo_arena *a, struct lpo_model_decoder *d, struct lpo_err *err);

/* For model.c: the two walks. */
void lpo_model_decoder_walk(const struct lpo_model_decoder *d, struct lpo_walk *w);
void lpo_model_vision_walk(const struct lpo_model_vision *v, struct lpo_walk *w);
uint64_t lpo_model_vision_side(const struct lpo_model_vision *v,
                               uint64_t image); /* patches a side */
uint64_t lpo_model_vision_tokens(const struct lpo_model_vision *v,
                                 uint64_t image); /* of one image */

/* For model.c: the two parts from a config. */
int lpo_model_decoder_create(struct lpo_arena *a, const struct lpo_json *config,
                             const struct lpo_decoder_family *family,
                             struct lpo_model_decoder **out, struct lpo_err *err);
int lpo_model_vision_create(struct lpo_arena *a, const struct lpo_json *config,
                            const struct lpo_vision_family *family, struct lpo_model_vision **out,
                            struct lpo_err *err);
