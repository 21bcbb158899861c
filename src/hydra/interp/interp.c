/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/interp/interp.h"

#include "hydra/interp/private.h"
#include "hydra/node.h"
#include "hydra/yaml/yaml.h"
#include "util/budget.h"

/* Places and paths */

const struct lpo_spot *lpo_interp_spot_child(struct lpo_arena *a, const struct lpo_spot *at,
                                             const struct lpo_node *key, size_t index,
                                             struct lpo_node *node)
{
    struct lpo_spot *s = LPO_NEW(a, struct lpo_spot);

    *s = (struct lpo_spot){ .node = node, .up = at, .key = key, .index = index };
    return s;
}

void lpo_interp_spot_add_key(struct lpo_str *s, const struct lpo_spot *at)
{
    if (!at || !at->up)
        return;
    lpo_interp_spot_add_key(s, at->up);
    if (!at->key) {
        lpo_str_addf(s, "[%zu]", at->index);
        return;
    }
    if (s->len)
        lpo_str_addc(s, '.');
    lpo_yaml_py_add_str(s, at->key);
}

static size_t push(struct lpo_arena *a, const char **keys, size_t n, const char *from, size_t len)
{
    keys[n] = lpo_arena_strndup(a, from, len);
    return n + 1;
}

/* As OmegaConf: a head up to the first '[' is split at dots, then ".key" and "[key]" in turn; what
 * is neither is passed over. */
size_t lpo_interp_key_split(struct lpo_arena *a, const char *path, const char ***out)
{
    const char **keys = lpo_arena_array(a, strlen(path) + 2, sizeof(*keys));
    size_t n = 0, head = strspn(path, ".");
    const char *p = path;

    head += strcspn(path + head, ".[");
    for (size_t i = 0, from = 0; i <= head; i++)
        if (i == head || path[i] == '.') {
            n = push(a, keys, n, path + from, i - from);
            from = i + 1;
        }
    p += head;
    if (*p == '[' && n && keys[n - 1][0] == '\0')
        n--;
    while (*p) {
        const char *close = *p == '[' ? strchr(p, ']') : NULL;
        size_t len = strcspn(p + 1, ".[");

        if (close) {
            n = push(a, keys, n, p + 1, (size_t)(close - p - 1));
            p = close + 1;
        } else if (*p == '.') {
            n = push(a, keys, n, p + 1, len);
            p += 1 + len;
        } else {
            p++;
        }
    }
    *out = keys;
    return n;
}

/* Looking up */

enum { MAX_DEPTH = 100, MAX_LEVEL = 600 };

struct lpo_memo {
    const struct lpo_node *node;
    const struct lpo_memo *below;
};

int lpo_interp_check(struct lpo_arena *a, const char *text, size_t len, struct lpo_err *err)
{
    struct lpo_iexpr *e;

    return lpo_interp_parse(a, text, len, &e, err);
}

static bool in_memo(const struct lpo_interp_scope *s, const struct lpo_node *n)
{
    for (const struct lpo_memo *m = s->memo; m; m = m->below)
        if (m->node == n)
            return true;
    return false;
}

/* Values are made anew wherever they are asked for, so a chain of n keys that each ask twice for
 * the next one costs 2^n. */
int lpo_interp_charge(struct lpo_interp_scope *s, uint64_t bytes, struct lpo_err *err)
{
    const struct lpo_budget *b = lpo_budget();

    s->made_bytes += bytes;
    s->steps++;
    if (s->made_bytes > b->interp_bytes)
        return lpo_fail(err, LPO_E_LIMIT,
                        "stopped after %llu MB of values from interpolations (" LPO_BUDGET_HINT ")",
                        (unsigned long long)(b->interp_bytes >> 20));
    if (s->steps > b->interp_steps)
        return lpo_fail(err, LPO_E_LIMIT, "stopped after %llu interpolations (" LPO_BUDGET_HINT ")",
                        (unsigned long long)b->interp_steps);
    return 0;
}

/* About what a copy of the value takes, or a little more than `most`. */
static uint64_t copy_bytes(const struct lpo_node *n, uint64_t most)
{
    uint64_t bytes = sizeof *n + (n->kind == LPO_NODE_STRING ? n->len : 0);

    if (n->kind == LPO_NODE_LIST)
        for (size_t i = 0; bytes <= most && i < n->count; i++)
            bytes += copy_bytes(n->items[i], most - bytes);
    else if (n->kind == LPO_NODE_MAP)
        for (size_t i = 0; bytes <= most && i < n->npairs; i++)
            bytes += sizeof *n->pairs + copy_bytes(n->pairs[i].value, most - bytes);
    return bytes;
}

/* Interpolations */

int lpo_interp_deref(struct lpo_interp_scope *s, const struct lpo_spot *at, struct lpo_found *out,
                     struct lpo_err *err)
{
    struct lpo_iexpr *e;
    int rc;

