/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a call: by a rule of the user, else by one of ours. */
#include "analysis/operators/cost.h"

#include "analysis/operators/args.h"
#include "analysis/operators/rules.h"
#include "rules/rules.h"
#include "trace/trace.h"
#include "util/pattern.h"

struct own_rule {
    struct lpo_pattern *pattern;
    struct lpo_operators_rule rule;
};

struct lpo_operators_rules {
    LPO_VEC(struct own_rule) rows;
};

void lpo_operators_rules_destroy(struct lpo_operators_rules *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->rows.len; i++)
        lpo_pattern_destroy(r->rows.at[i].pattern);
    lpo_vec_free(&r->rows);
    free(r);
}

/* While rules are read. */
struct reading {
    struct lpo_operators_rules *out;
    struct lpo_arena *arena;
};

static int add_own(struct lpo_operators_rules *to, const struct lpo_operators_rule *rule,
                   const char *pattern, struct lpo_err *err)
{
    struct own_rule row = { .rule = *rule };

    if (lpo_pattern_create(pattern, &row.pattern, err) < 0)
        return err->code;
    lpo_vec_push(&to->rows, row);
    return 0;
}

static int add_word(void *ctx, const char *value, const char *word, size_t len, struct lpo_err *err)
{
    struct reading *in = ctx;
    struct lpo_operators_rule r;

    if (lpo_operators_rule_read(value, &r, err) < 0)
        return err->code;
    return add_own(in->out, &r, lpo_arena_strndup(in->arena, word, len), err);
}

/* A file in the grammar of conf/rules/operators.yaml. */
static int read_file(const char *path, struct lpo_operators_rules *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct reading in = { out, arena };
    const struct lpo_node *file;

    if (lpo_rules_read(arena, path, &file, err) < 0)
        return err->code;
    return lpo_rules_each(file, "operators", add_word, &in, err);
}

static int read_own(const char *text, struct lpo_operators_rules *out, struct lpo_err *err)
{
    static const char file[] = "file:";
    const char *sign = strchr(text, '='), *end = sign;
    const char *places = sign ? memchr(text, '(', (size_t)(sign - text)) : NULL;
    const struct lpo_operators_rule *known = NULL;
    struct lpo_operators_rule r = { 0 };

    if (lpo_str_starts(text, file))
        return read_file(text + sizeof file - 1, out, err);
    if (places)
        end = places;
    if (sign)
        known = lpo_operators_rule_find(text, (size_t)(end - text));
    if (known)
        r = *known;
    if (!known || (places && lpo_operators_read_places(places, &r) != sign))
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' is not KNOWN=PATTERN, as in 'aten::linear=my::gemm*' or "
                        "'aten::mm(2,0)=my::op', or file:PATH; KNOWN is an operator in the list of "
                        "docs/operators.md",
                        text);
    return add_own(out, &r, sign + 1, err);
}

int lpo_operators_rules_read(const char *const *texts, size_t count,
                             struct lpo_operators_rules **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_operators_rules) r = lpo_xcalloc(1, sizeof *r);

    for (size_t i = 0; i < count; i++)
        if (read_own(texts[i], r, err) < 0)
            return err->code;
    *out = r;
    r = NULL;
    return 0;
}

static const struct lpo_operators_rule *rule_of(const struct lpo_operators_rules *own,
                                                const char *name, size_t len)
{
    for (size_t i = 0; own && i < own->rows.len; i++)
        if (lpo_pattern_matches(own->rows.at[i].pattern, name, len))
            return &own->rows.at[i].rule;
    return lpo_operators_rule_find(name, len);
}

struct lpo_operator_cost lpo_operators_no_cost(void)
{
    return (struct lpo_operator_cost){ NAN, NAN, .like = { LPO_REF_KINDS } };
}

struct lpo_operator_cost lpo_operators_cost(const struct lpo_trace *t, const struct lpo_op *op,
                                            const struct lpo_operators_rules *own,
                                            const struct lpo_step_lengths *lengths)
{
    struct lpo_operator_cost out = lpo_operators_no_cost();
    const struct lpo_operators_rule *r =
        rule_of(own, lpo_trace_text(t, op->name), lpo_trace_text_len(t, op->name));
    struct lpo_op_call call;

    if (!r)
        return out;
    out.by_step = r->by_step != NULL;
    if ((r->by_step && !lengths) || !lpo_operators_read_args(t, op, &call))
        return out;
    if (r->by_step)
        r->by_step(r, &call, lengths, &out);
    else
        r->cost(r, &call, &out);
    return out;
}
