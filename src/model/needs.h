/* SPDX-License-Identifier: Apache-2.0 */
/* model/needs.h - what a model must compute and move, and how fast that could go.
 *
 *     struct lpo_needs_options o = lpo_model_needs_defaults();
 *     o.seq = 2048;
 *     o.hardware = &h200;
 *     lpo_model_needs_create(config_json, &o, &needs, &err);
 *
 * Three phases: a prefill of `seq` tokens, one decode step with `context` tokens cached, one pass
 * of the vision part. For each: operations one by one, sums by kind, bytes, and the least time on
 * the hardware. Every choice that changes a number is in `options` and printed with the result. */
#pragma once

#include "gpu/hardware.h"
#include "model/model.h"
#include "model/op.h"

struct lpo_json;

enum lpo_mla { LPO_MLA_AUTO, LPO_MLA_ABSORBED, LPO_MLA_EXPANDED };

struct lpo_needs_options {
    uint64_t seq, context, batch, image; /* 0: seq 1024, context = seq, batch 1, the config's */
    uint64_t parts, part; /* further views of every image, and their side in pixels; 0: none */
    uint64_t output; /* tokens generated after the prompt: the context is then half of them later,
                      * and the cache must hold all; 0: not said */
    enum lpo_counting counting;
    enum lpo_dtype dtype, kv_dtype; /* NONE: the config's, else bf16; kv: as dtype */
    uint64_t tp;                    /* tensor-parallel ranks; 0 and 1: one */
    uint64_t ep; /* of them, groups that experts are spread over: reference/reference.h alone */
    enum lpo_mla mla;                    /* AUTO: absorbed in decode, unless framework */
    bool head_all;                       /* logits of every position (always so in framework) */
    bool unfused;                        /* attention writes its scores to memory */
    bool strict;                         /* see struct lpo_model_options */
    double weight_bytes;                 /* as stored in files; 0: from the dtype */
    const struct lpo_hardware *hardware; /* NULL: no times; must outlive the needs */
};

struct lpo_sums {
    uint64_t flops;
    uint64_t by_kind[LPO_OP_KINDS], by_aten[LPO_ATENS];
    double weight_bytes, activation_bytes, kv_bytes;
    double seconds;                         /* at the limit; 0 without hardware */
    double compute_seconds, memory_seconds; /* flops / peak and bytes / bandwidth, each summed */
};

enum lpo_phase_kind { LPO_PREFILL, LPO_DECODE, LPO_IMAGE, LPO_PHASES };

struct lpo_phase_result {
    bool present;
    struct lpo_phase phase;
    lpo_model_op_vec ops;
    struct lpo_sums all;             /* of the whole model */
    struct lpo_sums rank;            /* of the busiest rank (rank.h); equals `all` when tp is 1 */
    double comm_bytes, comm_seconds; /* a rank sends, and how long on the link; 0: not known */
};

struct lpo_model_memory {
    double weights, kv_per_token, kv, activations, peak; /* bytes, one rank */
    double kv_model;                                     /* the cache of the whole model */
    uint64_t max_batch, max_context;                     /* that fit; 0 without hardware */
    bool fits;
};

struct lpo_model_needs {
    struct lpo_arena *arena;
    struct lpo_needs_options options; /* as used: every 0 and NONE resolved */
    const struct lpo_model *model;
    lpo_tensor_vec tensors;
    uint64_t params;           /* without further prediction heads */
    uint64_t active_params;    /* of the decoder, used for one token: of experts those chosen, of a
                                * model with experts without the rows of the embedding */
    uint64_t predictor_params; /* heads that predict tokens ahead (MTP); in no other number */
    struct lpo_model_quant
        *quant;                   /* how the config says weights are stored; NULL: all as `plain` */
    enum lpo_dtype plain;         /* of weights that are not quantised */
    uint64_t kv_elements;         /* one token leaves in the cache */
    enum lpo_dtype compute_dtype; /* the hardware's unit used for products */
    struct lpo_phase_result phase[LPO_PHASES];
    struct lpo_model_memory memory;
    uint64_t mla_flops[2]; /* one decode step: absorbed, expanded; 0 without MLA */
};

struct lpo_needs_options lpo_model_needs_defaults(void);

/* `config` is borrowed: it must outlive the needs. Fails when the model cannot be read (see
 * lpo_model_create) or is beyond counting in 64 bits. */
int lpo_model_needs_create(const struct lpo_json *config, const struct lpo_needs_options *options,
                           struct lpo_model_needs **out, struct lpo_err *err);
void lpo_model_needs_destroy(struct lpo_model_needs *a); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_model_needs);

/* Sums over the operations that `keep` accepts (NULL: all), for one rank of `tp`. */
struct lpo_sums lpo_model_needs_sum(const struct lpo_model_needs *a,
                                    const struct lpo_phase_result *p, uint64_t tp,
                                    bool (*keep)(const struct lpo_model_op *op, void *arg),
                                    void *arg);
/* Adds operations that follow each other to `sums`, for one rank of `tp`. */
void lpo_model_needs_add(const struct lpo_model_needs *a, const struct lpo_model_op *ops,
                         size_t count, uint64_t tp, struct lpo_sums *sums);

/* "prefill", "decode", "vision" */
const char *lpo_model_phase_name(enum lpo_phase_kind kind);
/* Bytes of one weight. */
double lpo_model_format_bytes(const struct lpo_model_needs *a, const struct lpo_weight_format *f);
double lpo_model_sums_bytes(const struct lpo_sums *s);

/* One block of the model: "decoder/layer3/attn", "sam/neck". */
struct lpo_module {
    const char *name;
    struct lpo_model_place at;
    uint64_t params, active_params;
    struct lpo_sums sums[LPO_PHASES]; /* of the whole model */
    struct lpo_sums rank[LPO_PHASES]; /* of the busiest rank; the same when tp is 1 */
};

typedef LPO_VEC(struct lpo_module) lpo_module_vec;

/* Rows follow the model's order; a block that has no tensors and runs nothing has no row. Names
 * live in the arena; free the rows with lpo_vec_free(). */
void lpo_model_modules_list(struct lpo_arena *a, const struct lpo_model_needs *needs,
                            lpo_module_vec *out);
