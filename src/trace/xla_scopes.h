/* SPDX-License-Identifier: Apache-2.0 */
/* trace/xla_scopes.h - the scopes of a program (jax.named_scope, modules of Flax) that an op of XLA
 * stands in.
 *
 * JAX gives every op a name that says where it comes from: "jit(step)/jit(main)/
 * transpose(jvp(layer))/attn/dot_general". Its levels are jitted functions, transformations,
 * control flow, the scopes that the program named, and last the primitive. Here the scopes are
 * left: "layer (backward)", "attn". */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lpo_trace;

enum { LPO_XLA_SCOPES = 16 }; /* levels; those further in are left out */

/* Names of the scopes, outermost first; how many there are. */
size_t lpo_trace_xla_scopes(struct lpo_trace *t, const char *op_name, size_t len,
                            uint32_t out[LPO_XLA_SCOPES]);
