/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/interp/eval.h"

#include "hydra/interp/parse.h"
#include "hydra/interp/resolvers.h"
#include "hydra/node.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

struct here {
    struct lpo_interp_scope *scope;
    const struct lpo_spot *parent, *self;
    struct lpo_err *err;
};

static int eval(struct here *h, const struct lpo_iexpr *e, struct lpo_found *out);

static int join(struct here *h, const struct lpo_iexpr *e, struct lpo_str *into)
{
    for (size_t i = 0; i < e->count; i++) {
        struct lpo_found f;
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
        struct lpo_found f;
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
        struct lpo_found f;
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
        struct lpo_found key, value;
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
    return lpo_interp_resolver_call(h->scope, name, args, e->count, h->parent, h->self, out,
                                    h->err);
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
