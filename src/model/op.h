/* SPDX-License-Identifier: Apache-2.0 */
/* model/op.h - what a model is made of: tensors it stores and operations it runs.
 *
 * Both are flat lists, filled by one walk over the model (model/walk.h). An operation belongs
 * to one phase: a prefill, one decode step, one pass of the vision part. Counts are elements, not
 * bytes: the number formats are chosen later. */
#pragma once

#include "util/dtype.h"

enum lpo_op_kind {
    LPO_OP_PROJECTION, /* into and out of attention */
    LPO_OP_SCORES,     /* queries times keys */
    LPO_OP_VALUES,     /* weights times values */
    LPO_OP_MLP,
    LPO_OP_ROUTER,
    LPO_OP_EXPERTS,
    LPO_OP_HEAD,
    LPO_OP_CONV,
    LPO_OP_ROTARY, /* frequencies times positions, as the framework computes them */
    LPO_OP_MOVE,   /* no products: embeddings, norms */
    LPO_OP_KINDS,
};

/* The PyTorch operator a product runs as; what `--counting framework` sums by. */
enum lpo_aten {
    LPO_ATEN_NONE,
    LPO_ATEN_MM,
    LPO_ATEN_ADDMM,
    LPO_ATEN_BMM,
    LPO_ATEN_CONV,
    LPO_ATENS
};

enum lpo_model_block {
    LPO_BLOCK_EMBED,
    LPO_BLOCK_ATTN,
    LPO_BLOCK_MLP,
    LPO_BLOCK_NORM,
    LPO_BLOCK_HEAD,
    LPO_BLOCK_NECK,
    LPO_BLOCK_PROJECTOR,
    LPO_BLOCK_OTHER,
    LPO_BLOCKS,
};

const char *lpo_model_op_kind_name(enum lpo_op_kind k);   /* "projection", "scores", … */
const char *lpo_model_aten_name(enum lpo_aten a);         /* "aten.mm", …; NULL for none */
const char *lpo_model_block_name(enum lpo_model_block b); /* "embed", "attn", "mlp", "lm_head", … */

/* Where in the model a tensor or an operation is. */
struct lpo_model_place {
    int part;  /* into the model's parts: "decoder", "sam", "clip", "projector" … */
    int layer; /* -1: outside the layers */
    enum lpo_model_block block;
};

/* How weights are stored: bits with their scales. NONE: as the model's dtype. */
struct lpo_weight_format {
    enum lpo_dtype dtype;
    double bits;
    bool storage_only; /* products are in the model's dtype */
};

#define LPO_TENSOR_DIMS 4

struct lpo_tensor {
    const char *name; /* its name in the framework's state_dict */
    uint64_t shape[LPO_TENSOR_DIMS];
    int dims;
    uint64_t count; /* elements */
    struct lpo_model_place at;
    bool tied;        /* another name for weights already counted */
    uint32_t experts; /* > 0: stacked experts, of which … */
    uint32_t active;  /* … this many are used for one token */
    uint64_t ways;    /* tensor parallelism can divide it at most this often */
    bool looked_up;   /* an embedding: a token uses one row */
    struct lpo_weight_format format;
};

struct lpo_model_op {
    const char *name; /* the module that runs it */
    struct lpo_model_place at;
    enum lpo_op_kind kind;
    enum lpo_aten aten;
    uint64_t flops;               /* 2 per multiply-add */
    double weights;               /* elements of weights read; a mean where routing decides */
    uint64_t reads, writes;       /* activation elements */
    uint64_t kv_reads, kv_writes; /* cache elements */
    uint64_t ways; /* tensor parallelism can divide it at most this often; 1: every rank does all */
    uint64_t kv_ways;                /* the same for its part of the cache; 0 where it has none */
    struct lpo_weight_format format; /* of its weights, and so of its products */
};

typedef LPO_VEC(struct lpo_tensor) lpo_tensor_vec;
typedef LPO_VEC(struct lpo_model_op) lpo_model_op_vec;
