/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/interp/private.h"

#include "hydra/node.h"
#include "hydra/yaml/yaml.h"

/* --- the functions of ${name:…}: to add one, a row in the table ---------------------------------
 */

extern char **environ;

/* A call being made. */
struct call {
    struct lpo_interp_scope *scope;
    const struct lpo_found *args;
    size_t nargs;
    const struct lpo_spot *parent, *self;
    struct lpo_found *out;
    struct lpo_err *err;
};

static int give(struct call *c, struct lpo_node *n)
{
    *c->out = (struct lpo_found){ n, NULL };
    return 0;
}

static int want_text(struct call *c, size_t i, const char *who)
{
    if (c->args[i].node->kind == LPO_NODE_STRING)
        return 0;
    return lpo_fail(c->err, LPO_E_CONFIG, "%s needs a string, not %s", who,
                    lpo_node_kind_name(c->args[i].node->kind));
}

static const char *find_env(const struct lpo_interp_scope *s, const char *name)
{
    const char *const *env = s->env ? s->env : (const char *const *)environ;
    size_t len = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

/* The variable is always a string, and so is its default, unless that is null: OmegaConf's rule. */
static int call_env(struct call *c)
{
    const struct lpo_node *name = c->args[0].node;
    const char *value;
    int rc = want_text(c, 0, "oc.env");

    if (rc < 0)
        return rc;
    value = find_env(c->scope, name->text);
    if (value)
        return give(c, lpo_node_string(c->scope->arena, value));
    if (c->nargs < 2)
        return lpo_fail(c->err, LPO_E_CONFIG, "Environment variable '%s' not found", name->text);
    if (c->args[1].node->kind != LPO_NODE_NULL) {
        LPO_STR text = { 0 };

        lpo_yaml_py_add_str(&text, c->args[1].node);
        return give(c, lpo_node_stringn(c->scope->arena, lpo_str_text(&text), text.len));
    }
    return give(c, lpo_node_null(c->scope->arena));
}

static int call_decode(struct call *c)
{
    const struct lpo_node *n = c->args[0].node;
    struct lpo_iexpr *e;
    int rc;

    if (n->kind == LPO_NODE_NULL)
        return give(c, lpo_node_null(c->scope->arena));
    if (n->kind != LPO_NODE_STRING) {
        LPO_STR text = { 0 };

        lpo_yaml_py_add_str(&text, n);
        return lpo_fail(c->err, LPO_E_CONFIG,
                        "`oc.decode` can only take strings or None as input, but `%s` is of type "
                        "%s",
                        lpo_str_text(&text), lpo_yaml_py_type(n));
    }
    rc = lpo_interp_parse_element(c->scope->arena, n->text, n->len, &e, c->err);
    if (rc == 0)
        rc = lpo_interp_eval(c->scope, e, c->parent, c->self, c->out, c->err);
    return rc;
}

static int call_select(struct call *c)
{
    int rc = want_text(c, 0, "oc.select");

    if (rc == 0)
        rc = lpo_interp_select(c->scope, c->parent, c->args[0].node->text, true, c->out, c->err);
    if (rc < 0 || c->out->node)
        return rc;
    return give(c, c->nargs > 1 ? c->args[1].node : lpo_node_null(c->scope->arena));
}

/* Makes a config of plain data, standing beside the value that asks for it. */
static int call_create(struct call *c)
{
    struct lpo_node *n = c->args[0].node;
    int rc;

    if (n->kind == LPO_NODE_STRING) {
        struct lpo_node *made;

        rc = lpo_yaml_parse(c->scope->arena, n->text, n->len, "oc.create", &made, c->err);
        if (rc < 0)
            return rc;
        if (made->kind == LPO_NODE_STRING) {
            struct lpo_node *map = lpo_node_map(c->scope->arena);

            lpo_node_set_key(c->scope->arena, map, made, lpo_node_null(c->scope->arena));
            made = map;
        }
        n = made->kind == LPO_NODE_NULL ? lpo_node_map(c->scope->arena) : made;
    }
    if (!lpo_node_is_container(n) && n->kind != LPO_NODE_NULL)
        return lpo_fail(c->err, LPO_E_CONFIG, "Object of unsupported type: '%s'",
                        lpo_yaml_py_type(n));
    n = lpo_node_clone(c->scope->arena, n);
    *c->out = (struct lpo_found){ n, lpo_interp_spot_child(c->scope->arena, c->parent, c->self->key,
                                                           c->self->index, n) };
    return 0;
}

static int call_deprecated(struct call *c)
{
    LPO_STR old = { 0 }, new = { 0 }, text = { 0 };
    const char *p;
    int rc = want_text(c, 0, "oc.deprecated");

    if (rc == 0 && c->nargs > 1)
        rc = want_text(c, 1, "oc.deprecated");
    if (rc == 0)
        rc = lpo_interp_select(c->scope, c->parent, c->args[0].node->text, true, c->out, c->err);
    if (rc < 0)
        return rc;
    lpo_interp_spot_add_key(&old, c->self);
    if (!c->out->node)
        return lpo_fail(c->err, LPO_E_CONFIG,
                        "In oc.deprecated resolver at '%s': Key not found: "
                        "'%s'",
                        lpo_str_text(&old), c->args[0].node->text);
    lpo_interp_spot_add_key(&new, c->out->spot);
    p = c->nargs > 1 ? c->args[1].node->text
                     : "'$OLD_KEY' is deprecated. Change your code and config to use '$NEW_KEY'";
    while (*p) {
        bool is_old = lpo_str_starts(p, "$OLD_KEY");

        if (is_old || lpo_str_starts(p, "$NEW_KEY")) {
            lpo_str_add(&text, lpo_str_text(is_old ? &old : &new));
            p += 8;
        } else {
            lpo_str_addc(&text, *p++);
        }
    }
    if (c->scope->warn)
        c->scope->warn(c->scope->with, lpo_str_text(&text));
    return 0;
}

/* The map a key leads to, for oc.dict.*. */
static int find_dict(struct call *c, const char *who, struct lpo_found *map)
{
    const char *key;
    int rc = want_text(c, 0, who);

    if (rc < 0)
        return rc;
    key = c->args[0].node->text;
    rc = lpo_interp_select(c->scope, c->parent, key, true, map, c->err);
    if (rc < 0)
        return rc;
    if (!map->node || map->node->kind == LPO_NODE_NULL)
        return lpo_fail(c->err, LPO_E_NOTFOUND, "Key not found: '%s'", key);
    if (map->node->kind != LPO_NODE_MAP)
        return lpo_fail(c->err, LPO_E_CONFIG, "`%s` cannot be applied to '%s', which is %s", who,
                        key, lpo_node_kind_name(map->node->kind));
    return 0;
}

static int call_keys(struct call *c)
{
    struct lpo_node *list = lpo_node_list(c->scope->arena);
    struct lpo_found map;
    int rc = find_dict(c, "oc.dict.keys", &map);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < map.node->npairs; i++)
        lpo_node_push(c->scope->arena, list, map.node->pairs[i].key);
    *c->out = (struct lpo_found){ list, lpo_interp_spot_child(c->scope->arena, c->parent,
                                                              c->self->key, c->self->index, list) };
    return 0;
}

