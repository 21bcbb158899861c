/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of which only bytes are counted: elementwise, norms, copies, look-ups. */

#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"

static const struct lpo_op_tensor *arg(const struct lpo_op_call *call, int i)
{
    return lpo_operators_arg(call, i);
}

/* The result has the shape that all inputs together have, and the widest type, or is true or
 * false. */
void lpo_operators_elementwise(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                               struct lpo_operator_cost *out)
{
    double dims[LPO_OP_RANK] = { 0 }, elements = 1, widest = 0, read = 0;
    unsigned rank = 0;

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
        out->bytes = read + elements * (r->how & TO_BOOL ? 1 : widest > 0 ? widest : NAN);
}

/* Everything is read, and the first written again in its own shape: norms, softmax, in place.
 * Gradients of norms have those of weight and bias as well. */
void lpo_operators_like_first(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                              struct lpo_operator_cost *out)
{
    if (arg(call, r->a)->count == 1)
        out->bytes = lpo_operators_all_bytes(call) + lpo_operators_bytes(arg(call, r->a)) +
                     lpo_operators_bytes(arg(call, r->b)) + lpo_operators_bytes(arg(call, r->c));
}

/* Kernels that get their results as arguments: each tensor once. */
void lpo_operators_every_tensor(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                                struct lpo_operator_cost *out)
{
    (void)r;
    if (arg(call, 0)->count == 1)
        out->bytes = lpo_operators_all_bytes(call);
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

/* Reads a and b, and writes as many numbers, in the type of c where that is given: rotations, and
 * new keys and values that go into a cache. */
void lpo_operators_rewrite(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = arg(call, r->a), *b = arg(call, r->b), *c = arg(call, r->c);
    double read = lpo_operators_bytes(a) + lpo_operators_bytes(b);

    if (a->count != 1 || b->count > 1)
        return;
    if (r->c == NOT_THERE)
        out->bytes = 2 * read;
    else if (c->element_bytes > 0)
        out->bytes = read + (a->elements + b->elements) * c->element_bytes;
}

/* Everything is read, a written in bytes, with a scale of four bytes for each group in its rows
 * (`word`: how large they are), and b in its own shape. */
void lpo_operators_quantized(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                             struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = arg(call, r->a);
    double groups = 0;
    int64_t size;

    if (a->count != 1 || a->rank < 1 || a->last < 1)
        return;
    if (r->word != NOT_THERE) {
        if (lpo_operators_numbers(arg(call, r->word), &size, 1) != 1 || size < 1)
            return;
        groups = a->elements / (double)a->last * ceil((double)a->last / (double)size);
    }
    out->bytes = lpo_operators_all_bytes(call) + a->elements + 4 * groups +
                 lpo_operators_bytes(arg(call, r->b));
}

/* Reads a; the result has its dimensions without those in `word`, "[0, -1]": all of them when none
 * are given. Two behind a list the type of the result may stand. Where the rule says so, `word` is
 * one dimension, and the place of what was found comes too, or alone. */
void lpo_operators_reduction(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                             struct lpo_operator_cost *out)
{
    enum { PLACE_BYTES = 8, TYPE = 2 };
    const struct lpo_op_tensor *a = arg(call, r->a), *word = arg(call, r->word);
    bool one = r->how & ONE_DIM, given = word->value_len && (one || word->value[0] == '[');
    double left = a->elements, type = a->element_bytes;
    double given_type = one ? NAN : lpo_operators_type_bytes(arg(call, r->word + TYPE));
    int64_t dims[LPO_OP_RANK];
    size_t n = given ? lpo_operators_numbers(word, dims, LPO_OP_RANK) : 0;

    if (a->count != 1 || a->element_bytes <= 0 || n > LPO_OP_RANK)
        return;
    if (word->count) { /* the larger of two tensors */
        lpo_operators_elementwise(r, call, out);
        return;
    }
    if (!n)
        left = 1;
    for (size_t i = 0; i < n; i++) {
        int64_t d = dims[i] < 0 ? dims[i] + (int64_t)a->rank : dims[i];

        if (d < 0 || d >= (int64_t)a->rank || a->dims[d] < 1)
            return;
        left /= (double)a->dims[d];
    }
    if (!isnan(given_type))
        type = given_type;
    if (r->how & ONLY_PLACE)
        type = PLACE_BYTES;
    else if (r->how & WITH_PLACE && n)
        type += PLACE_BYTES;
    out->bytes = lpo_operators_bytes(a) + left * type;
}

/* Sums along the way: as large as what they are of. */
void lpo_operators_running(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = arg(call, r->a);

    if (a->count == 1)
        out->bytes = 2 * lpo_operators_bytes(a);
}

/* One number of a for each index in b. */
void lpo_operators_gather(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                          struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *from = arg(call, r->a), *index = arg(call, r->b);

    if (from->count == 1 && index->count == 1 && from->element_bytes > 0)
        out->bytes = lpo_operators_bytes(index) + 2 * index->elements * from->element_bytes;
}
