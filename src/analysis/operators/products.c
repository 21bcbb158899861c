/* SPDX-License-Identifier: Apache-2.0 */
/* Products of two matrices, however their operator takes them. */

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

/* Of one number of the result, [.., columns] with `elements` in all. A wide type stays; a narrow
 * one does not say in what the result is kept, but an argument that takes it does: it has its
 * shape. */
static double result_bytes(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                           double elements, int64_t columns)
{
    const struct lpo_op_tensor *a = arg(call, r->a);

    if (r->word != NOT_THERE)
        return lpo_operators_type_bytes(arg(call, r->word));
    if (a->element_bytes > 1)
        return a->element_bytes;
    for (size_t i = 0; i < call->count; i++) {
        const struct lpo_op_tensor *t = &call->at[i];

        if ((int)i != r->a && (int)i != r->b && t->count == 1 && t->rank > 1 &&
            t->last == columns && t->elements == elements && t->element_bytes > 1)
            return t->element_bytes;
    }
    return NAN;
}

/* One product of two matrices. */
static void set_product(struct lpo_operator_cost *out, enum lpo_dtype type, double m, double n,
                        double k)
{
    out->flops = 2 * m * n * k;
    out->math = type;
    out->like = (struct lpo_reference_work){ LPO_REF_GEMM, .dtype = type, .m = m, .n = n, .k = k };
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
    if (r->how & ROWS_FIRST && a->rank == 3 && b->rank == 3 && a->dims[1] == b->dims[0] &&
        a->dims[0] != b->dims[0]) {
        x.rows = a->dims[0];
        batch = (double)a->dims[1];
    } else if (!batch_of(a, b, &batch)) {
        return;
    }
    if (x.columns != y.rows)
        return;
    result = batch * (double)x.rows * (double)y.columns;
    set_product(out, a->type, result / (double)y.columns, (double)y.columns,
                (double)(x.columns * packed));
    if (b->rank > 2 && batch > 1) /* many matrices: another kernel than was measured */
        out->like.kind = LPO_REF_KINDS;
    out->bytes = lpo_operators_bytes(a) + lpo_operators_bytes(b) +
                 lpo_operators_bytes(arg(call, r->c)) +
                 result * result_bytes(r, call, result, y.columns);
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
    set_product(out, a->type, n, m, k);
    out->bytes = lpo_operators_bytes(a) + lpo_operators_bytes(b) + lpo_operators_bytes(c);
}

/* The same as hipBLASLt's bindings have it: a and b, each behind by its scale, then the type of the
 * result and one word for each matrix. A third word turns the result: as many products. */
void lpo_operators_turned_by_flags(const struct lpo_operators_rule *r,
                                   const struct lpo_op_call *call, struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = arg(call, r->a), *b = arg(call, r->b);
    bool known[2], turned_a = lpo_operators_flag(arg(call, r->word + 1), &known[0]);
    bool turned_b = lpo_operators_flag(arg(call, r->word + 2), &known[1]);
    double m, n, k;

    if (a->count != 1 || b->count != 1 || a->rank != 2 || b->rank != 2 || !known[0] || !known[1])
        return;
    m = (double)a->dims[turned_a];
    k = (double)a->dims[!turned_a];
    n = (double)b->dims[!turned_b];
    if (k != (double)b->dims[turned_b])
        return;
    set_product(out, a->type, m, n, k * (r->how & PACKED ? 2 : 1));
    out->bytes = lpo_operators_bytes(a) + lpo_operators_bytes(arg(call, r->a + 1)) +
                 lpo_operators_bytes(b) + lpo_operators_bytes(arg(call, r->b + 1)) +
                 m * n * lpo_operators_type_bytes(arg(call, r->word));
}

/* Rows of any shape, K long when they are laid flat, by [N, K]; the results are arguments too. */
void lpo_operators_product_of_flat(const struct lpo_operators_rule *r,
                                   const struct lpo_op_call *call, struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = arg(call, r->a), *b = arg(call, r->b);

    if (a->count != 1 || b->count != 1 || a->rank < 2 || b->rank != 2 || b->dims[1] < 1 ||
        fmod(a->elements, (double)b->dims[1]) != 0)
        return;
    set_product(out, a->type, a->elements / (double)b->dims[1], (double)b->dims[0],
                (double)b->dims[1]);
    out->bytes = lpo_operators_all_bytes(call);
}

/* A layer of a library, whatever stands around its two matrices: the first two tensors with rows of
 * the same length. */
void lpo_operators_layer(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                         struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *a = NULL, *b = NULL;

    (void)r;
    for (size_t i = 0; i < call->count && !b; i++) {
        const struct lpo_op_tensor *t = &call->at[i];

        if (t->count != 1 || t->rank < 2)
            continue;
        if (!a)
            a = t;
        else if (t->last == a->last)
            b = t;
    }
    if (!b || a->last < 1 || (a->rank > 2 && b->rank > 2))
        return;
    set_product(out, a->type, a->elements / (double)a->last, b->elements / (double)b->last,
                (double)a->last);
    if (a->element_bytes > 1)
        out->bytes = lpo_operators_all_bytes(call) + a->elements / (double)a->last *
                                                         (b->elements / (double)b->last) *
                                                         a->element_bytes;
}
