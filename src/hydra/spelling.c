/* SPDX-License-Identifier: Apache-2.0 */

#include "hydra/compose.h"

const char *lpo_spelling_path(struct lpo_arena *a, const struct lpo_spelling *table,
                              const char *path)
{
    for (int tries = 0; tries < 4; tries++) {
        const struct lpo_spelling *row = table;
        size_t len = 0;

        for (; row->old; row++) {
            len = strlen(row->old);
            if (*row->now && !row->not_map && strncmp(path, row->old, len) == 0 &&
                (path[len] == '\0' || path[len] == '.'))
                break;
        }
        if (!row->old)
            break;
        path = lpo_arena_printf(a, "%s%s", row->now, path + len);
    }
    return path;
}

static void advise(struct lpo_arena *a, struct lpo_node *warnings, const char *old, const char *now)
{
    const char *text =
        *now ? lpo_arena_printf(a, "'%s' is deprecated; it is '%s' now and works as that", old, now)
             : lpo_arena_printf(a, "'%s' is deprecated and does nothing any more", old);

    for (size_t i = 0; i < warnings->count; i++)
        if (lpo_node_is_text(warnings->items[i], text))
            return;
    lpo_node_push(a, warnings, lpo_node_string(a, text));
}

/* The map that holds the last key of a path; made on the way if `make`. */
static struct lpo_node *holder(struct lpo_arena *a, struct lpo_node *root, const char *path,
                               bool make, const char **last)
{
    struct lpo_node *in = root;
    const char *dot;

    for (; (dot = strchr(path, '.')); path = dot + 1) {
        char *key = lpo_arena_strndup(a, path, (size_t)(dot - path));
        struct lpo_node *next = lpo_node_get(in, key);

        if ((!next || next->kind != LPO_NODE_MAP) && !make)
            return NULL;
        if (!next || next->kind != LPO_NODE_MAP) {
            next = lpo_node_map(a);
            lpo_node_set(a, in, key, next);
        }
        in = next;
    }
    *last = path;
    return in;
}

/* Puts a value at its new place; maps go key by key, since their keys may have moved too. */
static void place(struct lpo_arena *a, const struct lpo_spelling *table, struct lpo_node *root,
                  const char *path, struct lpo_node *value)
{
    const char *last;
    struct lpo_node *in, *there;

    path = lpo_spelling_path(a, table, path);
    in = holder(a, root, path, true, &last);
    there = lpo_node_get(in, last);
    if (value->kind != LPO_NODE_MAP) {
        lpo_node_set(a, in, last, value);
        return;
    }
    if (!there || there->kind != LPO_NODE_MAP) {
        there = lpo_node_map(a);
        there->where = value->where;
        lpo_node_set(a, in, last, there);
    }
    for (size_t i = 0; i < value->npairs; i++)
        if (value->pairs[i].key->kind == LPO_NODE_STRING)
            place(a, table, root, lpo_arena_printf(a, "%s.%s", path, value->pairs[i].key->text),
                  value->pairs[i].value);
        else
            lpo_node_set_key(a, there, value->pairs[i].key, value->pairs[i].value);
}

/* "${device}" is "${run.device}" now. NULL: nothing in the text is old. */
static const char *today_text(struct lpo_arena *a, const struct lpo_spelling *table,
                              const char *text)
{
    LPO_STR out = { 0 };
    const char *at = text, *brace;
    bool changed = false;

    while ((brace = strstr(at, "${"))) {
        const char *key = brace + 2;
        size_t len = strcspn(key, "}:$,");
        const char *path = lpo_arena_strndup(a, key, len), *now = path;

        if (key[len] == '}')
            now = lpo_spelling_path(a, table, path);
        changed = changed || now != path;
        lpo_str_addn(&out, at, (size_t)(key - at));
        lpo_str_add(&out, now);
        at = key + len;
    }
    lpo_str_add(&out, at);
    return changed ? lpo_arena_strdup(a, lpo_str_text(&out)) : NULL;
}

static const char *path_below(struct lpo_arena *a, const char *path, const struct lpo_pair *pair)
{
    if (pair->key->kind != LPO_NODE_STRING ||
        (pair->value->kind != LPO_NODE_MAP && !lpo_node_is_interpolation(pair->value)))
        return "";
    return lpo_arena_printf(a, "%s%s%s", path, *path ? "." : "", pair->key->text);
}

/* References to old keys, in every value. False: the value refers to itself now and goes; `enable:
 * ${pipeline.torch_profiler.enabled}` says the same as no line. */
static bool mend_references(struct lpo_arena *a, const struct lpo_spelling *table,
                            struct lpo_node *n, const char *path)
{
    const char *now;