    *out = (struct lpo_found){ at->node, at };
    if (!lpo_node_is_interpolation(at->node))
        return 0;
    if (!at->up)
        return lpo_fail(err, LPO_E_CONFIG, "an interpolation needs a config around it");
    if (s->depth >= MAX_DEPTH)
        return lpo_fail(err, LPO_E_CONFIG, "interpolations lead too deep, or in a circle");
    s->depth++;
    rc = lpo_interp_parse(s->arena, at->node->text, at->node->len, &e, err);
    if (rc == 0)
        rc = lpo_interp_eval(s, e, at->up, at, out, err);
    s->depth--;
    return rc == LPO_E_RANGE ? LPO_E_CONFIG
                             : rc; /* the fault is in that path, not in the one being looked up */
}

static int missing(struct lpo_interp_scope *s, const struct lpo_spot *at, struct lpo_err *err)
{
    LPO_STR key = { 0 };

    lpo_interp_spot_add_key(&key, at);
    return lpo_fail(err, LPO_E_MISSING, "Missing mandatory value: %s", lpo_str_text(&key));
}

/* One step down; *out NULL: not there. A list needs a whole number. */
static int step(struct lpo_interp_scope *s, const struct lpo_spot *from, const char *key,
                const struct lpo_spot **out, struct lpo_err *err)
{
    struct lpo_node *n = from->node;
    struct lpo_node view = { .kind = LPO_NODE_STRING };
    ptrdiff_t at;

    *out = NULL;
    view.text = key;
    view.len = strlen(key);
    if (n->kind == LPO_NODE_MAP) {
        at = lpo_node_find(n, &view);
        if (at >= 0)
            *out = lpo_interp_spot_child(s->arena, from, n->pairs[at].key, 0, n->pairs[at].value);
        return 0;
    }
    if (n->kind != LPO_NODE_LIST)
        return 0;
    if (!lpo_yaml_py_is_int(key, view.len))
        return lpo_fail(err, LPO_E_RANGE, "Index '%s' (str) is not an int", key);
    at = (ptrdiff_t)strtol(key, NULL, 10);
    if (at >= 0 && (size_t)at < n->count)
        *out = lpo_interp_spot_child(s->arena, from, NULL, (size_t)at, n->items[at]);
    return 0;
}

static int not_a_container(const char *path, const char *const *keys, size_t upto,
                           struct lpo_err *err)
{
    LPO_STR head = { 0 };

    for (size_t i = 0; i <= upto; i++)
        lpo_str_addf(&head, "%s%s", i ? "." : "", keys[i]);
    return lpo_fail(err, LPO_E_RANGE,
                    "Error trying to access %s: node `%s` is not a container and thus cannot "
                    "contain `%s`",
                    path, lpo_str_text(&head), keys[upto + 1]);
}

/* The last step's value, resolved; a node met again while it is being resolved is a circle. */
static int deref_last(struct lpo_interp_scope *s, const struct lpo_spot *at, struct lpo_found *out,
                      struct lpo_err *err)
{
    struct lpo_memo m = { at->node, s->memo };
    int rc;

    if (!lpo_node_is_interpolation(at->node)) {
        *out = (struct lpo_found){ at->node, at };
        return 0;
    }
    if (in_memo(s, at->node))
        return lpo_fail(err, LPO_E_CONFIG, "Recursive interpolation detected");
    s->memo = &m;
    rc = lpo_interp_deref(s, at, out, err);
    s->memo = m.below;
    return rc;
}

/* Walks `path` down from `from`, through interpolations. out->node NULL: not there. */
static int walk(struct lpo_interp_scope *s, const struct lpo_spot *from, const char *path,
                bool throw_on_missing, struct lpo_found *out, struct lpo_err *err)
{
    const char **keys;
    size_t n = lpo_interp_key_split(s->arena, path, &keys);

    *out = (struct lpo_found){ NULL, NULL };
    if (*path == '\0') {
        *out = (struct lpo_found){ from->node, from };
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct lpo_spot *next;
        struct lpo_found f;
        int rc = step(s, from, keys[i], &next, err);

        if (rc < 0 || !next)
            return rc;
        if (throw_on_missing && lpo_node_is_missing(next->node))
            return missing(s, next, err);
        if (i + 1 == n)
            return deref_last(s, next, out, err);
        rc = lpo_interp_deref(s, next, &f, err);
        if (rc < 0)
            return rc;
        if (!f.spot || !lpo_node_is_container(f.node))
            return not_a_container(path, keys, i, err);
        from = f.spot;
    }
    return 0;
}

static const struct lpo_spot *root_of(const struct lpo_spot *at)
{
    while (at->up)
        at = at->up;
    return at;
}

