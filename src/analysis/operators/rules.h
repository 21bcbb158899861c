/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/operators/rules.h - which operator is of which kind; private to this folder.
 *
 * products.c, packed.c, experts.c, attention.c, scans.c and convolution.c have what each kind
 * computes and moves, moved.c those of which only bytes count, rules.c reads the operators by name
 * (conf/rules/operators.yaml), cost.c has the rules of the user. */
#pragma once

#include "util/dtype.h"

struct lpo_op_call;
struct lpo_operator_cost;
struct lpo_step_lengths;

enum { NOT_THERE = -1 }; /* no such argument */

/* How a rule differs from the others of its kind; rules.c has their words in this order. */
enum lpo_operators_how {
    TURNED = 1, /* the second matrix is [N, K] */
    TOKENS = 2, /* attention: [B, L, H, D], not [B, H, L, D] */
    BACKWARD = 4,
    TRANSPOSED = 8,    /* convolution from the small to the large */
    PAD_FIRST = 16,    /* convolution: padding stands before stride */
    PACKED = 32,       /* two 4-bit numbers in each byte of both matrices */
    PACKED_B = 64,     /* the same of the second matrix alone */
    ROWS_FIRST = 128,  /* the first of three dimensions may be rows, the second the batch */
    EACH_EXPERT = 256, /* once for each expert that a token goes to */
    DECODE = 512,      /* of a step, only what it generates */
    NOT_SPREAD = 1024, /* convolution: every place next to the other */
    ONE_DIM = 2048,    /* reduction: its word is one dimension, not a list */
    WITH_PLACE = 4096, /* reduction: where it was found comes too */
    ONLY_PLACE = 8192, /* reduction: that alone */
    TO_BOOL = 16384,   /* elementwise: the result is true or false */
};

struct lpo_operators_rule {
    void (*cost)(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                 struct lpo_operator_cost *out); /* NULL: it depends on the step, `by_step` */
    int a, b, c; /* arguments: the two factors and the bias; query, key and value; … */
    int word;    /* the argument that decides: causal, stride, type of the result */
    unsigned how;
    int ends;    /* attention: where sequences end that lie in one row, then those of the keys; 0 */
    int longest; /* the longest of them, then of the keys */
    void (*by_step)(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                    const struct lpo_step_lengths *lengths, struct lpo_operator_cost *out);
};

typedef void lpo_operators_formula(const struct lpo_operators_rule *r,
                                   const struct lpo_op_call *call, struct lpo_operator_cost *out);

lpo_operators_formula lpo_operators_product;
lpo_operators_formula lpo_operators_grouped;
lpo_operators_formula lpo_operators_turned_by_words;
lpo_operators_formula lpo_operators_turned_by_flags;
lpo_operators_formula lpo_operators_product_of_flat;
lpo_operators_formula lpo_operators_layer;
lpo_operators_formula lpo_operators_packed;
lpo_operators_formula lpo_operators_packed_by_sizes;
lpo_operators_formula lpo_operators_experts;
lpo_operators_formula lpo_operators_experts_up;
lpo_operators_formula lpo_operators_experts_down;
lpo_operators_formula lpo_operators_experts_into;
lpo_operators_formula lpo_operators_attention;
lpo_operators_formula lpo_operators_sparse_attention;
lpo_operators_formula lpo_operators_scan;
lpo_operators_formula lpo_operators_convolution;
lpo_operators_formula lpo_operators_causal_convolution;
lpo_operators_formula lpo_operators_elementwise;
lpo_operators_formula lpo_operators_like_first;
lpo_operators_formula lpo_operators_copy;
lpo_operators_formula lpo_operators_look_up;
lpo_operators_formula lpo_operators_gather;
lpo_operators_formula lpo_operators_every_tensor;
lpo_operators_formula lpo_operators_rewrite;
lpo_operators_formula lpo_operators_quantized;
lpo_operators_formula lpo_operators_reduction;
lpo_operators_formula lpo_operators_running;

/* Those that depend on the step around the call. */
typedef void lpo_operators_step_formula(const struct lpo_operators_rule *r,
                                        const struct lpo_op_call *call,
                                        const struct lpo_step_lengths *lengths,
                                        struct lpo_operator_cost *out);

lpo_operators_step_formula lpo_operators_paged_attention;
lpo_operators_step_formula lpo_operators_gated_delta;

/* "attention(0,1,2) word=5 tokens", as in conf/rules/operators.yaml. */
int lpo_operators_rule_read(const char *value, struct lpo_operators_rule *out, struct lpo_err *err);
/* "(0,-,2)" at `p`: which arguments; what stands behind it, NULL where it is not that. */
const char *lpo_operators_read_places(const char *p, struct lpo_operators_rule *r);

/* By the whole name; NULL: not known. */
const struct lpo_operators_rule *lpo_operators_rule_find(const char *name, size_t len);
