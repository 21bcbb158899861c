/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hydra/node.h"
#include "hydra/override/call.h"
#include "hydra/override/sweep.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

/* A cast of one scalar; lists, maps and sweeps are walked for it. */
struct cast {
    const char *name;
    int (*scalar)(struct lpo_arena *a, const struct lpo_node *in, struct lpo_node **out,
                  struct lpo_err *err);
    bool numeric; /* ranges and intervals can be cast */
};

static int refuse(const struct lpo_node *in, const char *to, struct lpo_err *err)
{
    LPO_STR s = { 0 };
    lpo_yaml_py_add_repr(&s, in);
    return lpo_fail(err, LPO_E_CONFIG, "%.100s is not %s", lpo_str_text(&s), to);
}

/* Digits without underscores, blanks around them and needless zeros. */
static void add_bare_number(struct lpo_str *s, const struct lpo_node *in, bool is_int)
{
    size_t i = 0;

    for (; i < in->len && strchr(" \t\n\r\v\f\x1c\x1d\x1e\x1f", in->text[i]); i++)
        ;
    if (i < in->len && (in->text[i] == '-' || in->text[i] == '+'))
        lpo_str_addc(s, in->text[i++]);
    for (; is_int && i + 1 < in->len && strchr("0_", in->text[i]) &&
           strchr("0123456789_", in->text[i + 1]);
         i++)
        ;
    for (; i < in->len; i++)
        if (in->text[i] != '_' && !strchr(" \t\n\r\v\f\x1c\x1d\x1e\x1f", in->text[i]))
            lpo_str_addc(s, in->text[i]);
}

static int int_scalar(struct lpo_arena *a, const struct lpo_node *in, struct lpo_node **out,
                      struct lpo_err *err)
{
    LPO_STR s = { 0 };

    switch (in->kind) {
    case LPO_NODE_BOOL:
        *out = lpo_node_int(a, in->boolean);
        return 0;
    case LPO_NODE_INT:
    case LPO_NODE_BIGINT:
        *out = lpo_node_clone(a, in);
        return 0;
    case LPO_NODE_FLOAT:
        if (!isfinite(in->real))
            return refuse(in, "an integer", err);
        lpo_str_addf(&s, "%.0f", trunc(in->real) + 0.0);
        *out = lpo_node_bigint(a, s.at, s.len);
        return 0;
    case LPO_NODE_STRING:
        if (!lpo_yaml_py_is_int(in->text, in->len))
            return refuse(in, "an integer", err);
        add_bare_number(&s, in, true);
        *out = *s.at == '+' ? lpo_node_bigint(a, s.at + 1, s.len - 1)
                            : lpo_node_bigint(a, s.at, s.len);
        return 0;
    default:
        return refuse(in, "an integer", err);
    }
}

static int float_scalar(struct lpo_arena *a, const struct lpo_node *in, struct lpo_node **out,
                        struct lpo_err *err)
{
    LPO_STR s = { 0 };
    double d;

    switch (in->kind) {
    case LPO_NODE_BOOL:
        d = in->boolean;
        break;
    case LPO_NODE_INT:
        d = (double)in->integer;
        break;
    case LPO_NODE_BIGINT:
        d = strtod(in->text, NULL);
        if (isinf(d))
            return refuse(in, "within a float's range", err);
        break;
    case LPO_NODE_FLOAT:
        d = in->real;
        break;
    case LPO_NODE_STRING:
        if (!lpo_yaml_py_is_float(in->text, in->len))
            return refuse(in, "a number", err);
        add_bare_number(&s, in, false);
        d = strtod(lpo_str_text(&s), NULL);
        break;
    default:
        return refuse(in, "a number", err);
    }
    *out = lpo_node_float(a, d);
    return 0;
}

static int str_scalar(struct lpo_arena *a, const struct lpo_node *in, struct lpo_node **out,
                      struct lpo_err *err)
{
    LPO_STR s = { 0 };

    if (in->kind == LPO_NODE_NULL)
        return lpo_fail(err, LPO_E_CONFIG, "null has no text");
    if (in->kind == LPO_NODE_BOOL)
        lpo_str_add(&s, in->boolean ? "true" : "false");
    else
        lpo_yaml_py_add_str(&s, in);
    *out = lpo_node_stringn(a, lpo_str_text(&s), s.len);
    return 0;
}

