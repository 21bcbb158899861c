/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of which only bytes are counted: elementwise, norms, copies, look-ups. */
#include <math.h>

#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"

static const struct lpo_op_tensor *arg(const struct lpo_op_call *call, int i)
{
    return lpo_operators_arg(call, i);
}

/* The result has the shape that all inputs together have, and the widest type. */
void lpo_operators_elementwise(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                               struct lpo_operator_cost *out)
{
    double dims[LPO_OP_RANK] = { 0 }, elements = 1, widest = 0, read = 0;
    unsigned rank = 0;

    (void)r;
    for (size_t i = 0; i < call->count; i++) {
        const struct lpo_op_tensor *a = &call->at[i];

        if (a->count > 1)
            return;
        if (!a->count)
            continue;
        read += lpo_operators_bytes(a);
        if (a->rank && a->element_bytes > widest) /* one without dimensions does not widen */
            widest = a->element_bytes;
        rank = a->rank > rank ? a->rank : rank;
        for (unsigned d = 0; d < a->rank; d++) {
            double n = (double)a->dims[a->rank - 1 - d];

            if (dims[d] == 0 || dims[d] == 1)
                dims[d] = n;
            else if (n != 1 && n != dims[d])
                return;
        }
    }
    for (unsigned d = 0; d < rank; d++)
        elements *= dims[d];
    if (rank)
        out->bytes = read + elements * (widest > 0 ? widest : NAN);
}

/* Everything is read, and the first written again in its own shape: norms, softmax, in place.
 * Gradients of norms have those of weight and bias as well. */
void lpo_operators_like_first(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                              struct lpo_operator_cost *out)
{
    double read = 0;

    for (size_t i = 0; i < call->count; i++)
        read += lpo_operators_bytes(&call->at[i]);
    if (arg(call, r->a)->count == 1)
        out->bytes = read + lpo_operators_bytes(arg(call, r->a)) +
                     lpo_operators_bytes(arg(call, r->b)) + lpo_operators_bytes(arg(call, r->c));
}

/* Kernels that get their results as arguments: each tensor once. */
void lpo_operators_every_tensor(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                                struct lpo_operator_cost *out)
{
    double moved = 0;

    (void)r;
    for (size_t i = 0; i < call->count; i++)
        moved += lpo_operators_bytes(&call->at[i]);
    if (arg(call, 0)->count == 1)
        out->bytes = moved;
}

/* Reads b, writes a. */
void lpo_operators_copy(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                        struct lpo_operator_cost *out)
{
    if (arg(call, r->a)->count == 1)
        out->bytes = lpo_operators_bytes(arg(call, r->a)) + lpo_operators_bytes(arg(call, r->b));
}

/* A row of the table for each index. */
void lpo_operators_look_up(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *table = arg(call, r->a), *index = arg(call, r->b);

    if (table->count == 1 && index->count == 1 && table->rank == 2 && table->element_bytes > 0)
        out->bytes = 2 * index->elements * (double)table->dims[1] * table->element_bytes +
                     lpo_operators_bytes(index);
}
