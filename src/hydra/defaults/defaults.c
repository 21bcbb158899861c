/* SPDX-License-Identifier: Apache-2.0 */

#include "hydra/defaults/entry.h"
#include "hydra/interp/interp.h"

/* The tree that defaults lists make. */
struct lpo_tree {
    struct lpo_entry *entry; /* NULL: the root above hydra/config and the primary config */
    struct lpo_tree *parent;
    struct lpo_tree **kids; /* a kid without kids is a leaf */
    size_t count, cap;
};

/* Reading the tree off */

static const char *config_of(struct lpo_arena *a, const struct lpo_tree *t)
{
    return t->entry ? lpo_defaults_entry_config_path(a, t->entry) : "<root>";
}

static size_t count_leaves(const struct lpo_tree *t)
{
    size_t n = t->count == 0;

    for (size_t i = 0; i < t->count; i++)
        n += count_leaves(t->kids[i]);
    return n;
}

static struct lpo_default_row row_of(struct lpo_arena *a, const struct lpo_tree *leaf)
{
    const struct lpo_entry *e = leaf->entry;
    const struct lpo_tree *holder = leaf->parent;
    struct lpo_default_row r = { 0 };

    if (lpo_defaults_entry_is_self(e)) { /* means the content of the file that holds it */
        r.config = config_of(a, holder);
        r.package = lpo_defaults_entry_final_package(a, holder->entry, true);
        r.parent = config_of(a, holder->parent);
        r.primary = holder->entry->primary;
        r.is_self = true;
        return r;
    }
    r.config = lpo_defaults_entry_config_path(a, e);
    r.package = lpo_defaults_entry_final_package(a, e, true);
    r.parent = config_of(a, holder);
    r.primary = e->primary;
    r.key = e->is_group ? lpo_defaults_entry_key(a, e) : NULL;
    return r;
}

static void collect(struct lpo_arena *a, const struct lpo_tree *t, struct lpo_defaults *out)
{
    if (t->count == 0) {
        const struct lpo_entry *e = t->entry;

        if (!e->deleted && !lpo_defaults_entry_is_missing(e) && lpo_defaults_entry_name(e))
            out->rows[out->count++] = row_of(a, t);
        return;
    }
    for (size_t i = 0; i < t->count; i++)
        collect(a, t->kids[i], out);
}

static int rows_of(struct lpo_arena *a, const struct lpo_tree *root, struct lpo_defaults *out,
                   struct lpo_err *err)
{
    out->count = 0;
    out->rows = lpo_arena_array(a, count_leaves(root), sizeof(*out->rows));
    collect(a, root, out);
    for (size_t i = 0; i < out->count; i++)
        for (size_t j = 0; j < i && out->rows[i].key; j++)
            if (lpo_streq(out->rows[i].key, out->rows[j].key))
                return lpo_fail(err, LPO_E_CONFIG,
                                "%s appears more than once in the final defaults list",
                                out->rows[i].key);
    return 0;
}

static void add_node(struct lpo_arena *a, const struct lpo_tree *t, int depth, struct lpo_str *s)
{
    const struct lpo_entry *e = t->entry;

    lpo_str_addf(s, "%*s", depth * 2, "");
    if (!e)
        lpo_str_add(s, "<root>");
    else if (lpo_defaults_entry_is_self(e))
        lpo_str_add(s, "_self_");
    else if (e->is_group)
        lpo_str_addf(s, "%s: %s", lpo_defaults_entry_key(a, e), e->option ? e->option : "null");
    else
        lpo_str_add(s, lpo_defaults_entry_config_path(a, e));
    lpo_str_add(s, t->count ? ":\n" : "\n");
    for (size_t i = 0; i < t->count; i++)
        add_node(a, t->kids[i], depth + 1, s);
}

void lpo_defaults_add_tree(struct lpo_arena *a, const struct lpo_tree *tree, struct lpo_str *s)
{
    add_node(a, tree, 0, s);
}

/* Growing the tree */

#define SELF                                                                                       \
    "See https://hydra.cc/docs/1.2/upgrades/1.0_to_1.1/default_composition_order for more "        \
    "information"

