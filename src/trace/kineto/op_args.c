/* SPDX-License-Identifier: Apache-2.0 */
/* What operators were called with: shapes, types and the values that decide how much is computed.
 */

#include "trace/kineto/private.h"
#include "trace/trace.h"

struct lpo_kineto_args {
    struct lpo_trace *t;
    struct lpo_str scratch;
    struct lpo_map *rows;              /* texts of arguments to rows of op_args */
    LPO_VEC(unsigned char) has_values; /* per name */
};

struct lpo_kineto_args *lpo_kineto_args_create(struct lpo_trace *t)
{
    struct lpo_kineto_args *a = lpo_xcalloc(1, sizeof *a);

    a->t = t;
    a->rows = lpo_map_create();
    return a;
}

void lpo_kineto_args_destroy(struct lpo_kineto_args *a)
{
    if (!a)
        return;
    lpo_map_destroy(a->rows);
    lpo_vec_free(&a->has_values);
    lpo_str_free(&a->scratch);
    free(a);
}

/* JSON without the spaces between its parts: "[[8, 128], []]" is "[[8,128],[]]", "long int" stays.
 */
static uint32_t json_of(struct lpo_kineto_args *a, const struct lpo_json_pull_text *json)
{
    bool quoted = false;
    char *to;

    if (!json->len)
        return LPO_NONE;
    lpo_str_clear(&a->scratch);
    lpo_str_addn(&a->scratch, json->at, json->len);
    to = a->scratch.at;
    for (size_t i = 0; i < json->len; i++) {
        *to = json->at[i];
        quoted ^= *to == '"';
        to += quoted || (unsigned char)*to > ' ';
    }
    return lpo_trace_namen(a->t, a->scratch.at, (size_t)(to - a->scratch.at));
}

static bool starts(const struct lpo_json_pull_text *name, const char *with)
{
    return name->len >= strlen(with) && memcmp(name->at, with, strlen(with)) == 0;
}

/* Operators whose work is not in their shapes alone: strides and groups of a convolution, whether
 * attention is causal, which dimensions are summed. Values of all others of PyTorch (offsets of
 * every slice) would fill the memory; those of libraries are few, and rules of the user may ask for
 * them. What goes through autograd's engine and between GPUs counts its calls in them. */
static bool values_matter(const struct lpo_json_pull_text *name)
{
    static const char *const parts[] = { "conv", "Conv",      "attention",  "attn",
                                         "Attn", "scaled_mm", "grouped_mm", "int4pack" };
    static const char *const reductions[] = { "aten::sum", "aten::mean",    "aten::max",
                                              "aten::min", "aten::amax",    "aten::amin",
                                              "aten::std", "aten::var",     "aten::norm",
                                              "aten::log", "aten::linalg_", "aten::arg",
                                              "aten::all", "aten::any" };
    static const char *const without[] = { "autograd::", "c10d::", "c10d_functional::",
                                           "_c10d_functional::" };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memmem(name->at, name->len, parts[i], strlen(parts[i])))
            return true;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (starts(name, reductions[i]))
            return true;
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (starts(name, without[i]))
            return false;
    if (starts(name, "aten::"))
        return false;
    return memmem(name->at, name->len, "::", 2) != NULL || starts(name, "Mamba");
}

/* Asked for every operator: an answer for each name. */
static bool keeps_values(struct lpo_kineto_args *a, uint32_t id,
                         const struct lpo_json_pull_text *name)
{
    enum { UNASKED, NO, YES };

    while (a->has_values.len <= id)
        lpo_vec_push(&a->has_values, UNASKED);
    if (a->has_values.at[id] == UNASKED)
        a->has_values.at[id] = values_matter(name) ? YES : NO;
    return a->has_values.at[id] == YES;
}

static uint32_t new_args(struct lpo_kineto_args *a, const struct kineto_event *e, bool values)
{
    struct lpo_op_args args = { .dims = json_of(a, &e->dims),
                                .types = json_of(a, &e->types),
                                .values = values ? json_of(a, &e->values) : LPO_NONE };

    return lpo_trace_op_args(a->t, &args);
}

/* Calls repeat: their texts as they stand in the file are looked up together, once. */
uint32_t lpo_kineto_args_row(struct lpo_kineto_args *a, const struct kineto_event *e, uint32_t name)
{
    enum { MOST_KEPT = 65536, LONGEST = 1024 };
    const struct lpo_json_pull_text *parts[] = { &e->dims, &e->types, &e->values };
    bool values = e->values.len && keeps_values(a, name, &e->name);
    char key[LONGEST];
    size_t len = 0;
    bool fresh;
    uint64_t *row;

    if (!e->dims.len && !e->types.len)
        return LPO_NONE;
    if (lpo_map_count(a->rows) >= MOST_KEPT) /* no call is like another: nothing to gain */
        return new_args(a, e, values);
    for (int i = 0; i < 2 + values; i++) {
        if (parts[i]->len >= LONGEST - len)
            return new_args(a, e, values);
        if (parts[i]->len) /* one may be missing */
            memcpy(key + len, parts[i]->at, parts[i]->len);
        len += parts[i]->len;
        key[len++] = '\n';
    }
    row = lpo_map_put(a->rows, key, len, &fresh);
    if (fresh)
        *row = new_args(a, e, values);
    return (uint32_t)*row;
}