/* The values stay references, so that one that cannot be resolved fails only when it is used. */
static int call_values(struct call *c)
{
    struct lpo_arena *a = c->scope->arena;
    struct lpo_node *list = lpo_node_list(a);
    struct lpo_found map;
    int rc = find_dict(c, "oc.dict.values", &map);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < map.node->npairs; i++) {
        LPO_STR ref = { 0 };

        /* a relative key is one level further away from inside the list */
        lpo_str_addf(&ref, "${%s%s.", c->args[0].node->text[0] == '.' ? "." : "",
                     c->args[0].node->text);
        lpo_yaml_py_add_str(&ref, map.node->pairs[i].key);
        lpo_str_addc(&ref, '}');
        lpo_node_push(a, list, lpo_node_string(a, lpo_str_text(&ref)));
    }
    *c->out = (struct lpo_found){ list, lpo_interp_spot_child(a, c->parent, c->self->key,
                                                              c->self->index, list) };
    return 0;
}

static int call_hydra(struct call *c)
{
    struct lpo_spot root = { .node = c->scope->hydra_root }, *up;
    const struct lpo_spot *hydra;
    int rc = want_text(c, 0, "hydra");

    if (rc < 0)
        return rc;
    if (!c->scope->hydra)
        return lpo_fail(c->err, LPO_E_CONFIG, "HydraConfig was not set");
    up = LPO_NEW(c->scope->arena, struct lpo_spot);
    *up = root;
    hydra = lpo_interp_spot_child(c->scope->arena, up, lpo_node_string(c->scope->arena, "hydra"), 0,
                                  c->scope->hydra);
    rc = lpo_interp_select(c->scope, hydra, c->args[0].node->text, false, c->out, c->err);
    if (rc < 0 || c->out->node)
        return rc;
    return give(c, lpo_node_null(c->scope->arena));
}

