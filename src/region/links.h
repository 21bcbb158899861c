/* SPDX-License-Identifier: Apache-2.0 */
/* region/links.h - other places of a launch, beside the one that counts.
 *
 * The place of a launch is the ranges open on its own thread. Two more are worth knowing, and
 * neither changes the first:
 * - adopted: a launch in no range at all, from a thread without ranges (autograd's backward thread,
 *   the workers of a server), made while exactly one other thread of the process had a range open
 *   around the whole call: that thread's ranges. Two such threads: nobody knows, and it is not
 *   adopted. Where the trace says which thread ran the forward of a backward operator, and that
 *   thread is one of the two, it is that one.
 *
 * - forward: a launch in a backward operator (backward.c): the ranges around its forward operator.
 *   Where that one ran in none, because it was recomputed, those of the backward operator that
 *   recomputed it.
 *
 * Private to region/. A lookup asks the sweep of attribute.c which ranges of a thread hold a
 * stretch of time; it is answered when the sweep of that thread comes there. */
#pragma once

#include "trace/host.h"
#include "trace/trace.h"

struct lpo_region_tree;

/* Backward operators and the forward operators that they belong to.
 *
 * Autograd numbers the operators of a forward pass, each thread for itself. A backward operator
 * carries the number of its forward ("Sequence number") and a number for the thread that ran it
 * ("Fwd thread id"). So the kernels of a backward pass belong to the region in which their forward
 * ran. PyTorch draws its arrows from forward to backward by the same two numbers; among operators
 * of one number the one that began last is meant, because it is the innermost.
 *
 * The numbers of threads are autograd's own: which thread each one is follows from the operators
 * that have a number no other thread used. The arrows themselves (trace->op_links), where the
 * source has them, decide what the numbers leave open. What two threads could have run, and no
 * arrow leads to, stays without a forward.
 *
 * Recomputation is forward work inside a backward operator: in PyTorch's own checkpoint, known by
 * name, or operators that got a number of their own there and that nothing differentiates
 * afterwards (as it would be for a gradient of a gradient).
 */

/* A backward operator with its forward. */
struct lpo_region_backward_op {
    uint32_t forward; /* row of trace->ops */
    uint32_t around;  /* the backward operator in which it ran, or LPO_NONE: a smaller row */
};

struct lpo_region_backward {
    LPO_VEC(struct lpo_region_backward_op) ops;
    uint32_t *launch_op; /* per launch: the innermost of them around it, or LPO_NONE; NULL: none */
    bool *recomputed;    /* per launch; NULL: none */
};

/* Everything is empty where the trace has no backward operators, or none were read. */
void lpo_region_backward_find(const struct lpo_trace *t, struct lpo_region_backward *out);
void lpo_region_backward_free(struct lpo_region_backward *b);

/* The thread of the forward pass that a launch goes back to; LPO_NONE: not known. */
uint32_t lpo_region_backward_thread(const struct lpo_region_backward *b, const struct lpo_trace *t,
                                    uint32_t launch);

struct lpo_region_lookup {
    int64_t start_ns, end_ns;
    uint32_t thread; /* whose ranges */
    uint32_t asker;  /* a launch, or a row of backward operators */
    bool forward;    /* it is the latter: asks for the region of its forward */
    uint32_t node;   /* the answer: the innermost range that holds it all; LPO_NONE: none */
};

typedef LPO_VEC(struct lpo_region_lookup) lpo_region_lookups;

/* Adds a lookup for each launch that one thread can adopt (adopt.c); `sets` as above, may
 * be NULL. n log n. */
void lpo_region_adopt(const struct lpo_region_tree *tree, const uint32_t *sets,
                      const struct lpo_region_backward *backward, lpo_region_lookups *out);
/* Adds one for each backward operator. */
void lpo_region_links_ask(const struct lpo_trace *t, const struct lpo_region_backward *backward,
                          lpo_region_lookups *out);

/* By thread, then time: the order of the sweep. */
void lpo_region_lookups_sort(lpo_region_lookups *all);
/* After the sweep: the answers become rows of tree->links. */
void lpo_region_links_fill(struct lpo_region_tree *tree, const struct lpo_region_backward *backward,
                           const lpo_region_lookups *answers);

/* Fills a region tree from the ranges, launches and captures of its trace.
 *
 * This is the one place where ranges and calls are matched, for every source. Private to region/.
 */

/* Called once, by lpo_region_tree_create(). n log n in ranges and launches. */
void lpo_region_attribute(struct lpo_region_tree *tree);

/* What happened on a thread, in order: the slices that are regions of the tree, and what else is in
 * `kinds`. */
struct lpo_host_walk lpo_region_walk(const struct lpo_region_tree *tree, uint32_t thread,
                                     unsigned kinds);
bool lpo_region_next(const struct lpo_region_tree *tree, struct lpo_host_walk *w,
                     struct lpo_slice *out);
