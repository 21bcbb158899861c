/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: one length for all sequences, sequences laid end to end, and those of a paged cache,
 * whose lengths only the step around the call says. */

#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"
#include "analysis/steps/steps.h"

/* Query, key or value, taken apart. */
struct heads {
    double batch, heads, length, size, element_bytes;
};

/* [B, H, L, D] or [B, L, H, D]; five dimensions: a batch of batches. */
static bool heads_of(const struct lpo_op_tensor *a, unsigned how, struct heads *out)
{
    const int64_t *d = a->dims + (a->rank == 5);

    if (a->count != 1 || (a->rank != 4 && a->rank != 5))
        return false;
    out->batch = (double)a->dims[0] * (double)(a->rank == 5 ? a->dims[1] : 1);
    out->heads = (double)d[how & TOKENS ? 2 : 1];
    out->length = (double)d[how & TOKENS ? 1 : 2];
    out->size = (double)d[3];
    out->element_bytes = a->element_bytes > 0 ? a->element_bytes : NAN;
    return true;
}

/* All sequences in one row, [L, H, D] or [1, L, H, D]. */
static bool row_of(const struct lpo_op_tensor *a, struct heads *out)
{
    const int64_t *d = a->dims + (a->rank == 4);

    if (a->count != 1 || (a->rank != 3 && (a->rank != 4 || a->dims[0] != 1)))
        return false;
    *out = (struct heads){ 1, (double)d[1], (double)d[0], (double)d[2],
                           a->element_bytes > 0 ? a->element_bytes : NAN };
    return true;
}

static double elements(const struct heads *a)
{
    return a->batch * a->heads * a->length * a->size;
}

/* `pairs` of a query and a key, over all sequences and for one head. Backward computes the scores
 * again, and a product for each of four gradients: three of them as wide as a key. */
static void set_cost(const struct lpo_operators_rule *r, double pairs, const struct heads *q,
                     const struct heads *k, const struct heads *v, struct lpo_operator_cost *out)
{
    double result = q->batch * q->heads * q->length * v->size;

    out->flops = 2 * pairs * q->heads * (q->size + v->size);
    out->bytes = (elements(q) + result) * q->element_bytes + elements(k) * k->element_bytes +
                 elements(v) * v->element_bytes;
    if (r->how & BACKWARD) { /* reads the three, the result and its gradient; writes three more */
        out->flops = 2 * pairs * q->heads * (3 * q->size + 2 * v->size);
        out->bytes *= 2;
    }
}

/* A prompt whose tokens see those before them, or one new token of each sequence: both were
 * measured. */
static void set_measured(bool causal, enum lpo_dtype type, const struct heads *q,
                         const struct heads *k, struct lpo_operator_cost *out)
{
    bool step = q->length == 1 && k->length > 1;

    if (step || (causal && q->length == k->length && q->length > 1))
        out->like = (struct lpo_reference_work){ step ? LPO_REF_GENERATION_ATTENTION
                                                      : LPO_REF_CONTEXT_ATTENTION,
                                                 .dtype = type,
                                                 .batch = q->batch,
                                                 .tokens = q->length,
                                                 .cached = k->length - 1,
                                                 .heads = q->heads,
                                                 .kv_heads = k->heads,
                                                 .head_dim = q->size };
}

/* The trace has how many sequences there are and how long the longest is. The others are taken to
 * be equally long: exact where they are, and else the least that they can be. */
static double pairs_in_rows(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                            const struct heads *q, const struct heads *k)
{
    const struct lpo_op_tensor *ends = lpo_operators_arg(call, r->ends);
    double others = ends->elements - 2;
    int64_t longest_q, longest_k;

    if (others < 1)
        return q->length * k->length;
    if (lpo_operators_numbers(lpo_operators_arg(call, r->longest), &longest_q, 1) != 1 ||
        lpo_operators_numbers(lpo_operators_arg(call, r->longest + 1), &longest_k, 1) != 1 ||
        longest_q < 1 || longest_k < 1 || (double)longest_q > q->length ||
        (double)longest_k > k->length)
        return NAN;
    return (double)longest_q * (double)longest_k +
           (q->length - (double)longest_q) * (k->length - (double)longest_k) / others;
}