enum { MAX_DEPTH = 64, MAX_NODES = 20000 };

struct growing {
    struct lpo_arena *arena;
    const struct lpo_interp_scope *scope;
    struct lpo_repo *repo;
    struct lpo_choices *choices;
    bool skip_missing;
    size_t nodes;
    struct lpo_err *err;
};

static int grow(struct growing *g, struct lpo_tree *t, bool is_root, bool interpolated,
                unsigned depth);

static struct lpo_tree *new_tree(struct growing *g, struct lpo_entry *e, struct lpo_tree *parent)
{
    struct lpo_tree *t = LPO_NEW(g->arena, struct lpo_tree);

    t->entry = e;
    t->parent = parent;
    return t;
}

static void add_kid(struct growing *g, struct lpo_tree *t, struct lpo_tree *kid)
{
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 8;
        struct lpo_tree **kids = lpo_arena_array(g->arena, cap, sizeof(*kids));

        if (t->count)
            memcpy(kids, t->kids, t->count * sizeof(*kids));
        t->kids = kids;
        t->cap = cap;
    }
    t->kids[t->count++] = kid;
}

/* Messages */

static int not_found(struct growing *g, const struct lpo_tree *t)
{
    const struct lpo_entry *e = t->entry;
    const char *path = lpo_defaults_entry_config_path(g->arena, e);
    LPO_STR s = { 0 };

    if (e->primary) {
        lpo_str_addf(&s,
                     "Cannot find primary config '%s'. Check that it's in your config search "
                     "path.\n",
                     path);
    } else {
        if (t->parent)
            lpo_str_addf(&s, "In '%s': ", config_of(g->arena, t->parent));
        lpo_str_addf(&s, "Could not %s '%s'%s\n", e->is_group ? "find" : "load", path,
                     e->is_group ? "" : ".");
    }
    if (e->is_group) {
        const char *group = lpo_defaults_entry_group_path(g->arena, e), **names, *near;
        size_t n = lpo_defaults_repo_options(g->repo, group, &names);

        if (n)
            lpo_str_addf(&s, "\nAvailable options in '%s':", group);
        for (size_t i = 0; i < n; i++)
            lpo_str_addf(&s, "\n\t%s", names[i]);
        near = e->option ? lpo_str_nearest(e->option, names, n) : NULL;
        if (near)
            lpo_str_addf(&s, "\nDid you mean '%s'?", near);
    }
    lpo_str_add(&s, "\nConfig search path:");
    lpo_defaults_repo_add_sources(g->repo, &s);
    lpo_fail(g->err, LPO_E_CONFIG, "%s", lpo_str_text(&s));
    if (e->where.line)
        lpo_ctx(g->err, "%s:%u:%u: defaults list", e->where.file, e->where.line, e->where.column);
    return LPO_E_CONFIG;
}

static int must_specify(struct growing *g, const struct lpo_entry *e)
{
    const char *key, **names;
    LPO_STR s = { 0 };
    size_t n;

    if (!e->is_group)
        return lpo_fail(g->err, LPO_E_CONFIG, "Missing ConfigDefault is not supported : %s",
                        lpo_defaults_entry_config_path(g->arena, e));
    key = lpo_defaults_entry_key(g->arena, e);
    n = lpo_defaults_repo_options(g->repo, lpo_defaults_entry_group_path(g->arena, e), &names);
    for (size_t i = 0; i < n; i++)
        lpo_str_addf(&s, "\n\t%s", names[i]);
    return lpo_fail(g->err, LPO_E_CONFIG,
                    "You must specify '%s', e.g, %s=<OPTION>\nAvailable options:%s", key, key,
                    lpo_str_text(&s));
}

/* The file's own list, with _self_ added at its end where it has none. */

static int count_selves(struct growing *g, const struct lpo_entry *e, const struct lpo_loaded *l,
                        bool *has_self, bool *has_other)
{
    *has_self = *has_other = false;
    for (size_t i = 0; i < l->count; i++) {
        if (!l->entries[i].override)
            *has_other = true;
        if (!lpo_defaults_entry_is_self(&l->entries[i]))
            continue;
        if (*has_self)
            return lpo_fail(g->err, LPO_E_CONFIG, "Duplicate _self_ defined in %s",
                            lpo_defaults_entry_config_path(g->arena, e));
        *has_self = true;
    }
    return 0;
}

