/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/args.h"

#include <strings.h>

#include "trace/trace.h"

/* Types as PyTorch's profiler names them, in small letters and without their namespace: other
 * writers of its format say "Float", "c10::bfloat16" or "torch.float16". */
static const struct type_name {
    const char *name;
    enum lpo_dtype type;
    double bytes;
} type_names[] = {
    { "float", LPO_FP32, 4 },
    { "bfloat16", LPO_BF16, 2 },
    { "half", LPO_FP16, 2 },
    { "float16", LPO_FP16, 2 },
    { "float32", LPO_FP32, 4 },
    { "double", LPO_FP64, 8 },
    { "long int", LPO_INT64, 8 },
    { "long", LPO_INT64, 8 },
    { "int", LPO_INT32, 4 },
    { "short int", LPO_INT16, 2 },
    { "short", LPO_INT16, 2 },
    { "signed char", LPO_INT8, 1 },
    { "unsigned char", LPO_INT8, 1 },
    { "bool", LPO_BOOL, 1 },
    { "float8_e4m3fn", LPO_FP8, 1 },
    { "float8_e5m2", LPO_FP8, 1 },
    { "float8_e4m3fnuz", LPO_FP8, 1 },
    { "float8_e5m2fnuz", LPO_FP8, 1 },
    { "float8_e8m0fnu", LPO_FP8, 1 },
    { "float4_e2m1fn_x2", LPO_FP4, 1 }, /* two numbers in each */
    { "unsigned short", LPO_INT16, 2 },
    { "unsigned int", LPO_INT32, 4 },
    { "unsigned long", LPO_INT64, 8 },
    { "complex<float>", LPO_DTYPE_NONE, 8 },
    { "complex<double>", LPO_DTYPE_NONE, 16 },
};

static void skip_prefix(const char **text, size_t *len, const char *prefix)
{
    size_t n = strlen(prefix);

    if (*len > n && memcmp(*text, prefix, n) == 0) {
        *text += n;
        *len -= n;
    }
}

static void set_type(struct lpo_op_tensor *a, const char *text, size_t len)
{
    skip_prefix(&text, &len, "c10::");
    skip_prefix(&text, &len, "torch.");
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++) {
        const struct type_name *n = &type_names[i];

        if (strlen(n->name) == len && strncasecmp(n->name, text, len) == 0) {
            a->type = n->type;
            a->element_bytes = n->bytes;
            if (!a->count) { /* "[]" of a type that numbers have: a tensor without dimensions */
                a->count = 1;
                a->elements = 1;
            }
            return;
        }
    }
}

/* A number of the text; false at anything else, and at what no tensor has. */
static bool number(const char **p, const char *end, int64_t *out)
{
    int64_t v = 0;
    const char *from = *p;

    for (; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
        if (v > INT64_MAX / 10 - 1)
            return false;
        v = v * 10 + (**p - '0');
    }
    *out = v;
    return *p > from;
}

/* "[8,128]" behind its bracket, up to and with the other one. */
static bool read_dims(const char **p, const char *end, struct lpo_op_tensor *a)
{
    double elements = 1;
    int64_t last = -1;
    unsigned rank = 0;
    bool first = a->count == 0;

    while (*p < end && **p != ']') {
        int64_t n;

        if (!number(p, end, &n) || rank >= LPO_OP_RANK)
            return false;
        if (first)
            a->dims[rank] = n;
        last = n;
        rank++;
        elements *= (double)n;
        if (*p < end && **p == ',')
            (*p)++;
    }
    if (*p == end)
        return false;
    (*p)++;
    if (first)
        a->rank = rank;
    a->last = first || a->last == last ? last : -1;
    a->count++;
    a->elements += elements;
    return true;
}

/* One argument: "[]" is no tensor, "[8,128]" one, "[[2],[3]]" a list. */
static bool read_arg(const char **p, const char *end, struct lpo_op_tensor *a)
{
    if (*p == end || **p != '[')
        return false;
    (*p)++;
    if (*p < end && **p == ']') {
        (*p)++;
        return true;
    }
    if (*p == end || **p != '[')
        return read_dims(p, end, a);
    while (*p < end && **p != ']') {
        if (**p != '[')
            return false;
        (*p)++;
        if (!read_dims(p, end, a))
            return false;
        if (*p < end && **p == ',')
            (*p)++;
    }
    if (*p == end)
        return false;
    (*p)++;
    return true;
}