    for (size_t i = 0; n->kind == LPO_NODE_LIST && i < n->count; i++)
        mend_references(a, table, n->items[i], "");
    for (size_t i = 0; n->kind == LPO_NODE_MAP && i < n->npairs;)
        if (mend_references(a, table, n->pairs[i].value, path_below(a, path, &n->pairs[i])))
            i++;
        else
            lpo_node_remove(n, n->pairs[i].key);
    if (!lpo_node_is_interpolation(n) || !(now = today_text(a, table, n->text)))
        return true;
    n->text = now;
    n->len = strlen(now);
    return !*path || strcmp(now, lpo_arena_printf(a, "${%s}", path)) != 0;
}

/* The map of an old name that has nothing left in it. */
static void remove_shell(struct lpo_arena *a, struct lpo_node *root, const char *old)
{
    char *path = lpo_arena_strdup(a, old);

    for (char *dot; (dot = strrchr(path, '.'));) {
        const char *last;
        struct lpo_node *in, *shell;

        *dot = '\0';
        in = holder(a, root, path, false, &last);
        shell = in ? lpo_node_get(in, last) : NULL;
        if (!shell || shell->kind != LPO_NODE_MAP || shell->npairs)
            return;
        lpo_node_remove(in, lpo_node_string(a, last));
    }
}

static void move_key(struct lpo_arena *a, const struct lpo_spelling *table,
                     const struct lpo_spelling *row, struct lpo_node *root,
                     struct lpo_node *warnings)
{
    const char *last;
    struct lpo_node *in = holder(a, root, row->old, false, &last);
    struct lpo_node *value = in ? lpo_node_get(in, last) : NULL;

    if (in && !value && !*row->now) /* a file whose package holds such keys alone */
        remove_shell(a, root, row->old);
    if (!value || (row->not_map && value->kind == LPO_NODE_MAP))
        return;
    lpo_node_remove(in, lpo_node_string(a, last));
    /* an old name that only mirrors today's key, `torch_profiler: ${pipeline.torch_profiler}`,
     * would refer to itself */
    if (*row->now && !lpo_node_is_text(value, lpo_arena_printf(a, "${%s}", row->now)))
        place(a, table, root, row->now, value);
    advise(a, warnings, row->old, row->now);
    remove_shell(a, root, row->old);
}

void lpo_spelling_move(struct lpo_arena *a, const struct lpo_spelling *table, struct lpo_node *root,
                       struct lpo_node *warnings)
{
    for (const struct lpo_spelling *row = table; row->old; row++)
        if (!strchr(row->old, '='))
            move_key(a, table, row, root, warnings);
    if (root->kind == LPO_NODE_MAP)
        mend_references(a, table, root, "");
}

/* A row with a '=' is a whole override, whatever `+` stands before it. */
static bool reword(struct lpo_arena *a, const struct lpo_spelling *table, struct lpo_override *ov,
                   struct lpo_node *warnings)
{
    const char *word = ov->text + strspn(ov->text, "+");

    for (; table->old; table++)
        if (strchr(table->old, '=') && strcmp(table->old, word) == 0) {
            const char *old = ov->text;

            if (lpo_override_parse(a, table->now, ov, NULL) < 0)
                return false;
            ov->type = LPO_OV_FORCE_ADD;
            ov->text = old;
            advise(a, warnings, word, table->now);
            return true;
        }
    return false;
}

/* Does nothing any more, or lies in a map that does; `key` is today's spelling. */
static bool is_gone(const struct lpo_spelling *table, const char *key)
{
    for (; table->old; table++) {
        size_t len = strlen(table->old);

        if (!*table->now && strncmp(key, table->old, len) == 0 && strchr(".", key[len]))
            return true;
    }
    return false;
}

size_t lpo_spelling_rename(struct lpo_arena *a, const struct lpo_spelling *table,
                           struct lpo_override *overrides, size_t count, struct lpo_node *warnings)
{
    size_t kept = 0;

    for (size_t k = 0; k < count; k++) {
        size_t i = kept++;
        const char *now;

        overrides[i] = overrides[k];
        if (reword(a, table, &overrides[i], warnings))
            continue;
        now = lpo_spelling_path(a, table, overrides[i].key);
        if (is_gone(table, now)) {
            advise(a, warnings, overrides[i].key, "");
            kept--;
            continue;
        }
        if (now == overrides[i].key)
            continue;
        advise(a, warnings, overrides[i].key, now);
        overrides[i].key = now;
        /* `+` was right when the old config did not have the key; today's has it */
        if (overrides[i].type == LPO_OV_ADD)
            overrides[i].type = LPO_OV_FORCE_ADD;
    }
    return kept;
}