/* Anything of its own beside the list: then the place of _self_ makes a difference. */
static bool has_content(const struct lpo_node *config)
{
    for (size_t i = 0; config->kind == LPO_NODE_MAP && i < config->npairs; i++)
        if (!lpo_node_is_missing(config->pairs[i].value))
            return true;
    return false;
}

static int own_list(struct growing *g, const struct lpo_entry *e, const struct lpo_loaded *l,
                    bool is_root, struct lpo_entry **out, size_t *count)
{
    size_t extra = is_root ? g->choices->nappend : 0, n = l->count;
    bool has_self, has_other;
    struct lpo_entry *list;
    int rc = count_selves(g, e, l, &has_self, &has_other);

    if (rc < 0)
        return rc;
    if (e->primary && !has_self && has_other && has_content(l->config) && g->scope->warn)
        g->scope->warn(g->scope->with,
                       lpo_arena_printf(g->arena,
                                        "In '%s': Defaults list is missing `_self_`. " SELF,
                                        lpo_defaults_entry_config_path(g->arena, e)));
    list = lpo_arena_array(g->arena, n + extra + 1, sizeof(*list));
    if (n)
        memcpy(list, l->entries, n * sizeof(*list));
    if ((n || extra) && ((!has_self && has_other) || n == 0))
        list[n++] = (struct lpo_entry){ .path = "_self_" };
    if (extra)
        memcpy(list + n, g->choices->append, extra * sizeof(*list));
    *out = list;
    *count = n + extra;
    return 0;
}

/* Passes `override` entries, which must come last in a list, on to the choices. */
static int note_overrides(struct growing *g, const struct lpo_entry *parent, struct lpo_entry *list,
                          size_t count, bool interpolated)
{
    const char *config = lpo_defaults_entry_config_path(g->arena, parent);
    const struct lpo_entry *last = NULL;

    for (size_t i = 0; i < count; i++) {
        struct lpo_entry *e = &list[i];

        if (lpo_defaults_entry_is_self(e))
            continue;
        lpo_defaults_entry_adopt(g->arena, e, lpo_defaults_entry_group_path(g->arena, parent),
                                 lpo_defaults_entry_final_package(g->arena, parent, true));
        if (last && !e->override && !e->external)
            return lpo_fail(g->err, LPO_E_CONFIG,
                            "In %s: Override '%s : %s' is defined before '%s: %s'.\n"
                            "Overrides must be at the end of the defaults list",
                            config, lpo_defaults_entry_key(g->arena, last),
                            lpo_defaults_entry_name(last),
                            e->is_group ? lpo_defaults_entry_key(g->arena, e)
                                        : lpo_defaults_entry_config_path(g->arena, e),
                            lpo_defaults_entry_name(e) ? lpo_defaults_entry_name(e) : "None");
        if (!e->is_group || !e->override)
            continue;
        last = e;
        if (interpolated)
            return lpo_fail(g->err, LPO_E_CONFIG,
                            "%s: Default List Overrides are not allowed in the subtree of an in "
                            "interpolated config group (override %s=%s).",
                            config, lpo_defaults_entry_key(g->arena, e),
                            lpo_defaults_entry_name(e));
        lpo_defaults_choices_add(g->choices, config, e);
    }
    return 0;
}

/* One entry below `t`, grown; `kids` gathers from the last to the first. */
static int grow_kid(struct growing *g, struct lpo_tree *t, struct lpo_entry *e, bool interpolated,
                    unsigned depth, struct lpo_tree *kids)
{
    struct lpo_tree *kid = new_tree(g, e, t);
    int rc = grow(g, kid, false, interpolated, depth + 1);

    if (rc == 0)
        add_kid(g, kids, kid);
    return rc;
}

