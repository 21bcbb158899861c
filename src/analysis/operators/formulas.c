/* SPDX-License-Identifier: Apache-2.0 */
/* What one call computes and moves, by kind: products, convolutions, and the kinds of which only
 * bytes are counted. */
#include <math.h>
#include <string.h>

#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"

enum { MOST_DIMS = 3 }; /* in which a convolution moves */

static const struct lpo_op_tensor *arg(const struct lpo_op_call *call, int i)
{
    return lpo_operators_arg(call, i);
}

/* Unknown when a type is. */
static double bytes_of(const struct lpo_op_tensor *a)
{
    if (!a->count)
        return 0;
    return a->element_bytes > 0 ? a->elements * a->element_bytes : NAN;
}

/* A matrix [.., rows, columns]; a vector is one row. */
struct matrix {
    double batch;
    int64_t rows, columns;
};

static bool matrix_of(const struct lpo_op_tensor *a, bool vector_is_column, struct matrix *out)
{
    *out = (struct matrix){ 1, 1, 1 };
    if (a->count != 1 || a->rank == 0)
        return false;
    if (a->rank == 1) {
        *(vector_is_column ? &out->rows : &out->columns) = a->dims[0];
        return true;
    }
    out->rows = a->dims[a->rank - 2];
    out->columns = a->dims[a->rank - 1];
    for (unsigned i = 0; i + 2 < a->rank; i++)
        out->batch *= (double)a->dims[i];
    return true;
}

/* Leading dimensions of both, where one is 1 repeated; false when they do not fit. */
static bool batch_of(const struct lpo_op_tensor *a, const struct lpo_op_tensor *b, double *out)
{
    unsigned na = a->rank > 2 ? a->rank - 2 : 0, nb = b->rank > 2 ? b->rank - 2 : 0;
    unsigned n = na > nb ? na : nb;

    *out = 1;
    for (unsigned i = 1; i <= n; i++) {
        int64_t x = i <= na ? a->dims[na - i] : 1, y = i <= nb ? b->dims[nb - i] : 1;

        if (x != y && x != 1 && y != 1)
            return false;
        *out *= (double)(x == 1 ? y : x);
    }
    return true;
}

/* Of the result: of the tensor that takes it, or a number of torch.dtype, as scalar arguments have
 * them. */
static double type_bytes(const struct lpo_op_tensor *a)
{
    static const double bytes[] = { 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2 };
    int64_t type;

    if (a->count)
        return a->element_bytes > 0 ? a->element_bytes : NAN;
    if (lpo_operators_numbers(a, &type, 1) != 1 || type >= (int64_t)(sizeof bytes / sizeof *bytes))
        return NAN;
    return bytes[type];
}

void lpo_operators_product(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = arg(call, r->a), *b = arg(call, r->b);
    struct matrix x, y;
    double batch, result;
    int64_t packed = a->type == LPO_FP4 || r->how & PACKED ? 2 : 1;

    if (!matrix_of(a, false, &x) || !matrix_of(b, !(r->how & TURNED), &y))
        return;
    if (r->how & TURNED) {
        int64_t n = y.rows;

        y.rows = y.columns;
        y.columns = n;
    }
    if (r->how & PACKED_B)
        y.rows *= 2;
    if (x.columns != y.rows || !batch_of(a, b, &batch))
        return;
    result = batch * (double)x.rows * (double)y.columns;
    out->flops = 2 * result * (double)x.columns * (double)packed;
    out->math = a->type;
    /* narrow types do not say in what the result is kept: another argument does */
    out->bytes = bytes_of(a) + bytes_of(b) + bytes_of(arg(call, r->c)) +
                 result * (r->word != NOT_THERE   ? type_bytes(arg(call, r->word))
                           : a->element_bytes > 1 ? a->element_bytes
                                                  : NAN);
}

/* A product whose own arguments say which matrix is turned, as BLAS has it: the one behind each
 * matrix and its four scales. Columns of the result come from a. */
void lpo_operators_turned_by_words(const struct lpo_operators_rule *r,
                                   const struct lpo_op_call *call, struct lpo_operator_cost *out)
{
    enum { WORD = 4 };
    const struct lpo_op_tensor *a = arg(call, r->a), *b = arg(call, r->b), *c = arg(call, r->c);
    bool known[2], turned_a = lpo_operators_flag(arg(call, r->a + WORD), &known[0]);
    bool turned_b = lpo_operators_flag(arg(call, r->b + WORD), &known[1]);
    double m, n, k;

    if (a->count != 1 || b->count != 1 || a->rank != 2 || b->rank != 2 || !known[0] || !known[1])
        return;
    m = (double)a->dims[!turned_a];
    k = (double)a->dims[turned_a];
    n = (double)b->dims[turned_b];
    if (k != (double)b->dims[!turned_b])
        return;
    out->flops = 2 * m * n * k;
    out->math = a->type;
    out->bytes = bytes_of(a) + bytes_of(b) + bytes_of(c);
}

/* Rows of `a` in groups, each with a matrix of its own: [T, K] by [G, K, N]. */
void lpo_operators_grouped(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = arg(call, r->a), *b = arg(call, r->b);
    double result;

    if (a->count != 1 || b->count != 1 || (a->rank == 3 && b->rank == 3)) {
        lpo_operators_product(r, call, out);
        return;
    }
    if (a->rank != 2 || (b->rank != 2 && b->rank != 3) || a->dims[1] != b->dims[b->rank - 2])
        return;
    result = (double)a->dims[0] * (double)b->dims[b->rank - 1];
    out->flops = 2 * result * (double)a->dims[1];
    out->math = a->type;
    if (b->rank == 3 && a->element_bytes > 1)
        out->bytes = bytes_of(a) + bytes_of(b) + result * a->element_bytes;
}

