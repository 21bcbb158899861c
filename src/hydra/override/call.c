/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/override/call.h"

#include <stdlib.h>
#include <string.h>

#include "hydra/node.h"
#include "hydra/override/sweep.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"
#include "util/vec.h"

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
        int rc = lpo_override_cast_float(&cast, &ends[i], err);
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

static int by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

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
    { "bool", T_ANY, { { "value", T_ANY, false } }, lpo_override_cast_bool },
    { "choice", T_ELEMENT | T_CHOICE, { { NULL } }, choice },
    { "float", T_ANY, { { "value", T_ANY, false } }, lpo_override_cast_float },
    { "glob",
      0,
      { { "include", T_LIST | T_STR, true }, { "exclude", T_LIST | T_STR | T_NULL, false } },
      glob },
    { "int", T_ANY, { { "value", T_ANY, false } }, lpo_override_cast_int },
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
    { "str", T_ANY, { { "value", T_ANY, false } }, lpo_override_cast_str },
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
