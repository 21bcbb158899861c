/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/stacks/stacks.h - time by what was open around it: a tree from the outermost range over
 * modules, lines of Python and operators to the kernel, for flame graphs and other people's
 * viewers.
 *
 * Each node has what is its own, of six kinds. The sums over all nodes are those of the tables:
 *
 *   gpu      time of kernels, copies and memsets, each counted whole
 *
 *   exposed  the same, each moment of a GPU once: what computes goes before what communicates, that
 *            before copies, and of one kind what started first. The sum is the busy time of the
 * wall
 *
 *   idle     of the GPU before an operation that ends an idle time, at that operation
 *
 *   bytes    copied and set
 *
 *   host     time of the host threads inside slices, without the slices inside them
 *
 *   energy   of the GPU during the exposed time, in microjoules, where its power was sampled
 *
 * A backward operator's kernels lie under the region of their forward, below "(backward)". Where no
 * slices were recorded around a launch, its region stands for them. */
#pragma once

#include "util/base.h"

struct lpo_power;
struct lpo_region_tree;

enum lpo_stack_kind {
    LPO_STACK_REGION,
    LPO_STACK_MODULE,
    LPO_STACK_LINE,
    LPO_STACK_OPERATOR,
    LPO_STACK_CALL,
    LPO_STACK_KERNEL,
    LPO_STACK_COPY,
    LPO_STACK_MEMSET,
    LPO_STACK_BACKWARD, /* no name of its own */
    LPO_STACK_KINDS
};

enum lpo_stack_weight {
    LPO_STACK_GPU,
    LPO_STACK_EXPOSED,
    LPO_STACK_IDLE,
    LPO_STACK_BYTES,
    LPO_STACK_HOST,
    LPO_STACK_ENERGY,
    LPO_STACK_WEIGHTS
};

struct lpo_stack_node {
    uint32_t parent; /* a smaller row; LPO_NONE: at the top */
    uint32_t name;   /* of the trace; LPO_NONE: it has none */
    uint8_t kind;    /* enum lpo_stack_kind */
    uint16_t depth;  /* 0: at the top; at most LPO_STACKS_DEEPEST */
    uint32_t width;  /* about how many bytes the names from the top to here take */
    uint64_t count;  /* operations or slices that are this node */
    int64_t own[LPO_STACK_WEIGHTS];
};

struct lpo_stacks {
    LPO_VEC(struct lpo_stack_node) nodes;
    uint64_t folded; /* slices and operations beyond the bounds below, counted at their parent */
};

/* Formats of stacks write each with all frames around it. So that a file is no more than some ten
 * times as large as the trace, whatever was nested, there are bounds: of nodes, of depth (work on a
 * GPU may be one deeper), and of the width of all nodes together, for each slice and operation. */
#define LPO_STACKS_MOST    (1u << 20)
#define LPO_STACKS_DEEPEST 256
#define LPO_STACKS_WIDTH   1024

/* `power`: of the run; NULL: not known. */
struct lpo_stacks *lpo_stacks_create(const struct lpo_region_tree *tree,
                                     const struct lpo_power *power);
void lpo_stacks_destroy(struct lpo_stacks *s); /* NULL is fine */

/* "gpu", "exposed" …, and "nanoseconds", "bytes" or "microjoules"; the inverse of the first:
 * LPO_STACK_WEIGHTS where there is none. */
const char *lpo_stacks_weight_name(enum lpo_stack_weight weight);
const char *lpo_stacks_weight_unit(enum lpo_stack_weight weight);
enum lpo_stack_weight lpo_stacks_weight_of(const char *name);
const char *lpo_stacks_kind_name(enum lpo_stack_kind kind);
enum lpo_stack_kind lpo_stacks_kind_of(uint32_t host_kind); /* of a slice: enum lpo_host_kind */
/* Of a node, for people; "(backward)" and "(unknown)" where the trace has no name. */
const char *lpo_stacks_text(const struct lpo_region_tree *tree, const struct lpo_stack_node *node,
                            size_t *len);
