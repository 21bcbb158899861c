/* SPDX-License-Identifier: Apache-2.0 */
/* trace/xla_names.h - names of XLA's ranges as people know them.
 *
 * XLA (JAX, TensorFlow) pushes NVTX ranges of domain TSL with everything it knows as their name:
 * "Thunk:#name=jit(layer)/dot_general,hlo_op=gemm_fusion_dot,unique_hlo_op_id=12884901892#". Such a
 * path cannot be read, and the numbers in it tear apart what belongs together. A module is its
 * name, a thunk its HLO op, another range its kind and what it is about. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_str;
struct lpo_trace;
struct lpo_trace_mark;

/* The domain of these ranges. */
#define LPO_XLA_DOMAIN "TSL"

/* The value of `key` in such a name, as it stands there; NULL: it has none. */
const char *lpo_trace_xla_value(const char *text, size_t len, const char *key, size_t *value_len);
/* Appends the readable name of `text`; false: it is none of XLA's, and nothing was appended. */
bool lpo_trace_xla_name(const char *text, size_t len, struct lpo_str *out);
/* Names of the ranges that were read since `mark`. An op in scopes of the program (xla_scopes.h)
 * gets a range for each of them, of its own times: the scope is around it. */
void lpo_trace_xla_rename(struct lpo_trace *t, const struct lpo_trace_mark *mark);
