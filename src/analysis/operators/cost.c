/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a call: by a rule of the user, else by one of ours. */
#include "analysis/operators/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/operators/args.h"
#include "analysis/operators/rules.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/vec.h"
#include "util/xmalloc.h"

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

/* "(2,0)" behind the name of a known operator: which arguments take the places of its own. */
static bool read_places(const char *p, const char *end, struct lpo_operators_rule *r)
{
    int *places[] = { &r->a, &r->b, &r->c };

    if (p == end)
        return true;
    if (*p++ != '(')
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places && p < end && *p != ')'; i++) {
        if (*p < '0' || *p > '9')
            return false;
        *places[i] = *p++ - '0';
        if (p < end && *p >= '0' && *p <= '9')
            *places[i] = *places[i] * 10 + (*p++ - '0');
        p += p < end && *p == ',';
    }
    return p + 1 == end && *p == ')';
}

static int read_own(const char *text, struct own_rule *out, struct lpo_err *err)
{
    const char *sign = strchr(text, '='), *end = sign;
    const char *places = sign ? memchr(text, '(', (size_t)(sign - text)) : NULL;
    const struct lpo_operators_rule *known = NULL;

    if (places)
        end = places;
    if (sign)
        known = lpo_operators_rule_find(text, (size_t)(end - text));
    if (known)
        out->rule = *known;
    if (!known || !read_places(end, sign, &out->rule))
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' is not KNOWN=PATTERN, as in 'aten::linear=my::gemm*' or "
                        "'aten::mm(2,0)=my::op'; KNOWN is an operator in the list of "
                        "docs/operators.md",
                        text);
    return lpo_pattern_create(sign + 1, &out->pattern, err);
}

int lpo_operators_rules_read(const char *const *texts, size_t count,
                             struct lpo_operators_rules **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_operators_rules) r = lpo_xcalloc(1, sizeof *r);

    for (size_t i = 0; i < count; i++) {
        struct own_rule row = { 0 };

        if (read_own(texts[i], &row, err) < 0)
            return err->code;
        lpo_vec_push(&r->rows, row);
    }
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

struct lpo_operator_cost lpo_operators_cost(const struct lpo_trace *t, const struct lpo_op *op,
                                            const struct lpo_operators_rules *own,
                                            const struct lpo_step_lengths *lengths)
{
    struct lpo_operator_cost out = { NAN, NAN, LPO_DTYPE_NONE, false };
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