static bool read_shapes(const char *p, size_t len, struct lpo_op_call *call)
{
    const char *end = p + len;

    if (len < 2 || *p++ != '[')
        return false;
    while (p < end && *p != ']') {
        struct lpo_op_tensor arg = { 0 };

        if (!read_arg(&p, end, &arg))
            return false;
        if (call->count < LPO_OP_ARGS)
            call->at[call->count++] = arg;
        if (p < end && *p == ',')
            p++;
    }
    return p < end;
}

/* Each text of a list of strings, of at most so many arguments. */
static void each_text(const char *p, size_t len, struct lpo_op_call *call, size_t most,
                      void (*take)(struct lpo_op_tensor *a, const char *text, size_t len))
{
    const char *end = p + len;

    for (size_t i = 0; i < most; i++) {
        const char *from = memchr(p, '"', (size_t)(end - p)), *to;

        if (!from)
            return;
        from++;
        to = memchr(from, '"', (size_t)(end - from));
        if (!to)
            return;
        call->count = i < call->count ? call->count : i + 1;
        take(&call->at[i], from, (size_t)(to - from));
        p = to + 1;
    }
}

static void set_value(struct lpo_op_tensor *a, const char *text, size_t len)
{
    a->value = text;
    a->value_len = len;
}

bool lpo_operators_read_args(const struct lpo_trace *t, const struct lpo_op *op,
                             struct lpo_op_call *out)
{
    const struct lpo_op_args *args;

    *out = (struct lpo_op_call){ 0 };
    if (op->args == LPO_NONE)
        return false;
    args = &t->op_args.at[op->args];
    if (args->dims == LPO_NONE ||
        !read_shapes(lpo_trace_text(t, args->dims), lpo_trace_text_len(t, args->dims), out))
        return false;
    each_text(lpo_trace_text(t, args->types), lpo_trace_text_len(t, args->types), out, out->count,
              set_type);
    /* shapes may be left out of the last arguments, which are no tensors */
    each_text(lpo_trace_text(t, args->values), lpo_trace_text_len(t, args->values), out,
              LPO_OP_ARGS, set_value);
    return true;
}

const struct lpo_op_tensor *lpo_operators_arg(const struct lpo_op_call *call, int i)
{
    static const struct lpo_op_tensor none = { 0 };

    return i >= 0 && (size_t)i < call->count ? &call->at[i] : &none;
}

double lpo_operators_bytes(const struct lpo_op_tensor *arg)
{
    if (!arg->count)
        return 0;
    return arg->element_bytes > 0 ? arg->elements * arg->element_bytes : NAN;
}

double lpo_operators_type_bytes(const struct lpo_op_tensor *arg)
{
    static const double bytes[] = { 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2 };
    int64_t type;

    if (arg->count)
        return arg->element_bytes > 0 ? arg->element_bytes : NAN;
    if (lpo_operators_numbers(arg, &type, 1) != 1 || type < 0 ||
        type >= (int64_t)(sizeof bytes / sizeof *bytes))
        return NAN;
    return bytes[type];
}

double lpo_operators_all_bytes(const struct lpo_op_call *call)
{
    double bytes = 0;

    for (size_t i = 0; i < call->count; i++)
        bytes += lpo_operators_bytes(&call->at[i]);
    return bytes;
}

bool lpo_operators_flag(const struct lpo_op_tensor *arg, bool *known)
{
    *known = arg->value_len > 0;
    return *known &&
           (*arg->value == 'T' || *arg->value == 't' || (*arg->value >= '1' && *arg->value <= '9'));
}

size_t lpo_operators_numbers(const struct lpo_op_tensor *arg, int64_t *out, size_t most)
{
    const char *p = arg->value, *end = p ? p + arg->value_len : NULL;
    size_t n = 0;

    while (p < end) {
        int64_t v;

        if (*p >= '0' && *p <= '9') {
            bool below = p > arg->value && p[-1] == '-';

            if (!number(&p, end, &v))
                return n;
            if (n < most)
                out[n] = below ? -v : v;
            n++;
        } else {
            p++;
        }
    }
    return n;
}