void lpo_operators_attention(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                             struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *query = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *key = lpo_operators_arg(call, r->b);
    const struct lpo_op_tensor *value = lpo_operators_arg(call, r->c);
    const struct lpo_op_tensor *ends = lpo_operators_arg(call, r->ends ? r->ends : NOT_THERE);
    struct heads q, k, v;
    double pairs;
    bool known, causal;

    if (ends->count == 1 && ends->rank == 1 && ends->elements >= 2) {
        if (!row_of(query, &q) || !row_of(key, &k) || !row_of(value, &v))
            return;
        pairs = pairs_in_rows(r, call, &q, &k);
    } else {
        if (!heads_of(query, r->how, &q) || !heads_of(key, r->how, &k) ||
            !heads_of(value, r->how, &v))
            return;
        pairs = q.batch * q.length * k.length;
    }
    if (q.size != k.size || isnan(pairs))
        return;
    causal = lpo_operators_flag(lpo_operators_arg(call, r->word), &known);
    set_cost(r, known && causal ? pairs / 2 : pairs, &q, &k, &v, out);
    out->math = query->type;
    if (!(r->how & BACKWARD) && k.size == v.size && !ends->count)
        set_measured(known && causal, query->type, &q, &k, out);
}

/* The indices of the keys that each query sees are arguments, those before its chunk and those in
 * it: one head of keys, which are the values as well. */
void lpo_operators_sparse_attention(const struct lpo_operators_rule *r,
                                    const struct lpo_op_call *call, struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *q = lpo_operators_arg(call, r->a);
    const struct lpo_op_tensor *before = lpo_operators_arg(call, r->b);
    const struct lpo_op_tensor *inside = lpo_operators_arg(call, r->c);
    const struct lpo_op_tensor *k = lpo_operators_arg(call, r->word);
    double pairs = before->elements + inside->elements;

    if (q->count != 1 || q->rank != 3 || before->count != 1 || before->rank != 1 ||
        inside->count != 1 || inside->rank != 1)
        return;
    out->flops = 4 * pairs * (double)q->dims[1] * (double)q->last;
    out->math = q->type;
    if (q->element_bytes > 0 && k->element_bytes > 0)
        out->bytes =
            2 * q->elements * q->element_bytes + pairs * (double)q->last * k->element_bytes;
}

/* One new token of each sequence, each of which sees what its window holds. The cache is
 * [blocks, heads, ..] in an order of the kernel's own. */
static void decode_attention(const struct lpo_operators_rule *r, const struct lpo_op_call *call,
                             const struct lpo_step_lengths *lengths, struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *q = lpo_operators_arg(call, r->a),
                               *k = lpo_operators_arg(call, r->b);
    double pairs = lengths->generation.queries_by_keys, keys = lengths->generation.keys;
    double queries = lengths->generation.queries;
    int64_t window;

    if (q->count != 1 || q->rank != 3 || k->count != 1 || k->rank < 2)
        return;
    if (lpo_operators_numbers(lpo_operators_arg(call, r->word), &window, 1) == 1 && window > 0) {
        pairs = fmin(pairs, queries * (double)window);
        keys = fmin(keys, queries * (double)window);
    }
    out->flops = 4 * pairs * (double)q->dims[1] * (double)q->last;
    out->math = q->type;
    if (q->element_bytes > 0 && k->element_bytes > 0)
        out->bytes = 2 * (double)q->last *
                     (queries * (double)q->dims[1] * q->element_bytes +
                      keys * (double)k->dims[1] * k->element_bytes);
}

/* Keys stand behind their sequence in a chunk of context; in the chunk itself only those before. */
void lpo_operators_paged_attention(const struct lpo_operators_rule *r,
                                   const struct lpo_op_call *call,
                                   const struct lpo_step_lengths *lengths,
                                   struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *q = lpo_operators_arg(call, r->a),
                               *k = lpo_operators_arg(call, r->b);
    const struct lpo_op_tensor *v = lpo_operators_arg(call, r->c);
    double pairs = lengths->context.queries_by_keys - lengths->context.queries_squared / 2 +
                   lengths->generation.queries_by_keys;
    double queries = lengths->context.queries + lengths->generation.queries;
    double keys = lengths->context.keys + lengths->generation.keys;
    double size, value_size;

    if (r->how & DECODE) {
        decode_attention(r, call, lengths, out);
        return;
    }
    if (q->count != 1 || q->rank != 3 || k->count != 1 || k->rank < 3)
        return;
    size = (double)q->dims[2];
    value_size = v->count == 1 && v->rank >= 3 ? (double)v->dims[v->rank - 1] : size;
    if ((double)k->dims[k->rank - 1] != size)
        return;
    out->flops = 2 * pairs * (double)q->dims[1] * (size + value_size);
    out->math = q->type;
    if (q->element_bytes > 0 && k->element_bytes > 0)
        out->bytes = (size + value_size) * (queries * (double)q->dims[1] * q->element_bytes +
                                            keys * (double)k->dims[k->rank - 2] * k->element_bytes);
}
