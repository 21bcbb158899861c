/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/operators/cost.h - what one call of an operator computes and moves, from its shapes.
 *
 * FLOPs: 2 M N K for a matrix product (the bias is not counted), 4 B H Lq Lk D for attention (half
 * of it where it is known to be causal), 2.5 times that for its backward pass, 2 N K C/g R S P Q
 * for a convolution. Attention over a paged cache goes by the lengths in the name of its step.
 * Bytes: inputs, weights and outputs once. What the shapes do not say is unknown. */
#pragma once

#include "reference/reference.h"

struct lpo_op;
struct lpo_step_lengths;
struct lpo_trace;

struct lpo_operator_cost {
    double flops, bytes; /* NaN: unknown */
    enum lpo_dtype math; /* what it multiplies in: the rate that limits it; NONE: no products */
    bool by_step;        /* it depends on the step around the call */
    struct lpo_reference_work like; /* one call, where such kernels were measured; kind
                                       LPO_REF_KINDS: it is none */
};

/* What costs nothing known. */
struct lpo_operator_cost lpo_operators_no_cost(void);

/* What calls achieved in their time on the GPU, and what the GPU allows. */
struct lpo_operator_rates {
    struct lpo_measure flops, bytes; /* of one call */
    struct lpo_measure flop_rate, byte_rate;
    struct lpo_measure share;   /* the least time over theirs */
    const char *bound;          /* "compute" or "memory"; NULL: not known */
    struct lpo_measure best_us; /* one call, as measured best; unknown beyond what was measured */
    struct lpo_measure to_best; /* that over theirs: 1 is as good, more is better */
    double best_error;          /* nine of ten such shapes are nearer */
};

/* Of `calls` calls with this cost together, in `ns`. Where calls of one shape differ (causal or
 * not), one is their mean. `hw` and `best` may be NULL. */
struct lpo_operator_rates lpo_operators_rates(const struct lpo_operator_cost *cost, uint64_t calls,
                                              int64_t ns, const struct lpo_hardware *hw,
                                              const struct lpo_reference *best);

/* Rules of the user. "aten::linear=my::gemm*": these operators compute what aten::linear does.
 * "aten::mm(2,0)=my::op": the matrices are its arguments 2 and 0. They come before ours. */
struct lpo_operators_rules;
int lpo_operators_rules_read(const char *const *texts, size_t count,
                             struct lpo_operators_rules **out, struct lpo_err *err);
void lpo_operators_rules_destroy(struct lpo_operators_rules *r); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_operators_rules);

/* `own` may be NULL, and so may `lengths`, those of the step around the call. */
struct lpo_operator_cost lpo_operators_cost(const struct lpo_trace *t, const struct lpo_op *op,
                                            const struct lpo_operators_rules *own,
                                            const struct lpo_step_lengths *lengths);
