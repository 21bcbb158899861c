/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/operators/rules.h - which operator is of which kind; private to this folder.
 *
 * formulas.c has what each kind computes and moves, rules.c the operators by name, cost.c the rules
 * of the user. */
#pragma once

#include <stddef.h>

struct lpo_op_call;
struct lpo_operator_cost;

enum { NOT_THERE = -1 }; /* no such argument */

/* How a rule differs from the others of its kind. */
enum lpo_operators_how {
    TURNED = 1, /* the second matrix is [N, K] */
    TOKENS = 2, /* attention: [B, L, H, D], not [B, H, L, D] */
    BACKWARD = 4,
    TRANSPOSED = 8, /* convolution from the small to the large */
    PAD_FIRST = 16, /* convolution: padding stands before stride */
};

struct lpo_operators_rule {
    const char *name;
    void (*cost)(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                 struct lpo_operator_cost *out);
    int a, b, c; /* arguments: the two factors and the bias; query, key and value; … */
    int word;    /* the argument that decides: causal, stride, type of the result */
    unsigned how;
};

typedef void lpo_operators_formula(const struct lpo_operators_rule *r,
                                   const struct lpo_op_call *call, struct lpo_operator_cost *out);

lpo_operators_formula lpo_operators_product;
lpo_operators_formula lpo_operators_grouped;
lpo_operators_formula lpo_operators_attention;
lpo_operators_formula lpo_operators_convolution;
lpo_operators_formula lpo_operators_elementwise;
lpo_operators_formula lpo_operators_like_first;
lpo_operators_formula lpo_operators_copy;
lpo_operators_formula lpo_operators_look_up;

/* By the whole name; NULL: not known. */
const struct lpo_operators_rule *lpo_operators_rule_find(const char *name, size_t len);
