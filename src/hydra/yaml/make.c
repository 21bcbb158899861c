/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of words to config nodes.
 *
 * Containers are filled in the order PyYAML fills them (level by level), because that order decides
 * which mapping of a chain of merge keys is judged before, and which after, it was merged. */
#include <stdlib.h>
#include <string.h>

#include "hydra/yaml/tree.h"
#include "hydra/yaml/yaml.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"
#include "util/vec.h"

struct making {
    struct lpo_arena *arena;
    struct lpo_arena *scratch; /* of the tree: gone when the values exist */
    struct lpo_ynode *root;
    LPO_VEC(struct lpo_ynode *) queue; /* containers that exist but are not filled yet */
    size_t merged;                     /* pairs brought in by merge keys: they multiply */
    struct lpo_err *err;
    struct lpo_err
        why; /* of a scalar; here, since zeroing one for each scalar takes longer than it */
};

static int fail_at(const struct making *m, const struct lpo_ynode *n, const char *what,
                   const char *name)
{
    return lpo_fail(m->err, LPO_E_FORMAT, "%s:%u:%u: %s%s", n->where.file, n->where.line,
                    n->where.column, what, name);
}

static bool path_to(const struct lpo_ynode *from, const struct lpo_ynode *to, struct lpo_str *s,
                    unsigned depth)
{
    size_t step = from->kind == LPO_Y_MAP ? 2 : 1, len = s->len;

    if (from == to)
        return true;
    if (from->kind == LPO_Y_SCALAR || depth > LPO_YAML_MAX_DEPTH)
        return false;
    for (size_t i = 0; i + step <= from->count; i += step) {
        if (step == 1)
            lpo_str_addf(s, "[%zu]", i);
        else
            lpo_str_addf(s, "%s%s", len ? "." : "", from->kids[i]->text ? from->kids[i]->text : "");
        if (path_to(from->kids[i + step - 1], to, s, depth + 1))
            return true;
        s->len = len;
        s->at[len] = '\0';
    }
    return false;
}

/* Values that YAML has and a config cannot hold: sets and dates. */
static int unsupported(const struct making *m, const struct lpo_ynode *n, const char *type)
{
    LPO_STR path = { 0 };

    path_to(m->root, n, &path, 0);
    return lpo_fail(m->err, LPO_E_FORMAT,
                    "%s:%u:%u: Value '%s' is not a supported primitive type (key '%s')",
                    n->where.file, n->where.line, n->where.column, type, lpo_str_text(&path));
}

static int make_scalar(struct making *m, struct lpo_ynode *n)
{
    struct lpo_node *v;

    if (n->tag == LPO_TAG_TIMESTAMP)
        return unsupported(m, n, "datetime");
    if (n->tag == LPO_TAG_UNKNOWN || n->tag == LPO_TAG_MERGE || n->tag == LPO_TAG_VALUE)
        return fail_at(m, n, "could not determine a constructor for the tag ",
                       n->tag_text               ? n->tag_text
                       : n->tag == LPO_TAG_MERGE ? "tag:yaml.org,2002:merge"
                                                 : "tag:yaml.org,2002:value");
    if (n->tag >= LPO_TAG_SEQ)
        return fail_at(m, n, "expected a collection for this tag, but found a scalar", "");
    if (lpo_yaml_scalar_make(m->arena, n->tag, n->text, n->len, &v, &m->why) < 0)
        return fail_at(m, n, "", lpo_err_cause(&m->why));
    v->quote = v->kind == LPO_NODE_STRING ? n->quote : 0;
    v->where = n->where;
    n->made = v;
    return 0;
}

static int check_container_tag(struct making *m, const struct lpo_ynode *n)
{
    if (n->tag == LPO_TAG_UNKNOWN)
        return fail_at(m, n, "could not determine a constructor for the tag ", n->tag_text);
    if (n->kind == LPO_Y_MAP && n->tag == LPO_TAG_SET)
        return unsupported(m, n, "set");
    if (n->kind == LPO_Y_MAP
            ? n->tag != LPO_TAG_MAP
            : n->tag != LPO_TAG_SEQ && n->tag != LPO_TAG_OMAP && n->tag != LPO_TAG_PAIRS)
        return fail_at(m, n, "the tag does not fit a ",
                       n->kind == LPO_Y_MAP ? "mapping" : "sequence");
    return 0;
}

/* The node that will hold the value; a container is empty until its turn in the queue. */
static int make(struct making *m, struct lpo_ynode *n)
{
    int rc;

    if (n->made)
        return 0;
    if (n->kind == LPO_Y_SCALAR)
        return make_scalar(m, n);
    rc = check_container_tag(m, n);
    if (rc < 0)
        return rc;
    n->made = n->kind == LPO_Y_MAP ? lpo_node_map(m->arena) : lpo_node_list(m->arena);
    n->made->where = n->where;
    lpo_vec_push(&m->queue, n);
    return 0;
}

