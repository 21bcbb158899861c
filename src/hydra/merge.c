/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/merge.h"

#include <stdlib.h>
#include <string.h>

#include "hydra/interp/interp.h"
#include "hydra/node.h"
#include "hydra/yaml/pytext.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

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
    const struct lpo_spot *at = lpo_interp_spot_child(s->arena, NULL, NULL, 0, root), *next;
    const char **keys;
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
