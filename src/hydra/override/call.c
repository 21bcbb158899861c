/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/override/override.h"

#include <strings.h>

#include "hydra/node.h"
#include "hydra/yaml/yaml.h"

/* --- casts --------------------------------------------------------------------------------------
 */

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
    static int cast_##kind(struct lpo_override_call *c, struct lpo_override_value *out,            \
                           struct lpo_err *err)                                                    \
    {                                                                                              \
        static const struct cast cast = { #kind, kind##_scalar, is_numeric };                      \
        return cast_value(&cast, c, out, err);                                                     \
    }

CAST(int, true)
CAST(float, true)
CAST(str, false)
CAST(bool, false)

/* --- the functions ------------------------------------------------------------------------------
 */

/* Kinds of arguments, one bit each. */
enum {
    T_NULL = 1 << 0,
    T_STR = 1 << 1,
    T_INT = 1 << 2,
    T_FLOAT = 1 << 3,
    T_BOOL = 1 << 4,
    T_LIST = 1 << 5,
    T_MAP = 1 << 6,
    T_CHOICE = 1 << 7,
    T_RANGE = 1 << 8,
    T_INTERVAL = 1 << 9,
    T_GLOB = 1 << 10,
    /* what Hydra's signatures name; a bool counts as a number */
    T_NUMBER = T_INT | T_FLOAT | T_BOOL,
    T_ELEMENT = T_STR | T_NUMBER | T_LIST | T_MAP,
    T_SWEEP = T_CHOICE | T_RANGE | T_INTERVAL,
    T_ANY = T_NULL | T_ELEMENT | T_SWEEP,
};

struct param {
    const char *name;
    unsigned types;
    bool required;
};

struct function {
    const char *name;
    unsigned rest; /* kinds *args may have; 0: the parameters are positional too */
    struct param params[LPO_OV_MAX_PARAMS];
    lpo_ov_fn *call;
};

static unsigned type_of(struct lpo_override_value v)
{
    static const unsigned nodes[] = {
        [LPO_NODE_NULL] = T_NULL,  [LPO_NODE_BOOL] = T_BOOL,   [LPO_NODE_INT] = T_INT,
        [LPO_NODE_BIGINT] = T_INT, [LPO_NODE_FLOAT] = T_FLOAT, [LPO_NODE_STRING] = T_STR,
        [LPO_NODE_BYTES] = T_STR,  [LPO_NODE_LIST] = T_LIST,   [LPO_NODE_MAP] = T_MAP,
    };
    static const unsigned sweeps[] = {
        [LPO_VALUE_SIMPLE_CHOICE] = T_CHOICE,
        [LPO_VALUE_CHOICE] = T_CHOICE,
        [LPO_VALUE_GLOB] = T_GLOB,
        [LPO_VALUE_RANGE] = T_RANGE,
        [LPO_VALUE_INTERVAL] = T_INTERVAL,
    };
    return v.node ? nodes[v.node->kind] : v.sweep ? sweeps[v.sweep->type] : 0;
}

static const char *type_name(struct lpo_override_value v)
{
    static const char *const sweeps[] = {
        [LPO_VALUE_SIMPLE_CHOICE] = "a choice",
        [LPO_VALUE_CHOICE] = "a choice",
        [LPO_VALUE_GLOB] = "a glob",
        [LPO_VALUE_RANGE] = "a range",
        [LPO_VALUE_INTERVAL] = "an interval",
    };
    return v.node ? lpo_node_kind_name(v.node->kind) : sweeps[v.sweep->type];
}

static bool is_given(struct lpo_override_value v)
{
    return v.node || v.sweep;
}

static struct lpo_sweep *new_sweep(struct lpo_override_call *c, enum lpo_value_type type,
                                   struct lpo_override_value *out)
{
    out->node = NULL;
    out->sweep = LPO_NEW(c->arena, struct lpo_sweep);
    out->sweep->type = type;
    return out->sweep;
}

int lpo_override_list(struct lpo_arena *a, const struct lpo_override_value *values, size_t count,
                      struct lpo_node **out, struct lpo_err *err)
{
    struct lpo_node *list = lpo_node_list(a);

    for (size_t i = 0; i < count; i++) {
        if (!values[i].node)
            return lpo_fail(err, LPO_E_CONFIG, "%s cannot be one of several values",
                            type_name(values[i]));
        lpo_node_push(a, list, values[i].node);
    }
    *out = list;
    return 0;
}

static int choice(struct lpo_override_call *c, struct lpo_override_value *out, struct lpo_err *err)
{
    struct lpo_node *values;

    if (c->count == 0)
        return lpo_fail(err, LPO_E_CONFIG, "a choice needs at least one value");
    if (c->count == 1 && c->args[0].sweep) {
        if (c->args[0].sweep->type == LPO_VALUE_CHOICE)
            return lpo_fail(err, LPO_E_CONFIG, "a choice cannot hold another choice");
        *out = c->args[0];
        out->sweep->type = LPO_VALUE_CHOICE;
        return 0;
    }
    int rc = lpo_override_list(c->arena, c->args, c->count, &values, err);
    if (rc == 0)
        new_sweep(c, LPO_VALUE_CHOICE, out)->values = values;
    return rc;
}

/* range(5) is range(0,5), as in Python. */
static int range(struct lpo_override_call *c, struct lpo_override_value *out, struct lpo_err *err)
{
    struct lpo_node *start = c->params[0].node, *stop = c->params[1].node;
    struct lpo_node *step = c->params[2].node;

    if (!stop || stop->kind == LPO_NODE_NULL) {
        stop = start;
        start = lpo_node_int(c->arena, 0);
    }
    struct lpo_sweep *s = new_sweep(c, LPO_VALUE_RANGE, out);
    s->start = start;
    s->stop = stop;
    s->step = step ? step : lpo_node_int(c->arena, 1);
    return 0;
}

/* The ends become floats: a sweeper draws from the interval. */
static int interval(struct lpo_override_call *c, struct lpo_override_value *out,
                    struct lpo_err *err)
{
    struct lpo_override_value ends[2];

    for (int i = 0; i < 2; i++) {
        struct lpo_override_call cast = { .arena = c->arena, .args = &c->params[i], .count = 1 };
        int rc = cast_float(&cast, &ends[i], err);
        if (rc < 0)
            return rc;
    }
    struct lpo_sweep *s = new_sweep(c, LPO_VALUE_INTERVAL, out);
    s->start = ends[0].node;
    s->stop = ends[1].node;
    return 0;
}

static struct lpo_node *patterns(struct lpo_override_call *c, struct lpo_node *given)
{
    if (given && given->kind == LPO_NODE_LIST)
        return given;
    struct lpo_node *list = lpo_node_list(c->arena);
    if (given && given->kind != LPO_NODE_NULL)
        lpo_node_push(c->arena, list, given);
    return list;
}

static int glob(struct lpo_override_call *c, struct lpo_override_value *out, struct lpo_err *err)
{
    struct lpo_sweep *s = new_sweep(c, LPO_VALUE_GLOB, out);

    s->include = patterns(c, c->params[0].node);
    s->exclude = patterns(c, c->params[1].node);
    return 0;
}

LPO_COMPARE(by_text, char *const, strcmp(*a, *b));

/* Sorted, each once. */
static void tidy_tags(struct lpo_sweep *s)
{
    size_t kept = 0;

    qsort(s->tags, s->ntags, sizeof *s->tags, by_text);
    for (size_t i = 0; i < s->ntags; i++)
        if (!kept || strcmp(s->tags[kept - 1], s->tags[i]) != 0)
            s->tags[kept++] = s->tags[i];
    s->ntags = kept;
}

/* tag(t1,t2,choice(…)): the sweep comes last, or by name as sweep=. */
static int tag(struct lpo_override_call *c, struct lpo_override_value *out, struct lpo_err *err)
{
    size_t ntags = c->count;
    struct lpo_override_value last = c->params[0];

    if (c->count == 0)
        return lpo_fail(err, LPO_E_CONFIG, "it needs tags and then a sweep");
    if (!last.sweep)
        last = c->args[--ntags];
    if (!last.sweep)
        return lpo_fail(err, LPO_E_CONFIG,
                        "the last argument has to be choice(…), range(…) or interval(…), not %s",
                        type_name(last));
    struct lpo_sweep *s = last.sweep;
    s->tags = lpo_arena_array(c->arena, ntags + 1, sizeof *s->tags);
    s->ntags = 0;
    for (size_t i = 0; i < ntags; i++) {
        if (!c->args[i].node)
            return lpo_fail(err, LPO_E_CONFIG, "a tag is a string, not %s", type_name(c->args[i]));
        s->tags[s->ntags++] = c->args[i].node->text;
    }
    tidy_tags(s);
    *out = last;
    return 0;
}

/* Sorted by name: an unknown function's message lists them. */
static const struct function functions[] = {
    { "bool", T_ANY, { { "value", T_ANY, false } }, cast_bool },
    { "choice", T_ELEMENT | T_CHOICE, { { NULL } }, choice },
    { "float", T_ANY, { { "value", T_ANY, false } }, cast_float },
    { "glob",
      0,
      { { "include", T_LIST | T_STR, true }, { "exclude", T_LIST | T_STR | T_NULL, false } },
      glob },
    { "int", T_ANY, { { "value", T_ANY, false } }, cast_int },
    { "interval", 0, { { "start", T_NUMBER, true }, { "end", T_NUMBER, true } }, interval },
    { "range",
      0,
      { { "start", T_NUMBER, true },
        { "stop", T_NUMBER | T_NULL, false },
        { "step", T_NUMBER, false } },
      range },
    { "shuffle",
      T_ELEMENT | T_CHOICE | T_RANGE,
      { { "sweep", T_CHOICE | T_RANGE | T_NULL, false }, { "list", T_LIST | T_NULL, false } },
      lpo_override_shuffle },
    { "sort",
      T_ELEMENT | T_CHOICE | T_RANGE,
      { { "sweep", T_CHOICE | T_RANGE | T_NULL, false },
        { "list", T_LIST | T_NULL, false },
        { "reverse", T_BOOL, false } },
      lpo_override_sort },
    { "str", T_ANY, { { "value", T_ANY, false } }, cast_str },
    { "tag", T_STR | T_SWEEP, { { "sweep", T_SWEEP | T_NULL, false } }, tag },
};

#define NFUNCTIONS (sizeof functions / sizeof *functions)

static const struct function *find(const char *name, struct lpo_err *err)
{
    const char *all[NFUNCTIONS];
    LPO_STR list = { 0 };

    for (size_t i = 0; i < NFUNCTIONS; i++) {
        if (lpo_streq(name, functions[i].name))
            return &functions[i];
        all[i] = functions[i].name;
        lpo_str_addf(&list, "%s%s", i ? ", " : "", all[i]);
    }
    const char *near = lpo_str_nearest(name, all, NFUNCTIONS);
    lpo_fail(err, LPO_E_CONFIG, "unknown function '%.60s'%s%s%s; there are %s", name,
             near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "",
             lpo_str_text(&list));
    return NULL;
}

static int param_at(const struct function *f, const char *name)
{
    for (int i = 0; i < LPO_OV_MAX_PARAMS && f->params[i].name; i++)
        if (lpo_streq(f->params[i].name, name))
            return i;
    return -1;
}

static int check_type(struct lpo_override_value v, unsigned types, const char *name,
                      struct lpo_err *err)
{
    if (type_of(v) & types)
        return 0;
    return lpo_fail(err, LPO_E_CONFIG, "%s cannot be %s", name, type_name(v));
}

/* Puts every argument in its place, as Python does. */
static int bind(const struct function *f, const struct lpo_ov_arg *args, size_t count,
                struct lpo_override_value *rest, struct lpo_override_call *c, struct lpo_err *err)
{
    for (size_t i = 0; i < count; i++) {
        int at = args[i].name ? param_at(f, args[i].name) : (int)i;
        if (args[i].name && at < 0)
            return lpo_fail(err, LPO_E_CONFIG, "it has no argument '%.60s'", args[i].name);
        if (!args[i].name && f->rest) {
            rest[c->count++] = args[i].value;
            continue;
        }
        if (at >= LPO_OV_MAX_PARAMS || !f->params[at].name)
            return lpo_fail(err, LPO_E_CONFIG, "too many arguments");
        if (args[i].name && is_given(c->params[at]) && !f->rest && (size_t)at < count &&
            !args[at].name)
            return lpo_fail(err, LPO_E_CONFIG, "'%s' is given twice", f->params[at].name);
        c->params[at] = args[i].value;
    }
    for (int i = 0; i < LPO_OV_MAX_PARAMS && f->params[i].name; i++)
        if (f->params[i].required && !is_given(c->params[i]))
            return lpo_fail(err, LPO_E_CONFIG, "the argument '%s' is missing", f->params[i].name);
    return 0;
}

static int check_types(const struct function *f, const struct lpo_override_call *c,
                       struct lpo_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->count; i++)
        rc = check_type(c->args[i], f->rest, "an argument", err);
    for (int i = 0; rc == 0 && i < LPO_OV_MAX_PARAMS && f->params[i].name; i++)
        if (is_given(c->params[i]))
            rc = check_type(c->params[i], f->params[i].types, f->params[i].name, err);
    return rc;
}