static int bool_scalar(struct lpo_arena *a, const struct lpo_node *in, struct lpo_node **out,
                       struct lpo_err *err)
{
    bool b = false;

    if (in->kind == LPO_NODE_STRING) {
        b = strcasecmp(in->text, "true") == 0;
        if (!b && strcasecmp(in->text, "false") != 0)
            return refuse(in, "true or false", err);
    } else if (in->kind != LPO_NODE_NULL) {
        b = in->kind == LPO_NODE_BOOL    ? in->boolean
            : in->kind == LPO_NODE_INT   ? in->integer != 0
            : in->kind == LPO_NODE_FLOAT ? in->real != 0
                                         : true;
    }
    *out = lpo_node_bool(a, b);
    return 0;
}

static int cast_node(const struct cast *cast, struct lpo_arena *a, const struct lpo_node *in,
                     struct lpo_node **out, struct lpo_err *err)
{
    struct lpo_node *part, *made;
    int rc = 0;

    if (in->kind == LPO_NODE_LIST) {
        made = lpo_node_list(a);
        for (size_t i = 0; rc == 0 && i < in->count; i++) {
            rc = cast_node(cast, a, in->items[i], &part, err);
            if (rc == 0)
                lpo_node_push(a, made, part);
        }
    } else if (in->kind == LPO_NODE_MAP) {
        made = lpo_node_map(a);
        for (size_t i = 0; rc == 0 && i < in->npairs; i++) {
            rc = cast_node(cast, a, in->pairs[i].value, &part, err);
            if (rc == 0)
                lpo_node_set_key(a, made, in->pairs[i].key, part);
        }
    } else {
        rc = cast->scalar(a, in, &made, err);
    }
    if (rc == 0) {
        made->where = in->where;
        *out = made;
    }
    return rc;
}

/* A cast choice or range forgets its tags and its shuffle; an interval keeps its tags. */
static int cast_sweep(const struct cast *cast, struct lpo_arena *a, const struct lpo_sweep *in,
                      struct lpo_sweep **out, struct lpo_err *err)
{
    struct lpo_sweep *s = LPO_NEW(a, struct lpo_sweep);
    int rc = 0;

    s->type = in->type;
    if (in->values) {
        rc = cast_node(cast, a, in->values, &s->values, err);
    } else if (!cast->numeric) {
        return lpo_fail(err, LPO_E_CONFIG, "a range or an interval can only become int or float");
    } else {
        rc = cast_node(cast, a, in->start, &s->start, err);
        if (rc == 0)
            rc = cast_node(cast, a, in->stop, &s->stop, err);
        if (rc == 0 && in->step)
            rc = cast_node(cast, a, in->step, &s->step, err);
        if (in->type == LPO_VALUE_INTERVAL) {
            s->tags = in->tags;
            s->ntags = in->ntags;
        }
    }
    *out = s;
    return rc;
}

static int cast_value(const struct cast *cast, struct lpo_override_call *c,
                      struct lpo_override_value *out, struct lpo_err *err)
{
    struct lpo_override_value v = c->params[0];
    bool named = v.sweep || (v.node && v.node->kind != LPO_NODE_NULL);

    if (named && c->count)
        return lpo_fail(err, LPO_E_CONFIG, "a value and value=… cannot both be given");
    if (!named && !c->count)
        return lpo_fail(err, LPO_E_CONFIG, "there is no value");
    if (!named && c->count == 1)
        v = c->args[0];
    if (!named && c->count > 1) {
        v.node = NULL;
        v.sweep = LPO_NEW(c->arena, struct lpo_sweep);
        v.sweep->type = LPO_VALUE_SIMPLE_CHOICE;
        int rc = lpo_override_list(c->arena, c->args, c->count, &v.sweep->values, err);
        if (rc < 0)
            return rc;
    }
    *out = (struct lpo_override_value){ 0 };
    return v.node ? cast_node(cast, c->arena, v.node, &out->node, err)
                  : cast_sweep(cast, c->arena, v.sweep, &out->sweep, err);
}

#define CAST(kind, is_numeric)                                                                     \
    int lpo_override_cast_##kind(struct lpo_override_call *c, struct lpo_override_value *out,      \
                                 struct lpo_err *err)                                              \
    {                                                                                              \
        static const struct cast cast = { #kind, kind##_scalar, is_numeric };                      \
        return cast_value(&cast, c, out, err);                                                     \
    }

CAST(int, true)
CAST(float, true)
CAST(str, false)
CAST(bool, false)
