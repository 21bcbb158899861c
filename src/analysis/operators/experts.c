/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of rows, each with a matrix of its own, and experts: each token is multiplied with the
 * weights of the few experts that it goes to. Which experts these are the trace does not say, so
 * their bytes are unknown. */
#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"

/* Rows of `a` in groups, each with a matrix of its own: [T, K] by [G, K, N] or [G, N, K], or lists
 * of both. [G, M, K] by [K, T] has columns in groups, [M, T] by [T, N] what is summed over, and
 * backward [T, K] by [T, N] is that with both as they were. */
void lpo_operators_grouped(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = lpo_operators_arg(call, r->a),
                               *b = lpo_operators_arg(call, r->b);
    double columns;

    out->math = a->type;
    if (a->count > 1 && a->count == b->count && a->rank == 2 && b->rank == 2 && b->last >= 0) {
        out->flops = 2 * a->elements * (double)b->last;
        return;
    }
    if (a->count != 1 || b->count != 1 || (a->rank == 3 && b->rank == 3)) {
        lpo_operators_product(r, call, out);
        return;
    }
    if (b->rank == 3 && a->rank == 2 && (a->last == b->dims[1] || a->last == b->dims[2])) {
        columns = (double)(a->last == b->dims[1] ? b->dims[2] : b->dims[1]);
        if (a->element_bytes > 1)
            out->bytes = lpo_operators_bytes(a) + lpo_operators_bytes(b) +
                         (double)a->dims[0] * columns * a->element_bytes;
    } else if (b->rank == 2 && (a->rank == 2 || a->rank == 3) &&
               (r->how & BACKWARD ? a->dims[0] : a->last) == b->dims[0]) {
        columns = (double)b->dims[1];
        if (a->rank == 3) /* each of the columns belongs to one group */
            columns /= a->dims[0] > 0 ? (double)a->dims[0] : 1;
    } else {
        return;
    }
    out->flops = 2 * a->elements * columns;
}

/* How many numbers of the weights stand in one element: 4-bit weights have two in a byte. */
static double packed(int64_t whole, int64_t stored)
{
    return stored > 0 && whole % stored == 0 ? (double)whole / (double)stored : 0;
}

/* Tokens [M, K], weights up [E, N or 2 N, K] and down [E, K, N]; `word` has how many experts each
 * token goes to: the last dimension of a tensor [M, experts], or a number. */
void lpo_operators_experts(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *tokens = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *up = lpo_operators_arg(call, r->b);
    const struct lpo_op_tensor *down = lpo_operators_arg(call, r->c);
    const struct lpo_op_tensor *word = lpo_operators_arg(call, r->word);
    int64_t each = word->count == 1 && word->rank == 2 ? word->dims[1] : 0;
    double inner;

    if (tokens->rank != 2 || up->count != 1 || up->rank != 3 || down->count != 1 ||
        down->rank != 3 || up->dims[0] != down->dims[0] || tokens->count != 1)
        return;
    if (!word->count && lpo_operators_numbers(word, &each, 1) != 1)
        return;
    inner = (double)down->dims[2] * packed(down->dims[1], up->dims[2]);
    if (each < 1 || inner < 1 || ((double)up->dims[1] != inner && (double)up->dims[1] != 2 * inner))
        return;
    out->flops = 2 * (double)tokens->dims[0] * (double)each * (double)down->dims[1] *
                 ((double)up->dims[1] + inner);
    out->math = tokens->type;
    if ((double)up->dims[1] != inner) /* with a gate, as all that were measured */
        out->like = (struct lpo_reference_work){ LPO_REF_MOE,
                                                 .dtype = up->type,
                                                 .tokens = (double)tokens->dims[0],
                                                 .hidden = (double)down->dims[1],
                                                 .inter = inner,
                                                 .top_k = (double)each,
                                                 .experts = (double)up->dims[0],
                                                 .ep = 1 };
}

/* The first half alone: tokens [M, K], weights [E, N, K], result [M, experts, …] in `word`. */
void lpo_operators_experts_up(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                              struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *tokens = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *up = lpo_operators_arg(call, r->b);
    const struct lpo_op_tensor *result = lpo_operators_arg(call, r->word);

    if (tokens->count != 1 || tokens->rank != 2 || up->count != 1 || up->rank != 3 ||
        result->count != 1 || result->rank != 3 || packed(tokens->dims[1], up->dims[2]) < 1)
        return;
    out->flops = 2 * (double)result->dims[0] * (double)result->dims[1] * (double)tokens->dims[1] *
                 (double)up->dims[1];
    out->math = tokens->type;
}

/* The second half alone: [M, experts, N] by [E, K, N]. */
void lpo_operators_experts_down(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                                struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *inner = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *down = lpo_operators_arg(call, r->b);

    if (inner->count != 1 || inner->rank != 3 || down->count != 1 || down->rank != 3 ||
        packed(inner->dims[2], down->dims[2]) < 1)
        return;
    out->flops = 2 * inner->elements * (double)down->dims[1];
    out->math = inner->type;
}

/* One product for each row of the result, [M, N] or [M, experts, N], which is an argument: tokens
 * [.., K] by weights [E, N, K], in whatever order and packing those are. */
void lpo_operators_experts_into(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                                struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *tokens = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *weights = lpo_operators_arg(call, r->b);
    const struct lpo_op_tensor *result = lpo_operators_arg(call, r->c);

    if (tokens->count != 1 || tokens->rank != 2 || weights->count != 1 || weights->rank != 3 ||
        result->count != 1 || (result->rank != 2 && result->rank != 3) ||
        (weights->dims[1] != result->last && weights->dims[2] != result->last))
        return;
    out->flops = 2 * result->elements * (double)tokens->last * (r->how & PACKED ? 2 : 1);
    out->math = tokens->type;
}