/* Numbers of an argument such as "[1, 1]": one for all dimensions where only one is given. */
static bool for_each_dim(const struct lpo_op_tensor *a, unsigned dims, int64_t out[MOST_DIMS])
{
    size_t n = lpo_operators_numbers(a, out, MOST_DIMS);

    if (n == 0 || n > MOST_DIMS || (n != 1 && n != dims))
        return false;
    for (unsigned i = 1; n == 1 && i < dims; i++)
        out[i] = out[0];
    return true;
}

/* Places of the result of a convolution; negative when the trace does not say. */
static double places(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                     const struct lpo_op_tensor *input, const struct lpo_op_tensor *weight)
{
    bool pad_first = r->how & PAD_FIRST;
    const struct lpo_op_tensor *pads = arg(call, r->word + !pad_first);
    int64_t stride[MOST_DIMS], pad[MOST_DIMS] = { 0 }, spread[MOST_DIMS];
    unsigned dims = weight->rank - 2;
    bool same = pads->value_len == 4 && memcmp(pads->value, "same", 4) == 0;
    bool none = pads->value_len == 5 && memcmp(pads->value, "valid", 5) == 0;
    double n = 1;

    if (!for_each_dim(arg(call, r->word + pad_first), dims, stride) ||
        !for_each_dim(arg(call, r->word + 2), dims, spread) ||
        (!same && !none && !for_each_dim(pads, dims, pad)))
        return -1;
    for (unsigned i = 0; i < dims; i++) {
        double in = (double)input->dims[input->rank - dims + i];
        double reach = (double)spread[i] * ((double)weight->dims[2 + i] - 1) + 1;
        double free = in + 2 * (double)pad[i] - reach;

        if (stride[i] < 1 || (!same && free < 0))
            return -1;
        n *= same ? ceil(in / (double)stride[i]) : floor(free / (double)stride[i]) + 1;
    }
    return n;
}

/* "[True, True, False]": input, weight, bias. The sum over those of the first two that are asked
 * for; each is one more product as large as the forward one. */
static double gradients(const struct lpo_op_tensor *mask, double of_input, double of_weight)
{
    const char *p = mask->value, *end = p ? p + mask->value_len : NULL;
    double n = 0;

    if (!mask->value_len)
        return NAN;
    for (int i = 0; i < 2 && p; i++) {
        p += strspn(p, "[ ,");
        if (*p == 'T' || *p == '1')
            n += i ? of_weight : of_input;
        p = memchr(p, ',', (size_t)(end - p));
    }
    return n;
}

/* Weight [K, C / g, R, S]. Backward, the gradient's places are the result's. */
void lpo_operators_convolution(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                               struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *input = arg(call, r->a), *weight = arg(call, r->b);
    double batch, at, result;
    bool known;
    unsigned dims = weight->rank - 2;
    bool turned =
        r->how & TRANSPOSED || (r->c != NOT_THERE && lpo_operators_flag(arg(call, r->c), &known));

    if (input->count != 1 || weight->count != 1 || weight->rank < 3 || dims > MOST_DIMS ||
        (input->rank != weight->rank && input->rank != weight->rank - 1))
        return;
    batch = input->rank == weight->rank ? (double)input->dims[0] : 1;
    if (turned) { /* each place of the input meets the whole weight of its group */
        at = 1;
        for (unsigned i = 0; i < dims; i++)
            at *= (double)input->dims[input->rank - dims + i];
    } else if (r->how & BACKWARD) {
        const struct lpo_op_tensor *gradient = arg(call, 0);

        if (gradient->rank != input->rank)
            return;
        at = 1;
        for (unsigned i = 0; i < dims; i++)
            at *= (double)gradient->dims[gradient->rank - dims + i];
    } else {
        at = places(r, call, input, weight);
    }
    if (at < 0)
        return;
    out->flops = 2 * batch * weight->elements * at;
    out->math = input->type;
    if (r->how & BACKWARD) {
        out->flops *= gradients(arg(call, r->word), 1, 1);
        out->bytes = bytes_of(arg(call, 0)) + bytes_of(input) + bytes_of(weight) +
                     gradients(arg(call, r->word), bytes_of(input), bytes_of(weight));
        return;
    }
    result = turned ? NAN : batch * (double)weight->dims[0] * at;
    out->bytes = bytes_of(input) + bytes_of(weight) +
                 result * (input->element_bytes > 0 ? input->element_bytes : NAN);
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
        read += bytes_of(a);
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
        read += bytes_of(&call->at[i]);
    if (arg(call, r->a)->count == 1)
        out->bytes = read + bytes_of(arg(call, r->a)) + bytes_of(arg(call, r->b)) +
                     bytes_of(arg(call, r->c));
}

/* Kernels that get their results as arguments: each tensor once. */
void lpo_operators_every_tensor(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                                struct lpo_operator_cost *out)
{
    double moved = 0;

    (void)r;
    for (size_t i = 0; i < call->count; i++)
        moved += bytes_of(&call->at[i]);
    if (arg(call, 0)->count == 1)
        out->bytes = moved;
}

/* Reads b, writes a. */
void lpo_operators_copy(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                        struct lpo_operator_cost *out)
{
    if (arg(call, r->a)->count == 1)
        out->bytes = bytes_of(arg(call, r->a)) + bytes_of(arg(call, r->b));
}

/* A row of the table for each index. */
void lpo_operators_look_up(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *table = arg(call, r->a), *index = arg(call, r->b);

    if (table->count == 1 && index->count == 1 && table->rank == 2 && table->element_bytes > 0)
        out->bytes =
            2 * index->elements * (double)table->dims[1] * table->element_bytes + bytes_of(index);
}
