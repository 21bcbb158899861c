/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/operators/replays.h - kernels of CUDA graphs joined with the operators that ran them
 * outside of a graph.
 *
 * A replay says nothing about operators: one call launches hundreds of kernels. Two things do, in
 * the same trace or in one of its own:
 * - Before a graph is captured, its program runs once as it is (the warm-up of vLLM, SGLang and
 *   torch.cuda.graph). A graph is joined when its kernels, by name, grid and block, in the order of
 *   their starts, are found in one row among the kernels that a thread launched one by one.
 * - The capture itself: launches that did not run, each in its operator. A graph is joined with a
 *   capture of as many launches, in their order, when the names of kernels agree where the source
 *   has them, and the same launch of the same operator with the same shapes is always the same
 *   kernel.
 * Where several places fit, operators and shapes must be the same each time; else the graph is
 * ambiguous and not joined. */
#pragma once

#include "util/base.h"

struct lpo_trace;

/* What the trace has of graphs. */
struct lpo_operator_replays {
    uint64_t launches, kernels;               /* of graphs, and kernels in them */
    int64_t ns;                               /* of those kernels */
    uint64_t joined_launches, joined_kernels; /* part of them */
    int64_t joined_ns;
    uint64_t captured_launches;  /* of the joined ones: by the order of a capture alone */
    uint64_t ambiguous_launches; /* found in several places under different operators */
};

/* Kernels of graphs that stand for a launch. */
struct lpo_replayed {
    uint32_t times; /* how often a graph replayed its kernel */
    uint32_t graph; /* which one, from 1; 0: none; LPO_NONE: several */
    int64_t ns;     /* of those kernels */
};

/* A launch of a graph that is joined. */
struct lpo_replayed_graph {
    uint32_t launch; /* row of launches */
    uint32_t graph;  /* as above */
};

/* One for each row of launches and of captured_launches of the trace, to be freed; NULL: nothing
 * was joined with them. */
struct lpo_replayed_launches {
    struct lpo_replayed *launched, *captured;
    LPO_VEC(struct lpo_replayed_graph) graphs; /* every launch of one, in no order */
};

struct lpo_replayed_launches lpo_operators_replays_find(const struct lpo_trace *t,
                                                        struct lpo_operator_replays *out);
void lpo_operators_replays_free(struct lpo_replayed_launches *r);
