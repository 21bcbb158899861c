/* SPDX-License-Identifier: Apache-2.0 */
/* reference/reference.h - how long a shape takes where it is done best, on a known GPU.
 *
 * A reference is one file of conf/references, made by scripts/make-references.py from published
 * measurements. Times are kept as ratios to the roofline of their shape, on grids; a shape between
 * the points of a grid is interpolated, one outside is scaled by its roofline and says so. Read
 * once, after that only asked: threads may share it. */
#pragma once

#include "model/needs.h"

struct lpo_reference;

enum lpo_reference_kind {
    LPO_REF_GEMM,
    LPO_REF_CONTEXT_ATTENTION,    /* of a prefill */
    LPO_REF_GENERATION_ATTENTION, /* of one new token a request */
    LPO_REF_CONTEXT_MLA,
    LPO_REF_GENERATION_MLA,
    LPO_REF_MOE, /* routed experts of one layer: both products */
    LPO_REF_NCCL,
    LPO_REF_KINDS,
};

#define LPO_REF_COLUMNS 10

/* The columns of a kind, in the order of a shape's values: "m", "num_heads" … */
struct lpo_reference_column {
    const char *name;
    bool word;    /* its value is an index into the kind's words */
    double usual; /* where a shape does not say; below 0: it must */
};

const char *lpo_reference_kind_name(enum lpo_reference_kind k);
/* Ends with a column whose name is NULL. */
const struct lpo_reference_column *lpo_reference_columns(enum lpo_reference_kind k);

int lpo_reference_load(const char *path, struct lpo_reference **out, struct lpo_err *err);
void lpo_reference_destroy(struct lpo_reference *r); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_reference);

/* The file for an entry of conf/hardware, for a GPU's name among the references or a path; NULL
 * where there is none. `dirs` as for hardware sheets. */
const char *lpo_reference_path(struct lpo_arena *a, const char *const *dirs, const char *gpu);

const char *lpo_reference_source(const struct lpo_reference *r);
const char *lpo_reference_gpu(const struct lpo_reference *r);
/* The value that stands for a word in a shape; below 0: this reference does not have it. */
double lpo_reference_word(const struct lpo_reference *r, enum lpo_reference_kind k,
                          const char *word);

struct lpo_reference_answer {
    double best_us;
    double error; /* nine of ten shapes of this kind, type and size were nearer; NAN outside */
    bool inside;  /* of what was measured */
    double roofline_us;
    bool compute; /* the roofline is that of the products, not of the bytes */
};

/* False where the reference has nothing like it. Under a microsecond. */
bool lpo_reference_ask(const struct lpo_reference *r, enum lpo_reference_kind k,
                       const double shape[LPO_REF_COLUMNS], struct lpo_reference_answer *out);

/* A kernel in the terms of a trace or a model. What a kind does not need is ignored. */
struct lpo_reference_work {
    enum lpo_reference_kind kind;
    enum lpo_dtype dtype;    /* of the products */
    enum lpo_dtype kv_dtype; /* NONE: as dtype */
    const char *variant;     /* "fp8_block", "int4_wo": instead of dtype, or NULL */
    double m, n, k;
    double batch, tokens, cached, heads, kv_heads, head_dim, window;
    double hidden, inter, top_k, experts, tp, ep; /* MoE: `tokens` are all that are routed */
    const char *collective;                       /* "all_reduce", "all_gather", "alltoall" … */
    double ranks, bytes;
};

/* The best time measured for this work. False, and that is silence, where the reference does not
 * have the kind or the type. */
bool lpo_reference_best(const struct lpo_reference *r, const struct lpo_reference_work *w,
                        struct lpo_reference_answer *out);

/* What a model would do on a server of GPUs whose kernels were measured.
 *
 * A step is the sum of its kernels at their best measured times, what the ranks exchange, and what
 * a framework adds; the constants of the last two were fitted on half of the published servers
 * (docs/references.md). One token of each request costs a decode step and its part of the prefills
 * of requests that arrive meanwhile. A queue in front of the server is not in any number. */
enum lpo_serving_part {
    LPO_SERVING_ATTENTION,   /* scores and values over the cache */
    LPO_SERVING_PROJECTIONS, /* into and out of attention */
    LPO_SERVING_MLP,         /* shared experts too */
    LPO_SERVING_EXPERTS,     /* routed ones with their router */
    LPO_SERVING_EXCHANGE,    /* all-reduces between the ranks */
    LPO_SERVING_HEAD,
    LPO_SERVING_FRAMEWORK, /* small kernels, launches, scheduling */
    LPO_SERVING_PARTS,
};

enum lpo_serving_bound {
    LPO_SERVING_COMPUTE,
    LPO_SERVING_MEMORY,
    LPO_SERVING_LINK,
    LPO_SERVING_LATENCY, /* kernels too small for either: under a third of their roofline */
};

struct lpo_serving_time {
    double us;
    double outside_us; /* the part of `us` whose shapes are beyond what was measured */
    enum lpo_serving_bound bound;
};

struct lpo_serving_phase {
    struct lpo_serving_time part[LPO_SERVING_PARTS];
    double us; /* sum of the parts; NAN where a part is unknown */
};

struct lpo_serving {
    const char *framework;
    /* Layers that no table has, as "sparse attention"; NULL: every part is known. Then the totals
     * are NAN and the parts are those that are known. */
    const char *unknown;
    struct lpo_serving_phase prefill; /* of one request */
    struct lpo_serving_phase decode;  /* a step of the whole batch, half of the output generated */
    double ttft_ms, tpot_ms;          /* without a queue; while others' prefills take part */
    double tokens_per_second;         /* generated, of the whole server */
};

/* "any", "vllm" …; NULL past the last. */
const char *lpo_reference_framework(int i);
const char *lpo_reference_serving_part(enum lpo_serving_part p);
const char *lpo_reference_serving_bound(enum lpo_serving_bound b);

/* Microseconds of one block of one layer (-1: none, the head) in one pass of a phase, on one rank
 * and without what ranks exchange. NAN: a kernel of it was not measured, or there is no such block.
 * A head wider than those that were measured is scaled by its roofline. */
double lpo_reference_block(const struct lpo_reference *r, const struct lpo_model_needs *n,
                           enum lpo_phase_kind phase, struct lpo_model_place at);

/* For the prompt, output, batch and ranks of n->options. False where the model generates nothing or
 * the framework is unknown; NULL is the mean of all. */
bool lpo_reference_serve(const struct lpo_reference *r, const struct lpo_model_needs *n,
                         const char *framework, struct lpo_serving *out);