static int by_text(const void *x, const void *y)
{
    const struct lpo_ynode *a = **(struct lpo_ynode *const *const *)x;
    const struct lpo_ynode *b = **(struct lpo_ynode *const *const *)y;
    size_t len = a->len < b->len ? a->len : b->len;
    int diff = memcmp(a->text, b->text, len);

    if (diff)
        return diff;
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return *(struct lpo_ynode *const *const *)x < *(struct lpo_ynode *const *const *)y ? -1 : 1;
}

static bool same_text(const struct lpo_ynode *a, const struct lpo_ynode *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* Only text keys are checked, as OmegaConf does. Sorted, so that thousands of keys cost little. */
static int check_repeats(struct making *m, const struct lpo_ynode *n)
{
    struct lpo_ynode ***keys = lpo_xcalloc(n->count / 2 + 1, sizeof *keys);
    struct lpo_ynode **worst = NULL;
    size_t count = 0;
    int rc = 0;

    for (size_t i = 0; i + 1 < n->count; i += 2)
        if (n->kids[i]->kind == LPO_Y_SCALAR && n->kids[i]->tag == LPO_TAG_STR)
            keys[count++] = &n->kids[i];
    qsort(keys, count, sizeof(*keys), by_text);
    for (size_t i = 1; i < count; i++)
        if (same_text(*keys[i - 1], *keys[i]) && (!worst || keys[i] < worst))
            worst = keys[i];
    if (worst)
        rc = fail_at(m, *worst, "found duplicate key ", (*worst)->text);
    free(keys);
    return rc;
}

static int flatten(struct making *m, struct lpo_ynode *n, unsigned depth);

static int merge_from(struct making *m, struct lpo_ynode *into, struct lpo_ynode *from,
                      unsigned depth)
{
    int rc = flatten(m, from, depth + 1);

    if (rc < 0)
        return rc;
    m->merged += from->count;
    if (m->merged > 2 * LPO_YAML_MAX_VALUES)
        return fail_at(m, from, "merge keys expand to too many values", "");
    for (size_t i = 0; i < from->count; i++)
        lpo_yaml_node_push(m->scratch, into, from->kids[i]);
    return 0;
}

static int merge_value(struct making *m, struct lpo_ynode *into, struct lpo_ynode *value,
                       unsigned depth)
{
    if (value->kind == LPO_Y_MAP)
        return merge_from(m, into, value, depth);
    if (value->kind == LPO_Y_SCALAR)
        return fail_at(m, value, "expected a mapping or list of mappings for merging, found ",
                       "a scalar");
    for (size_t i = 0; i < value->count; i++)
        if (value->kids[i]->kind != LPO_Y_MAP)
            return fail_at(m, value->kids[i], "expected a mapping for merging", "");
    for (size_t i = value->count; i-- > 0;) { /* the first of a list wins, so it comes last */
        int rc = merge_from(m, into, value->kids[i], depth);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Replaces `<<` by the pairs it stands for, before the mapping's own. */
static int flatten(struct making *m, struct lpo_ynode *n, unsigned depth)
{
    struct lpo_ynode merged = { .kind = LPO_Y_MAP };
    size_t kept = 0;

    if (n->flat)
        return 0;
    if (n->open || depth > LPO_YAML_MAX_DEPTH)
        return fail_at(m, n, "a merge key leads back to its own mapping", "");
    n->open = true;
    for (size_t i = 0; i + 1 < n->count; i += 2) {
        struct lpo_ynode *key = n->kids[i];

        if (key->kind == LPO_Y_SCALAR && key->tag == LPO_TAG_MERGE) {
            int rc = merge_value(m, &merged, n->kids[i + 1], depth);

            if (rc < 0)
                return rc;
            continue;
        }
        if (key->kind == LPO_Y_SCALAR && key->tag == LPO_TAG_VALUE)
            key->tag = LPO_TAG_STR;
        n->kids[kept++] = key;
        n->kids[kept++] = n->kids[i + 1];
    }
    n->open = false;
    n->flat = true;
    n->count = kept;
    if (merged.count == 0)
        return 0;
    for (size_t i = 0; i < kept; i++)
        lpo_yaml_node_push(m->scratch, &merged, n->kids[i]);
    n->kids = merged.kids;
    n->count = merged.count;
    n->cap = merged.cap;
    return 0;
}

static int fill_map(struct making *m, struct lpo_ynode *n)
{
    int rc = check_repeats(m, n);

    if (rc == 0)
        rc = flatten(m, n, 0);
    for (size_t i = 0; rc == 0 && i + 1 < n->count; i += 2) {
        struct lpo_ynode *key = n->kids[i], *value = n->kids[i + 1];

        if (key->kind != LPO_Y_SCALAR)
            return fail_at(m, key, "found unhashable key", "");
        rc = make(m, key);
        if (rc == 0)
            rc = make(m, value);
        if (rc == 0)
            lpo_node_set_key(m->arena, n->made, key->made, value->made);
    }
    return rc;
}

/* !!omap and !!pairs: a list of one-key mappings becomes a list of [key, value]. */
static int fill_pairs(struct making *m, struct lpo_ynode *n)
{
    for (size_t i = 0; i < n->count; i++) {
        struct lpo_ynode *one = n->kids[i];
        struct lpo_node *pair = lpo_node_list(m->arena);

        if (one->kind != LPO_Y_MAP || one->count != 2)
            return fail_at(m, one, "expected a mapping of length 1", "");
        for (int j = 0; j < 2; j++) {
            int rc = make(m, one->kids[j]);

            if (rc < 0)
                return rc;
            lpo_node_push(m->arena, pair, one->kids[j]->made);
        }
        lpo_node_push(m->arena, n->made, pair);
    }
    return 0;
}

static int fill(struct making *m, struct lpo_ynode *n)
{
    if (n->kind == LPO_Y_MAP)
        return fill_map(m, n);
    if (n->tag != LPO_TAG_SEQ)
        return fill_pairs(m, n);
    for (size_t i = 0; i < n->count; i++) {
        int rc = make(m, n->kids[i]);

        if (rc < 0)
            return rc;
        lpo_node_push(m->arena, n->made, n->kids[i]->made);
    }
    return 0;
}

/* Gives every alias its own copy: what is merged into one place must not show in another. */
static int unshare(struct making *m, struct lpo_node *n, size_t *budget, unsigned depth,
                   struct lpo_node **out)
{
    struct lpo_node *copy;

    if (*budget == 0 || depth > LPO_YAML_MAX_DEPTH)
        return lpo_fail(m->err, LPO_E_LIMIT,
                        "%s:%u:%u: aliases expand to too many values, or to themselves",
                        n->where.file, n->where.line, n->where.column);
    --*budget;
    *out = copy = LPO_NEW(m->arena, struct lpo_node);
    *copy = *n;
    if (n->kind == LPO_NODE_LIST) {
        copy->items = lpo_arena_array(m->arena, n->count, sizeof(*copy->items));
        copy->cap = n->count;
        for (size_t i = 0; i < n->count; i++) {
            int rc = unshare(m, n->items[i], budget, depth + 1, &copy->items[i]);

            if (rc < 0)
                return rc;
        }
    } else if (n->kind == LPO_NODE_MAP) {
        *copy = *lpo_node_map(m->arena);
        copy->where = n->where;
        for (size_t i = 0; i < n->npairs; i++) {
            struct lpo_node *value;
            int rc = unshare(m, n->pairs[i].value, budget, depth + 1, &value);

            if (rc < 0)
                return rc;
            lpo_node_set_key(m->arena, copy, n->pairs[i].key, value);
        }
    }
    return 0;
}

static int make_tree(struct lpo_arena *a, struct lpo_arena *scratch, struct lpo_ynode *root,
                     bool aliases, struct lpo_node **out, struct lpo_err *err)
{
    struct making m = { .arena = a, .scratch = scratch, .root = root, .err = err };
    size_t budget = LPO_YAML_MAX_VALUES;
    int rc = make(&m, root);

    for (size_t i = 0; rc == 0 && i < m.queue.len; i++)
        rc = fill(&m, m.queue.at[i]);
    lpo_vec_free(&m.queue);
    if (rc < 0)
        return rc;
    *out = root->made;
    return aliases ? unshare(&m, root->made, &budget, 0, out) : 0;
}

int lpo_yaml_parse(struct lpo_arena *a, const char *text, size_t len, const char *file,
                   struct lpo_node **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) scratch = NULL;
    struct lpo_ynode *root = NULL;
    bool aliases = false;
    size_t bad;
    int rc;

    if (len > LPO_YAML_MAX_BYTES)
        return lpo_fail(err, LPO_E_LIMIT, "%s: %zu bytes are too many for a config (limit %u)",
                        file, len, LPO_YAML_MAX_BYTES);
    if (!lpo_str_utf8_valid(text, len, &bad)) {
        unsigned line = 1;

        for (size_t i = 0; i < bad; i++)
            line += text[i] == '\n';
        return lpo_fail(err, LPO_E_FORMAT, "%s:%u: byte %zu is not UTF-8", file, line, bad);
    }
    scratch = lpo_arena_create();
    rc = lpo_yaml_tree_read(scratch, text, len, lpo_arena_strdup(a, file), &root, &aliases, err);
    if (rc < 0)
        return rc;
    if (!root) {
        *out = lpo_node_null(a);
        return 0;
    }
    return make_tree(a, scratch, root, aliases, out, err);
}
