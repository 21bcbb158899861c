/* SPDX-License-Identifier: Apache-2.0 */

#include "hydra/interp/interp.h"
#include "hydra/node.h"
#include "hydra/override/override.h"
#include "hydra/yaml/yaml.h"

/* A key that is not there, with the nearest that is. */
static int no_such_key(struct lpo_interp_scope *s, const struct lpo_spot *map, const char *key,
                       struct lpo_err *err)
{
    const struct lpo_node *n = map->node;
    const char **names = lpo_arena_array(s->arena, n->npairs, sizeof(*names));
    LPO_STR full = { 0 };
    const char *near;
    size_t count = 0;

    for (size_t i = 0; i < n->npairs; i++)
        if (n->pairs[i].key->kind == LPO_NODE_STRING)
            names[count++] = n->pairs[i].key->text;
    near = lpo_str_nearest(key, names, count);
    lpo_interp_spot_add_key(&full, map);
    return lpo_fail(err, LPO_E_NOTFOUND, "Key '%s' is not in struct (full key: %s%s%s)%s%s%s", key,
                    lpo_str_text(&full), full.len ? "." : "", key, near ? "; did you mean '" : "",
                    near ? near : "", near ? "'?" : "");
}

static int mixed(const struct lpo_spot *dest, struct lpo_err *err)
{
    LPO_STR full = { 0 };

    lpo_interp_spot_add_key(&full, dest);
    return lpo_fail(err, LPO_E_CONFIG, "Cannot merge DictConfig with ListConfig (full key: %s)",
                    lpo_str_text(&full));
}

