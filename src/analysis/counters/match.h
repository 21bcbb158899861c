/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/match.h - the same launch in two traces of one program.
 *
 * Kernels are the same by linker name where the counters have it (ncu and CUPTI spell demangled
 * names differently), a configuration by name, grid and block. A launch is found again as the next
 * one of its configuration in the same ranges; failing that, in any. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;
struct lpo_trace;
struct lpo_gpu_op;
struct lpo_counters_match;

/* Borrows both trees, and through them the traces. */
struct lpo_counters_match *lpo_counters_match_create(const struct lpo_region_tree *base,
                                                     const struct lpo_region_tree *counters);
void lpo_counters_match_destroy(struct lpo_counters_match *m); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_counters_match);

/* The key of a GPU operation's configuration, or of its kernel, in `t`; replaces what is in `key`.
 */
void lpo_counters_match_shape_key(const struct lpo_counters_match *m, const struct lpo_trace *t,
                                  const struct lpo_gpu_op *w, struct lpo_str *key);
void lpo_counters_match_name_key(const struct lpo_counters_match *m, const struct lpo_trace *t,
                                 const struct lpo_gpu_op *w, struct lpo_str *key);
/* The same for the kernel's template (its bare function name) and configuration. */
void lpo_counters_match_family_key(const struct lpo_trace *t, const struct lpo_gpu_op *w,
                                   struct lpo_str *key);

/* The GPU operation of the base trace that `reading` measured; each is given once. LPO_NONE: none
 * left. */
uint32_t lpo_counters_match_take(struct lpo_counters_match *m, const struct lpo_gpu_op *reading);

/* Peers: kernels of the base trace with one configuration at one place of the program, that is the
 * nth of their kind since the path last changed, on paths that differ in numbers only ("layer3",
 * "layer7"). They do the same work. LPO_NONE for what is not a kernel. */
uint32_t lpo_counters_match_peers(const struct lpo_counters_match *m, uint32_t gpu_op);
/* The median time of a group of peers, free of the odd slow launch. */
int64_t lpo_counters_match_peers_ns(const struct lpo_counters_match *m, uint32_t peers);