static int call_now(struct call *c)
{
    struct tm tm;
    char text[512];
    int rc = want_text(c, 0, "now");

    if (rc < 0)
        return rc;
    localtime_r(&c->scope->now, &tm);
    if (strftime(text, sizeof text, c->args[0].node->text, &tm) == 0 && c->args[0].node->len)
        return lpo_fail(c->err, LPO_E_CONFIG, "now: the format '%s' produces no text",
                        c->args[0].node->text);
    return give(c, lpo_node_string(c->scope->arena, c->args[0].node->len ? text : ""));
}

static const struct row {
    const char *name;
    size_t least, most;
    int (*call)(struct call *c);
} table[] = {
    { "hydra", 1, 1, call_hydra },
    { "now", 1, 1, call_now },
    { "oc.create", 1, 1, call_create },
    { "oc.decode", 1, 1, call_decode },
    { "oc.deprecated", 1, 2, call_deprecated },
    { "oc.dict.keys", 1, 1, call_keys },
    { "oc.dict.values", 1, 1, call_values },
    { "oc.env", 1, 2, call_env },
    { "oc.select", 1, 2, call_select },
};

enum { ROWS = sizeof table / sizeof *table };

static int unknown(const char *name, struct lpo_err *err)
{
    const char *names[ROWS], *near;

    for (int i = 0; i < ROWS; i++)
        names[i] = table[i].name;
    near = lpo_str_nearest(name, names, ROWS);
    return lpo_fail(err, LPO_E_CONFIG, "Unsupported interpolation type %s%s%s%s", name,
                    near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int call_resolver(struct lpo_interp_scope *s, const char *name, struct lpo_found *args,
                         size_t nargs, const struct lpo_spot *parent, const struct lpo_spot *self,
                         struct lpo_found *out, struct lpo_err *err)
{
    struct call c = { s, args, nargs, parent, self, out, err };

    for (int i = 0; i < ROWS; i++) {
        if (strcmp(table[i].name, name) != 0)
            continue;
        if (nargs < table[i].least || nargs > table[i].most)
            return lpo_fail(err, LPO_E_CONFIG, "%s takes %zu to %zu arguments, not %zu", name,
                            table[i].least, table[i].most, nargs);
        return table[i].call(&c);
    }
    return unknown(name, err);
}

/* --- expressions --------------------------------------------------------------------------------
 */

struct here {
    struct lpo_interp_scope *scope;
    const struct lpo_spot *parent, *self;
    struct lpo_err *err;
};

static int eval(struct here *h, const struct lpo_iexpr *e, struct lpo_found *out);

static int join(struct here *h, const struct lpo_iexpr *e, struct lpo_str *into)
{
    for (size_t i = 0; i < e->count; i++) {
        struct lpo_found f = { 0 };
        int rc = eval(h, e->kids[i], &f);

        size_t before = into->len;

        if (rc < 0)
            return rc;
        lpo_yaml_py_add_str(into, f.node);
        rc = lpo_interp_charge(h->scope, into->len - before, h->err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static struct lpo_found plain(struct lpo_node *n)
{
    return (struct lpo_found){ n, NULL };
}

static int eval_text(struct here *h, const struct lpo_iexpr *e, bool quoted, struct lpo_found *out)
{
    LPO_STR text = { 0 };
    int rc;

    if (!quoted && e->count == 1)
        return eval(h, e->kids[0], out);
    rc = join(h, e, &text);
    if (rc == 0)
        *out = plain(lpo_node_stringn(h->scope->arena, lpo_str_text(&text), text.len));
    return rc;
}

/* Parts of a path or a name that are interpolations must give strings. */
static int eval_name(struct here *h, const struct lpo_iexpr *e, const char *what, char **out)
{
    LPO_STR text = { 0 };

    for (size_t i = 0; i < e->count; i++) {
        struct lpo_found f = { 0 };
        int rc = eval(h, e->kids[i], &f);

        if (rc < 0)
            return rc;
        if (f.node->kind != LPO_NODE_STRING) {
            LPO_STR shown = { 0 };

            lpo_yaml_py_add_str(&shown, f.node);
            return lpo_fail(h->err, LPO_E_CONFIG,
                            "%s must be a string, but '%.*s' gives `%s`, which is %s", what,
                            (int)e->kids[i]->source_len, e->kids[i]->source, lpo_str_text(&shown),
                            lpo_node_kind_name(f.node->kind));
        }
        lpo_str_addn(&text, f.node->text, f.node->len);
        rc = lpo_interp_charge(h->scope, f.node->len, h->err);
        if (rc < 0)
            return rc;
    }
    *out = lpo_arena_strdup(h->scope->arena, lpo_str_text(&text));
    return 0;
}

static int eval_list(struct here *h, const struct lpo_iexpr *e, struct lpo_found *out)
{
    struct lpo_node *list = lpo_node_list(h->scope->arena);

    for (size_t i = 0; i < e->count; i++) {
        struct lpo_found f = { 0 };
        int rc = eval(h, e->kids[i], &f);

        if (rc < 0)
            return rc;
        lpo_node_push(h->scope->arena, list, f.node);
    }
    *out = plain(list);
    return 0;
}

static int eval_dict(struct here *h, const struct lpo_iexpr *e, struct lpo_found *out)
{
    struct lpo_node *map = lpo_node_map(h->scope->arena);

    for (size_t i = 0; i + 1 < e->count; i += 2) {
        struct lpo_found key = { 0 }, value = { 0 };
        int rc = eval(h, e->kids[i], &key);

        if (rc == 0)
            rc = eval(h, e->kids[i + 1], &value);
        if (rc < 0)
            return rc;
        lpo_node_set_key(h->scope->arena, map, key.node, value.node);
    }
    *out = plain(map);
    return 0;
}

static int eval_resolver(struct here *h, const struct lpo_iexpr *e, struct lpo_found *out)
{
    struct lpo_found *args = lpo_arena_array(h->scope->arena, e->count, sizeof(*args));
    char *name;
    int rc = eval_name(h, e->name, "the name of a resolver", &name);

    for (size_t i = 0; rc == 0 && i < e->count; i++)
        rc = eval(h, e->kids[i], &args[i]);
    if (rc < 0)
        return rc;
    return call_resolver(h->scope, name, args, e->count, h->parent, h->self, out, h->err);
}

static int eval(struct here *h, const struct lpo_iexpr *e, struct lpo_found *out)
{
    char *path;
    int rc = lpo_interp_charge(h->scope, 0, h->err);

    if (rc < 0)
        return rc;
    switch (e->kind) {
    case LPO_I_TEXT:
        return eval_text(h, e, false, out);
    case LPO_I_QUOTED:
        return eval_text(h, e, true, out);
    case LPO_I_LITERAL:
        *out = plain(e->value);
        return 0;
    case LPO_I_LIST:
        return eval_list(h, e, out);
    case LPO_I_DICT:
        return eval_dict(h, e, out);
    case LPO_I_RESOLVER:
        return eval_resolver(h, e, out);
    case LPO_I_NODE:
        rc = eval_name(h, e, "a key", &path);
        return rc < 0 ? rc : lpo_interp_node_at(h->scope, h->parent, path, out, h->err);
    }
    return lpo_fail(h->err, LPO_E_CONFIG, "not an interpolation");
}

int lpo_interp_eval(struct lpo_interp_scope *s, const struct lpo_iexpr *e,
                    const struct lpo_spot *parent, const struct lpo_spot *self,
                    struct lpo_found *out, struct lpo_err *err)
{
    struct here h = { s, parent, self, err };

    return eval(&h, e, out);
}