/* Where a path starts: its leading dots lead up from `parent`. */
static int start_of(const struct lpo_spot *parent, const char **path, const struct lpo_spot **out,
                    struct lpo_err *err)
{
    const char *p = *path;

    *out = parent;
    if (*p != '.') {
        *out = root_of(parent);
        return 0;
    }
    while (*++p == '.') {
        *out = (*out)->up;
        if (!*out)
            return lpo_fail(err, LPO_E_NOTFOUND, "Error resolving key '%s'", *path);
    }
    *path = p;
    return 0;
}

int lpo_interp_node_at(struct lpo_interp_scope *s, const struct lpo_spot *from, const char *path,
                       struct lpo_found *out, struct lpo_err *err)
{
    const struct lpo_spot *start;
    int rc = start_of(from, &path, &start, err);

    if (rc < 0)
        return rc;
    rc = walk(s, start, path, true, out, err);
    if (rc < 0)
        return rc;
    if (!out->node)
        return lpo_fail(err, LPO_E_NOTFOUND, "Interpolation key '%s' not found", path);
    for (const struct lpo_spot *up = from; up; up = up->up)
        if (up->node == out->node)
            return lpo_fail(err, LPO_E_CONFIG, "Interpolation to parent node detected");
    return 0;
}

int lpo_interp_select(struct lpo_interp_scope *s, const struct lpo_spot *from, const char *path,
                      bool absolute, struct lpo_found *out, struct lpo_err *err)
{
    const struct lpo_spot *start = from;
    int rc = 0;

    if (*path == '.' || absolute)
        rc = start_of(from, &path, &start, err);
    if (rc == 0)
        rc = walk(s, start, path, false, out, err);
    if (rc == LPO_E_RANGE && strstr(lpo_err_cause(err), "is not a container")) {
        *out = (struct lpo_found){ NULL, NULL };
        return 0;
    }
    if (rc == 0 && lpo_node_is_missing(out->node))
        *out = (struct lpo_found){ NULL, NULL };
    return rc;
}

/* Resolving in place */

static int locate(const struct lpo_spot *at, int code, struct lpo_err *err)
{
    LPO_STR key = { 0 };
    const struct lpo_where *w = &at->node->where;

    lpo_interp_spot_add_key(&key, at);
    if (w->file && w->line)
        lpo_ctx(err, "%s:%u:%u: cannot resolve '%s'", w->file, w->line, w->column,
                lpo_str_text(&key));
    else
        lpo_ctx(err, "cannot resolve '%s'", lpo_str_text(&key));
    return code;
}

static int resolve_value(struct lpo_interp_scope *s, const struct lpo_spot *at,
                         struct lpo_node **slot, struct lpo_err *err)
{
    struct lpo_where where = at->node->where;
    struct lpo_found f;
    int rc;

    if (!lpo_node_is_interpolation(at->node))
        return lpo_node_is_container(at->node) ? lpo_interp_resolve(s, at, err) : 0;
    s->memo = NULL;
    rc = lpo_interp_deref(s, at, &f, err);
    if (rc == LPO_E_MISSING) {
        *slot = lpo_node_string(s->arena, "???");
        (*slot)->where = where;
        return 0;
    }
    if (rc == 0 && f.spot && lpo_node_is_container(f.node))
        rc = lpo_interp_resolve(s, f.spot, err);
    else if (rc == 0 && lpo_node_is_interpolation(f.node)) /* \${…} without its backslash */
        rc = lpo_interp_check(s->arena, f.node->text, f.node->len, err);
    if (rc == 0)
        rc = lpo_interp_charge(s, copy_bytes(f.node, lpo_budget()->interp_bytes), err);
    if (rc < 0)
        return locate(at, rc, err);
    *slot = lpo_node_clone(s->arena, f.node);
    (*slot)->where = where;
    return 0;
}

int lpo_interp_resolve(struct lpo_interp_scope *s, const struct lpo_spot *at, struct lpo_err *err)
{
    struct lpo_node *n = at->node;
    int rc = 0;

    if (s->level >= MAX_LEVEL)
        return lpo_fail(err, LPO_E_CONFIG, "interpolations lead too deep, or in a circle");
    s->level++;
    if (n->kind == LPO_NODE_LIST)
        for (size_t i = 0; rc == 0 && i < n->count; i++)
            rc = resolve_value(s, lpo_interp_spot_child(s->arena, at, NULL, i, n->items[i]),
                               &n->items[i], err);
    else if (n->kind == LPO_NODE_MAP)
        for (size_t i = 0; rc == 0 && i < n->npairs; i++)
            rc = resolve_value(
                s, lpo_interp_spot_child(s->arena, at, n->pairs[i].key, 0, n->pairs[i].value),
                &n->pairs[i].value, err);
    s->level--;
    return rc;
}
