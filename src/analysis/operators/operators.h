/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/operators/operators.h - operators of the host (aten::mm, a user's function) and what
 * they cost.
 *
 * The numbers mean what torch.profiler's own table means by them, taken from times alone:
 * - An operator is inside another when its whole time is, on the same thread; of two with equal
 *   times the first in the file is the outer one. Where two overlap without nesting, the one that
 *   began later takes over.
 * - CPU total is the sum of the durations of all calls; CPU self leaves out what is inside other
 *   operators.
 * - GPU self is the time of the GPU operations (kernels, copies, memsets) whose whole launch call
 *   lies in the operator and in none inside it; GPU total adds the operators inside.
 * - An operator that calls itself counts the inner call again in its totals, never in its selfs.
 *
 * The selfs therefore add up: CPU self over all rows is the time spent in operators (where they
 * nest), GPU self plus `outside` plus `no_launch` is all GPU time. */
#pragma once

#include "analysis/operators/cost.h"
#include "analysis/operators/replays.h"

struct lpo_region_tree;
struct lpo_trace;

struct lpo_operator {
    uint32_t name;
    uint32_t shapes; /* name id of the input shapes; LPO_NONE when unknown or not asked for */
    uint32_t types;  /* the same for the types of the inputs */
    uint64_t calls;
    int64_t cpu_total_ns, cpu_self_ns, cpu_min_ns, cpu_max_ns;
    int64_t gpu_total_ns, gpu_self_ns;
    uint64_t gpu_ops_total, gpu_ops_self;
    uint64_t
        copies; /* of gpu_ops_self: they may go over a link, not through the GPU's memory alone */
    uint32_t kernels; /* first row in `kernels`: gpu_self_ns by name, most expensive first */
    uint32_t nkernels;
    struct lpo_operator_cost cost; /* of all calls; only by shapes */
    /* Calls that CUDA graphs replayed, and the GPU time of that; no part of the times above. */
    uint64_t replayed;
    int64_t replayed_self_ns, replayed_total_ns;
    struct lpo_operator_cost replayed_cost; /* of all of them; only by shapes */
    /* Part of the calls and of gpu_self_ns: forward work that a backward pass did again. */
    uint64_t recomputed;
    int64_t recomputed_self_ns;
};

/* GPU operations that one operator launched itself, under one name. */
struct lpo_operator_kernel {
    uint32_t operator_row;
    uint32_t name;
    uint64_t count;
    int64_t ns;
};

struct lpo_operator_sum {
    uint64_t gpu_ops;
    int64_t ns;
};

struct lpo_operators {
    LPO_VEC(struct lpo_operator)
    rows; /* most expensive first: GPU total, then CPU self, then name */
    LPO_VEC(struct lpo_operator_kernel) kernels;
    uint64_t calls;                    /* of all operators */
    struct lpo_operator_sum all;       /* GPU operations of the trace */
    struct lpo_operator_sum outside;   /* launched outside every operator */
    struct lpo_operator_sum no_launch; /* without a launch record */
    struct lpo_operator_replays replays;
};

/* `by_shapes` makes one row of each operator, input shapes and types, else one of each operator.
 * Copies what it keeps but the names, which stay the trace's. `rules` of the user may be NULL, and
 * so may `tree`, the regions of the trace, which knows what was recomputed. */
struct lpo_operators *lpo_operators_create(const struct lpo_trace *trace, bool by_shapes,
                                           const struct lpo_operators_rules *rules,
                                           const struct lpo_region_tree *tree);
void lpo_operators_destroy(struct lpo_operators *o); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_operators);
