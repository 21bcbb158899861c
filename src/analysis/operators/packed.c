/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights of a few bits, packed in an order of the kernel's own: the shape of the
 * weights says nothing, and how wide the result is stands elsewhere. */

#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"

/* The one number of a scalar argument. */
static bool scalar(const struct lpo_op_call *call, size_t i, int64_t *out)
{
    const struct lpo_op_tensor *a = lpo_operators_arg(call, (int)i);

    return !a->count && lpo_operators_numbers(a, out, 1) == 1;
}

static void set_cost(const struct lpo_op_call *call, const struct lpo_op_tensor *a, double columns,
                     struct lpo_operator_cost *out)
{
    double rows = a->elements / (double)a->last, result = rows * columns, given = 0;

    /* some take the result as an argument: it counts once */
    for (size_t i = 0; i < call->count; i++)
        if (&call->at[i] != a && call->at[i].count == 1 && call->at[i].rank == a->rank &&
            call->at[i].elements == result && (double)call->at[i].last == columns)
            given = lpo_operators_bytes(&call->at[i]);
    out->flops = 2 * a->elements * columns;
    out->math = a->type;
    if (a->element_bytes > 1)
        out->bytes = lpo_operators_all_bytes(call) - given + result * a->element_bytes;
}

/* N is the last dimension of argument c (the scales, or the packed weights themselves), its second
 * one where it has three, or the first of the numbers "[N, K]" in `word`. */
void lpo_operators_packed(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                          struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *c = lpo_operators_arg(call, r->c);
    int64_t sizes[2] = { 0 };

    if (a->count != 1 || a->rank < 2 || a->last < 1)
        return;
    if (r->word != NOT_THERE) {
        if (lpo_operators_numbers(lpo_operators_arg(call, r->word), sizes, 2) != 2 ||
            sizes[1] != a->last)
            return;
    } else if (c->count == 1 && c->rank > 1) {
        sizes[0] = c->rank == 3 ? c->dims[1] : c->last;
    }
    if (sizes[0] > 0)
        set_cost(call, a, (double)sizes[0], out);
}

/* Three numbers in a row, the first and the last of which are those of the tokens [M, K]: M, N, K.
 * Among experts the number of them for each token stands before, behind it words and one type. */
void lpo_operators_packed_by_sizes(const struct lpo_operators_rule *r,
                                   const struct lpo_op_call *call, struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = lpo_operators_arg(call, r->a);
    int64_t m, n, k, each;

    if (a->count != 1 || a->rank != 2 || a->last < 1)
        return;
    for (size_t i = 1; i + 2 < call->count; i++) {
        size_t before = i - 1;

        if (!scalar(call, i, &m) || !scalar(call, i + 1, &n) || !scalar(call, i + 2, &k) ||
            m != a->dims[0] || k != a->dims[1] || n < 1)
            continue;
        if (!(r->how & EACH_EXPERT)) {
            set_cost(call, a, (double)n, out);
            return;
        }
        while (before && !scalar(call, before - 1, &each))
            before--;
        if (before && each > 0) {
            out->flops = 2 * a->elements * (double)n * (double)each;
            out->math = a->type;
        }
        return;
    }
}