/* Keys that a config may not have. */
static int check_keys(const struct lpo_spot *at, const struct lpo_node *value, struct lpo_err *err)
{
    LPO_STR full = { 0 };

    if (value->kind == LPO_NODE_LIST)
        for (size_t i = 0; i < value->count; i++) {
            int rc = check_keys(at, value->items[i], err);

            if (rc < 0)
                return rc;
        }
    if (value->kind != LPO_NODE_MAP)
        return 0;
    for (size_t i = 0; i < value->npairs; i++) {
        int rc;

        if (value->pairs[i].key->kind == LPO_NODE_NULL) {
            lpo_interp_spot_add_key(&full, at);
            return lpo_fail(err, LPO_E_CONFIG, "Incompatible key type 'NoneType' (full key: %s)",
                            lpo_str_text(&full));
        }
        rc = check_keys(at, value->pairs[i].value, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A reference to a container is replaced by a copy of it; one that cannot be followed stays. */
static struct lpo_node *unfold(struct lpo_interp_scope *s, const struct lpo_spot *at)
{
    struct lpo_err ignored = { 0 };
    struct lpo_found f;

    s->memo = NULL;
    if (lpo_interp_deref(s, at, &f, &ignored) < 0 || !f.spot || !lpo_node_is_container(f.node))
        return at->node;
    return lpo_node_clone(s->arena, f.node);
}

static int merge_key(struct lpo_interp_scope *s, const struct lpo_spot *dest, size_t at,
                     struct lpo_node *src, bool closed, struct lpo_err *err)
{
    struct lpo_pair *pair = &dest->node->pairs[at];

    if (lpo_node_is_interpolation(pair->value))
        pair->value = unfold(s, lpo_interp_spot_child(s->arena, dest, pair->key, 0, pair->value));
    if (lpo_node_is_missing(src))
        return 0;
    if (lpo_node_is_container(pair->value) && lpo_node_is_container(src))
        return lpo_merge(s, lpo_interp_spot_child(s->arena, dest, pair->key, 0, pair->value), src,
                         closed, err);
    pair->value = lpo_node_clone(s->arena, src);
    return 0;
}

static int merge_maps(struct lpo_interp_scope *s, const struct lpo_spot *dest,
                      const struct lpo_node *src, bool closed, struct lpo_err *err)
{
    for (size_t i = 0; i < src->npairs; i++) {
        const struct lpo_pair *from = &src->pairs[i];
        ptrdiff_t at = lpo_node_find(dest->node, from->key);

        if (at >= 0) {
            int rc = merge_key(s, dest, (size_t)at, from->value, closed, err);

            if (rc < 0)
                return rc;
            continue;
        }
        if (closed) {
            LPO_STR key = { 0 };

            lpo_yaml_py_add_str(&key, from->key);
            return no_such_key(s, dest, lpo_str_text(&key), err);
        }
        lpo_node_set_key(s->arena, dest->node, from->key, lpo_node_clone(s->arena, from->value));
    }
    return 0;
}

int lpo_merge(struct lpo_interp_scope *s, const struct lpo_spot *dest, const struct lpo_node *src,
              bool closed, struct lpo_err *err)
{
    struct lpo_node *to = dest->node;

    if (to->kind != src->kind)
        return mixed(dest, err);
    if (to->kind == LPO_NODE_MAP)
        return merge_maps(s, dest, src, closed, err);
    *to = *lpo_node_clone(s->arena, src);
    return 0;
}

/* Changes by path */

static int list_index(const struct lpo_spot *list, const char *key, size_t *index,
                      struct lpo_err *err)
{
    LPO_STR full = { 0 };
    long at;

    if (!lpo_yaml_py_is_int(key, strlen(key)))
        return lpo_fail(err, LPO_E_CONFIG, "Index '%s' (str) is not an int", key);
    at = strtol(key, NULL, 10);
    if (at < 0)
        at += (long)list->node->count;
    lpo_interp_spot_add_key(&full, list);
    if (at < 0 || (size_t)at >= list->node->count)
        return lpo_fail(err, LPO_E_CONFIG, "list index out of range (full key: %s[%s])",
                        lpo_str_text(&full), key);
    *index = (size_t)at;
    return 0;
}

/* The slot of `key` in a container; a new key is made if `force`. */
static int slot_of(struct lpo_interp_scope *s, const struct lpo_spot *in, const char *key,
                   bool force, struct lpo_node ***slot, const struct lpo_spot **spot,
                   struct lpo_err *err)
{
    struct lpo_node *n = in->node, *name = lpo_node_string(s->arena, key);
    ptrdiff_t at;

    if (n->kind == LPO_NODE_LIST) {
        size_t index = 0;
        int rc = list_index(in, key, &index, err);

        if (rc < 0)
            return rc;
        *slot = &n->items[index];
        *spot = lpo_interp_spot_child(s->arena, in, NULL, index, **slot);
        return 0;
    }
    at = lpo_node_find(n, name);
    if (at < 0) {
        if (!force)
            return no_such_key(s, in, key, err);
        lpo_node_set_key(s->arena, n, name, lpo_node_null(s->arena));
        at = (ptrdiff_t)n->npairs - 1;
    }
    *slot = &n->pairs[at].value;
    *spot = lpo_interp_spot_child(s->arena, in, n->pairs[at].key, 0, **slot);
    return 0;
}

int lpo_merge_update(struct lpo_interp_scope *s, struct lpo_node *root, const char *path,
                     const struct lpo_node *value, bool force, struct lpo_err *err)
{
    const struct lpo_spot *at = lpo_interp_spot_child(s->arena, NULL, NULL, 0, root), *next = NULL;
    const char **keys = NULL;
    size_t n = lpo_interp_key_split(s->arena, path, &keys);
    struct lpo_node **slot;
    int rc;

    for (size_t i = 0; i + 1 < n; i++) {
        rc = slot_of(s, at, keys[i], force, &slot, &next, err);
        if (rc < 0)
            return rc;
        if (!lpo_node_is_container(*slot)) {
            *slot = lpo_node_map(s->arena); /* a plain value is replaced by a map */
            next = lpo_interp_spot_child(s->arena, at, next->key, next->index, *slot);
        }
        at = next;
    }
    rc = slot_of(s, at, keys[n - 1], force, &slot, &next, err);
    if (rc == 0)
        rc = check_keys(next, value, err);
    if (rc < 0)
        return rc;
    if (lpo_node_is_container(value) && lpo_node_is_container(*slot))
        return lpo_merge(s, next, value, !force, err);
    *slot = lpo_node_clone(s->arena, value);
    return 0;
}

void lpo_merge_missing(struct lpo_arena *a, struct lpo_node *into, const struct lpo_node *from)
{
    for (size_t i = 0; i < from->npairs; i++) {
        struct lpo_node *key = from->pairs[i].key, *value = from->pairs[i].value;
        struct lpo_node *there = lpo_node_get_key(into, key);

        if (!there && value->kind == LPO_NODE_MAP) {
            there = lpo_node_map(a);
            lpo_node_set_key(a, into, key, there);
        }
        if (!there)
            lpo_node_set_key(a, into, key, value);
        else if (there->kind == LPO_NODE_MAP && value->kind == LPO_NODE_MAP)
            lpo_merge_missing(a, there, value);
    }
}

/* --- overrides of single values -----------------------------------------------------------------
 */

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

int lpo_merge_override(struct lpo_interp_scope *s, struct lpo_node *root,
                       const struct lpo_override *ov, struct lpo_err *err)
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