/* group: [a, b] is two config entries, group/a and group/b. */
static int grow_options(struct growing *g, struct lpo_tree *t, const struct lpo_entry *list,
                        bool interpolated, unsigned depth, struct lpo_tree *kids)
{
    for (size_t i = list->noptions; i-- > 0;) {
        struct lpo_entry *e = LPO_NEW(g->arena, struct lpo_entry);
        int rc;

        if (strstr(list->options[i], "${"))
            return lpo_fail(g->err, LPO_E_CONFIG,
                            "In '%s': Defaults List interpolation is not supported in options list "
                            "items",
                            lpo_defaults_entry_config_path(g->arena, t->entry));
        e->path = lpo_arena_printf(g->arena, "%s/%s", list->group, list->options[i]);
        e->package = list->package;
        e->optional = list->optional;
        e->where = list->where;
        lpo_defaults_entry_adopt(g->arena, e, lpo_defaults_entry_group_path(g->arena, t->entry),
                                 lpo_defaults_entry_final_package(g->arena, t->entry, true));
        rc = grow_kid(g, t, e, interpolated, depth, kids);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int grow_entry(struct growing *g, struct lpo_tree *t, struct lpo_entry *e, bool interpolated,
                      unsigned depth, struct lpo_tree *kids)
{
    struct lpo_arena *a = g->arena;

    if (lpo_defaults_entry_is_self(e)) {
        lpo_defaults_entry_adopt(a, e, t->entry->base_dir, lpo_defaults_entry_package(t->entry));
        add_kid(g, kids, new_tree(g, e, t));
        return 0;
    }
    if (e->override)
        return 0;
    lpo_defaults_entry_adopt(a, e, lpo_defaults_entry_group_path(a, t->entry),
                             lpo_defaults_entry_final_package(a, t->entry, true));
    lpo_defaults_choices_apply(g->choices, e);
    if (e->is_group && e->is_list)
        return grow_options(g, t, e, interpolated, depth, kids);
    if (lpo_defaults_entry_is_interpolation(a, e)) {
        add_kid(g, kids, new_tree(g, e, t)); /* when all choices of this list are known */
        return 0;
    }
    return grow_kid(g, t, e, interpolated, depth, kids);
}

/* Interpolated choices */

static int bad_interpolation(struct growing *g, const char *text, int code)
{
    const struct lpo_node *known = g->choices->known;
    LPO_STR s = { 0 };

    if (code != LPO_E_NOTFOUND)
        return lpo_ctx(g->err, "cannot resolve '%s' in a defaults list", text);
    for (size_t i = 0; i < known->npairs; i++)
        lpo_str_addf(&s, "%s%s",
                     i ? ", " : ", possible interpolation keys: ", known->pairs[i].key->text);
    return lpo_fail(g->err, LPO_E_CONFIG, "Error resolving interpolation '%s'%s", text,
                    lpo_str_text(&s));
}

static int resolve_entry(struct growing *g, struct lpo_entry *e)
{
    struct lpo_interp_scope scope = *g->scope;
    struct lpo_spot root = { .node = g->choices->known }, at = { .up = &root };
    const char *text = e->is_group ? e->option : e->path;
    const char *old = e->is_group ? strstr(text, "${defaults.") : NULL;
    struct lpo_found f;
    int rc;

    if (old && old[11] >= '0' && old[11] <= '9')
        return lpo_fail(g->err, LPO_E_CONFIG,
                        "Defaults list element '%s=%s' is using a deprecated interpolation form.",
                        lpo_defaults_entry_key(g->arena, e), text);
    at.node = lpo_node_string(g->arena, text);
    rc = lpo_interp_deref(&scope, &at, &f, g->err);
    if (rc < 0)
        return bad_interpolation(g, text, rc);
    if (f.node->kind != LPO_NODE_STRING)
        return lpo_fail(g->err, LPO_E_CONFIG, "'%s' in a defaults list gives %s, not a name", text,
                        lpo_node_kind_name(f.node->kind));
    if (e->is_group)
        e->option = f.node->text;
    else
        e->path = f.node->text;
    return 0;
}

static int grow_interpolated(struct growing *g, struct lpo_tree *t, struct lpo_tree *kids,
                             unsigned depth)
{
    for (size_t i = 0; i < kids->count; i++) {
        struct lpo_tree *kid = kids->kids[i];
        int rc;

        if (kid->count || lpo_defaults_entry_is_self(kid->entry) ||
            !lpo_defaults_entry_is_interpolation(g->arena, kid->entry))
            continue;
        rc = resolve_entry(g, kid->entry);
        if (rc < 0)
            return rc;
        lpo_defaults_entry_adopt(g->arena, kid->entry,
                                 lpo_defaults_entry_group_path(g->arena, t->entry),
                                 lpo_defaults_entry_final_package(g->arena, t->entry, true));
        rc = grow(g, kid, false, true, depth + 1);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Growing */

static int grow_list(struct growing *g, struct lpo_tree *t, const struct lpo_loaded *l,
                     bool is_root, bool interpolated, unsigned depth)
{
    struct lpo_tree kids = { 0 };
    struct lpo_entry *list = NULL;
    size_t count = 0;
    int rc = own_list(g, t->entry, l, is_root, &list, &count);

    if (rc == 0)
        rc = note_overrides(g, t->entry, list, count, interpolated);
    for (size_t i = count; rc == 0 && i-- > 0;)
        rc = grow_entry(g, t, &list[i], interpolated, depth, &kids);
    if (rc == 0)
        rc = grow_interpolated(g, t, &kids, depth);
    for (size_t i = kids.count; rc == 0 && i-- > 0;)
        add_kid(g, t, kids.kids[i]);
    return rc;
}

static int grow(struct growing *g, struct lpo_tree *t, bool is_root, bool interpolated,
                unsigned depth)
{
    struct lpo_entry *e = t->entry;
    struct lpo_loaded *l = NULL;
    const char *path;
    int rc = 0;

    if (depth > MAX_DEPTH || ++g->nodes > MAX_NODES)
        return lpo_fail(g->err, LPO_E_CONFIG, "'%s': defaults lists lead too deep, or in a circle",
                        lpo_defaults_entry_config_path(g->arena, e));
    path = lpo_defaults_entry_config_path(g->arena, e);
    if (e->primary && !lpo_defaults_repo_has_config(g->repo, path))
        return not_found(g, t);
    if (!lpo_defaults_entry_is_missing(e))
        rc = lpo_defaults_repo_load(g->repo, path, &l, g->err);
    if (rc < 0)
        return rc;
    if (l)
        lpo_defaults_entry_set_header(g->arena, e, l->package);
    if (lpo_defaults_choices_delete(g->choices, e))
        return 0;
    rc = lpo_defaults_choices_know(g->choices, e, g->err);
    if (rc < 0 || !lpo_defaults_entry_name(e))
        return rc;
    if (lpo_str_ends(path, "???"))
        return g->skip_missing ? 0 : must_specify(g, e);
    if (!l) {
        if (!e->optional)
            return not_found(g, t);
        e->deleted = true;
        return 0;
    }
    return grow_list(g, t, l, is_root, interpolated, depth);
}

int lpo_defaults_list(const struct lpo_interp_scope *scope, struct lpo_repo *repo,
                      const char *config_name, struct lpo_choices *choices, bool skip_missing,
                      struct lpo_defaults *out, struct lpo_err *err)
{
    struct lpo_arena *a = scope->arena;
    struct growing g = { a, scope, repo, choices, skip_missing, 0, err };
    struct lpo_tree *root = new_tree(&g, NULL, NULL);
    struct lpo_entry *hydra = LPO_NEW(a, struct lpo_entry), *main = LPO_NEW(a, struct lpo_entry);
    struct lpo_tree *both[2];
    int rc = 0;

    hydra->path = "hydra/config";
    main->path = config_name;
    main->primary = true;
    both[0] = new_tree(&g, hydra, root);
    both[1] = new_tree(&g, main, root);
    for (int i = 1; rc == 0 && i >= 0; i--) { /* the primary first: it may override hydra's own */
        lpo_defaults_entry_adopt(a, both[i]->entry, "", "");
        rc = grow(&g, both[i], i == 1, false, 0);
    }
    if (rc < 0)
        return rc;
    add_kid(&g, root, both[0]);
    add_kid(&g, root, both[1]);
    out->tree = root;
    rc = rows_of(a, root, out, err);
    return rc < 0 ? rc : lpo_defaults_choices_check_used(choices, err);
}
