/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two matrices, however their operator takes them. */
#include <math.h>

#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"

static const struct lpo_op_tensor *arg(const struct lpo_op_call *call, int i)
{
    return lpo_operators_arg(call, i);
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
    out->bytes = lpo_operators_bytes(a) + lpo_operators_bytes(b) +
                 lpo_operators_bytes(arg(call, r->c)) +
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
    out->bytes = lpo_operators_bytes(a) + lpo_operators_bytes(b) + lpo_operators_bytes(c);
}
