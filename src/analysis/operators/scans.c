/* SPDX-License-Identifier: Apache-2.0 */
/* State-space layers and recurrent attention: a state that every token changes and asks. */
#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"
#include "analysis/steps/steps.h"

static bool number(const struct lpo_op_call *call, int i, double *out)
{
    int64_t n;

    if (lpo_operators_numbers(lpo_operators_arg(call, i), &n, 1) != 1 || n < 1)
        return false;
    *out = (double)n;
    return true;
}

/* Mamba-2 in chunks of C tokens. Projected tokens [B, T, 2 H P + 2 G N + H], the weight of its
 * convolution [channels, W], one bias for each of H heads; C, P (size of a head) and G (groups) are
 * numbers; N (size of the state) follows. Products: those of the convolution, of C and B in a
 * chunk, of them and X, of the states, and of the states and C. */
void lpo_operators_scan(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                        struct lpo_operator_cost *out)
{
    enum { HEADS = 3, CHUNK = 6, HEAD_SIZE = 15, GROUPS = 16 };
    const struct lpo_op_tensor *x = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *weight = lpo_operators_arg(call, r->b);
    const struct lpo_op_tensor *bias = lpo_operators_arg(call, HEADS);
    double tokens, heads, chunk, size, groups, state;

    if (x->count != 1 || x->rank != 3 || weight->count != 1 || weight->rank != 2 ||
        bias->count != 1 || bias->rank != 1 || !number(call, CHUNK, &chunk) ||
        !number(call, HEAD_SIZE, &size) || !number(call, GROUPS, &groups))
        return;
    heads = (double)bias->dims[0];
    state = ((double)x->last - 2 * heads * size - heads) / (2 * groups);
    if (state < 1)
        return;
    tokens = (double)x->dims[0] * (double)x->dims[1];
    out->flops = 2 * tokens *
                 (weight->elements + groups * chunk * state + heads * size * chunk +
                  2 * heads * size * state);
    out->math = x->type;
    out->bytes = lpo_operators_all_bytes(call) +
                 tokens * heads * size * (x->element_bytes > 0 ? x->element_bytes : 0);
}

/* A gated delta rule: for each token and head of the values, a state [D of values, D of keys] is
 * let go of a little (1), read (2), changed (2) and asked (2). Queries, keys and values of a token
 * stand in one row; each head of the keys serves two of the values. How many tokens are real the
 * step says: the tensors are padded. */
void lpo_operators_gated_delta(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                               const struct lpo_step_lengths *lengths,
                               struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *rows = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *gates = lpo_operators_arg(call, r->b);
    const struct lpo_op_tensor *result = lpo_operators_arg(call, r->c);
    double tokens = lengths->context.queries + lengths->generation.queries;
    double heads, values, keys;

    if (rows->count != 1 || rows->rank != 2 || gates->count != 1 || gates->rank != 2 ||
        result->count != 1 || result->rank != 3 || gates->last < 2 || gates->last % 2 != 0)
        return;
    heads = (double)gates->last;
    values = (double)result->last;
    keys = ((double)rows->last - heads * values) / heads;
    if (keys < 1 || tokens <= 0)
        return;
    out->flops = 7 * tokens * heads * values * keys;
    out->math = rows->type;
    if (rows->element_bytes > 0)
        out->bytes = tokens * heads * (keys + 2 * values + 2) * rows->element_bytes;
}
