/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, forward, backward and transposed. */

#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"

enum { MOST_DIMS = 3 }; /* in which a convolution moves */

static const struct lpo_op_tensor *arg(const struct lpo_op_call *call, int i)
{
    return lpo_operators_arg(call, i);
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

    for (unsigned i = 0; i < MOST_DIMS; i++)
        spread[i] = 1;
    if (!for_each_dim(arg(call, r->word + pad_first), dims, stride) ||
        (!(r->how & NOT_SPREAD) && !for_each_dim(arg(call, r->word + 2), dims, spread)) ||
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
        out->bytes =
            lpo_operators_bytes(arg(call, 0)) + lpo_operators_bytes(input) +
            lpo_operators_bytes(weight) +
            gradients(arg(call, r->word), lpo_operators_bytes(input), lpo_operators_bytes(weight));
        return;
    }
    result = turned ? NAN : batch * (double)weight->dims[0] * at;
    out->bytes = lpo_operators_bytes(input) + lpo_operators_bytes(weight) +
                 result * (input->element_bytes > 0 ? input->element_bytes : NAN);
}

/* Each channel by a weight of its own, over those before: [B, C, L] by [C, W]. */
void lpo_operators_causal_convolution(const struct lpo_operators_rule *r,
                                      const struct lpo_op_call *call, struct lpo_operator_cost *out)
{
    const struct lpo_op_tensor *input = arg(call, r->a), *weight = arg(call, r->b);

    if (input->count != 1 || weight->count != 1 || input->rank != 3 || weight->rank != 2 ||
        input->dims[1] != weight->dims[0])
        return;
    out->flops = 2 * input->elements * (double)weight->last;
    out->math = input->type;
    out->bytes = 2 * lpo_operators_bytes(input) + lpo_operators_bytes(weight) +
                 lpo_operators_bytes(arg(call, r->c));
}