/* Functions see the text of a quoted string, not its quotes. */
static struct lpo_override_value unquoted(struct lpo_arena *a, struct lpo_override_value v)
{
    if (v.node && v.node->quote) {
        struct lpo_node *plain = lpo_node_stringn(a, v.node->text, v.node->len);
        plain->where = v.node->where;
        v.node = plain;
    }
    return v;
}

int lpo_override_call(struct lpo_arena *a, const char *name, size_t len,
                      const struct lpo_ov_arg *args, size_t count, struct lpo_override_value *out,
                      struct lpo_err *err)
{
    const char *word = lpo_arena_strndup(a, name, len);
    const struct function *f = find(word, err);

    if (!f)
        return LPO_E_CONFIG;
    struct lpo_override_value *rest = lpo_arena_array(a, count, sizeof *rest);
    struct lpo_ov_arg *bare = lpo_arena_array(a, count, sizeof *bare);
    for (size_t i = 0; i < count; i++)
        bare[i] = (struct lpo_ov_arg){ args[i].name, unquoted(a, args[i].value) };

    struct lpo_override_call c = { .arena = a, .args = rest };
    int rc = bind(f, bare, count, rest, &c, err);
    if (rc == 0)
        rc = check_types(f, &c, err);
    if (rc == 0)
        rc = f->call(&c, out, err);
    return rc < 0 ? lpo_ctx(err, "%s(…)", f->name) : 0;
}
