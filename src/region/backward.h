/* SPDX-License-Identifier: Apache-2.0 */
/* region/backward.h - backward operators and the forward operators that they belong to.
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
 *
 * Private to region/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"
#include "util/vec.h"

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
