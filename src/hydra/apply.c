/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/apply.h"

#include <string.h>

#include "hydra/interp/interp.h"
#include "hydra/merge.h"
#include "hydra/node.h"
#include "hydra/override/override.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

/* The value at a path, resolved; NULL when there is none, it is null, or it is ???. */
static int current(struct lpo_interp_scope *s, struct lpo_node *root, const char *path,
                   struct lpo_node **out, struct lpo_err *err)
{
    struct lpo_spot at = { .node = root };
    struct lpo_found f;
    int rc;

    s->memo = NULL;
    rc = lpo_interp_select(s, &at, path, false, &f, err);
    *out = rc == 0 && f.node && f.node->kind != LPO_NODE_NULL ? f.node : NULL;
    return rc;
}

/* Strings of an override that hold ${ must be well-formed. */
static int check(struct lpo_arena *a, const struct lpo_node *v, struct lpo_err *err)
{
    int rc = 0;

    if (lpo_node_is_interpolation(v))
        return lpo_interp_check(a, v->text, v->len, err);
    for (size_t i = 0; v->kind == LPO_NODE_LIST && rc == 0 && i < v->count; i++)
        rc = check(a, v->items[i], err);
    for (size_t i = 0; v->kind == LPO_NODE_MAP && rc == 0 && i < v->npairs; i++)
        rc = check(a, v->pairs[i].value, err);
    return rc;
}

/* Values remember the override they come from, for later messages. */
static struct lpo_node *marked(struct lpo_arena *a, const struct lpo_override *ov)
{
    struct lpo_node *v = lpo_node_clone(a, ov->value);

    v->where = (struct lpo_where){ .file = ov->text };
    return v;
}

static int remove_value(struct lpo_interp_scope *s, struct lpo_node *root, const char *path,
                        struct lpo_err *err)
{
    const char *dot = strrchr(path, '.');
    struct lpo_node *in = root, *name = lpo_node_string(s->arena, dot ? dot + 1 : path);
    int rc = 0;

    if (dot)
        rc = current(s, root, lpo_arena_strndup(s->arena, path, (size_t)(dot - path)), &in, err);
    if (rc < 0)
        return rc;
    if (!in || in->kind == LPO_NODE_LIST)
        return lpo_fail(err, LPO_E_CONFIG, "an item of a list cannot be deleted: '%s'", path);
    if (!lpo_node_remove(in, name))
        return lpo_fail(err, LPO_E_CONFIG, "Key not found: '%s'", path);
    return 0;
}

static int apply_delete(struct lpo_interp_scope *s, struct lpo_node *root,
                        const struct lpo_override *ov, struct lpo_err *err)
{
    struct lpo_node *now;
    int rc = current(s, root, ov->key, &now, err);

    if (rc < 0)
        return lpo_ctx(err, "Error merging override %s", ov->text);
    if (!now)
        return lpo_fail(err, LPO_E_CONFIG, "Could not delete from config. '%s' does not exist.",
                        ov->key);
    if (ov->value && ov->value->kind != LPO_NODE_NULL && !lpo_node_alike(ov->value, now)) {
        LPO_STR is = { 0 }, said = { 0 };

        lpo_yaml_py_add_str(&is, now);
        lpo_yaml_py_add_str(&said, ov->value);
        return lpo_fail(err, LPO_E_CONFIG,
                        "Could not delete from config. The value of '%s' is %s and not %s.",
                        ov->key, lpo_str_text(&is), lpo_str_text(&said));
    }
    rc = remove_value(s, root, ov->key, err);
    return rc < 0 ? lpo_ctx(err, "Error merging override %s", ov->text) : 0;
}

static int apply_set(struct lpo_interp_scope *s, struct lpo_node *root,
                     const struct lpo_override *ov, bool force, struct lpo_err *err)
{
    int rc = check(s->arena, ov->value, err);

    if (rc == 0)
        rc = lpo_merge_update(s, root, ov->key, marked(s->arena, ov), force, err);
    if (rc == LPO_E_NOTFOUND && !force)
        return lpo_ctx(err, "Could not override '%s'.\nTo append to your config use +%s", ov->key,
                       ov->text);
    return rc < 0 ? lpo_ctx(err, "Error merging override %s", ov->text) : 0;
}

/* +key=value may not replace a value; a map or a list is merged into what is there. */
static int apply_add(struct lpo_interp_scope *s, struct lpo_node *root,
                     const struct lpo_override *ov, struct lpo_err *err)
{
    struct lpo_node *now;
    int rc = current(s, root, ov->key, &now, err);

    if (rc < 0)
        return lpo_ctx(err, "Error merging override %s", ov->text);
    if (now && !lpo_node_is_container(ov->value))
        return lpo_fail(err, LPO_E_CONFIG,
                        "Could not append to config. An item is already at '%s'.\n"
                        "Either remove + prefix: '%s'\n"
                        "Or add a second + to add or override '%s': '+%s'",
                        ov->key, ov->text + 1, ov->key, ov->text);
    return apply_set(s, root, ov, true, err);
}

int lpo_apply(struct lpo_interp_scope *s, struct lpo_node *root, const struct lpo_override *ov,
              struct lpo_err *err)
{
    if (ov->package)
        return lpo_fail(err, LPO_E_CONFIG,
                        "Override %s looks like a config group override, but config group '%s' "
                        "does not exist.",
                        ov->text, ov->key);
    switch (ov->type) {
    case LPO_OV_DEL:
        return apply_delete(s, root, ov, err);
    case LPO_OV_ADD:
        return apply_add(s, root, ov, err);
    default:
        return apply_set(s, root, ov, ov->type == LPO_OV_FORCE_ADD, err);
    }
}
