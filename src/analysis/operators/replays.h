/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/operators/replays.h - kernels of CUDA graphs joined with the operators that ran them
 * outside of a graph.
 *
 * A replay says nothing about operators: one call launches hundreds of kernels. But before a graph
 * is captured, its program runs once as it is (the warm-up of vLLM, SGLang and torch.cuda.graph),
 * in the same trace or in one of its own. A graph is joined when its kernels, by name, grid and
 * block, in the order of their starts, are found in one row among the kernels that a thread
 * launched one by one. Where they are found several times, operators and shapes must be the same
 * each time; else the graph is ambiguous and not joined. */
#pragma once

#include <stdint.h>

struct lpo_trace;

/* What the trace has of graphs. */
struct lpo_operator_replays {
    uint64_t launches, kernels;               /* of graphs, and kernels in them */
    int64_t ns;                               /* of those kernels */
    uint64_t joined_launches, joined_kernels; /* part of them */
    int64_t joined_ns;
    uint64_t ambiguous_launches; /* found in several places under different operators */
};

/* Kernels of graphs that stand for a launch outside. */
struct lpo_replayed {
    uint64_t times; /* how often a graph replayed its kernel */
    int64_t ns;     /* of those kernels */
};

/* One for each launch of the trace, to be freed; NULL: nothing was joined. */
struct lpo_replayed *lpo_operators_replays_find(const struct lpo_trace *t,
                                                struct lpo_operator_replays *out);
