/* SPDX-License-Identifier: Apache-2.0 */
/* trace/xla_names.h - names of XLA's ranges as people know them.
 *
 * XLA (JAX, TensorFlow) pushes NVTX ranges of domain TSL with everything it knows as their name:
 * "Thunk:#name=jit(layer)/dot_general,hlo_op=gemm_fusion_dot,unique_hlo_op_id=12884901892#". Such a
 * path cannot be read, and the numbers in it tear apart what belongs together. A module is its
 * name, a thunk its HLO op, another range its kind and what it is about. */
#pragma once

#include "util/base.h"

struct lpo_trace;
struct lpo_trace_mark;

/* The domain of these ranges. */
#define LPO_XLA_DOMAIN "TSL"

/* Appends the readable name of `text`; false: it is none of XLA's, and nothing was appended. */
bool lpo_trace_xla_name(const char *text, size_t len, struct lpo_str *out);
/* Names of the ranges that were read since `mark`. An op in scopes of the program
 * gets a range for each of them, of its own times: the scope is around it. */
void lpo_trace_xla_rename(struct lpo_trace *t, const struct lpo_trace_mark *mark);

enum { LPO_XLA_SCOPES = 16 }; /* levels; those further in are left out */

/* The scopes of a program (jax.named_scope, modules of Flax) that an op of XLA stands in, outermost
 * first; how many there are.
 *
 * JAX gives every op a name that says where it comes from: "jit(step)/jit(main)/
 * transpose(jvp(layer))/attn/dot_general". Its levels are jitted functions, transformations,
 * control flow, the scopes that the program named, and last the primitive. Here the scopes are
 * left: "layer (backward)", "attn". */
size_t lpo_trace_xla_scopes(struct lpo_trace *t, const char *op_name, size_t len,
                            uint32_t out[LPO_XLA_SCOPES]);
