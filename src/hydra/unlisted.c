/* SPDX-License-Identifier: Apache-2.0 */

#include "hydra/compose.h"
#include "hydra/defaults/entry.h"
#include "hydra/interp/interp.h"

enum { MAX_INCLUDES = 8 }; /* configs that include each other without end */

static bool lists(struct lpo_composed *c, const char *config, const char *group, int depth)
{
    struct lpo_loaded *l = NULL;
    struct lpo_err ignored = { 0 }; /* whoever composes the file reports it */

    if (depth > MAX_INCLUDES || lpo_defaults_repo_load(c->repo, config, &l, &ignored) < 0 || !l)
        return false;
    for (size_t i = 0; i < l->count; i++) {
        const struct lpo_entry *e = &l->entries[i];
        const char *name = e->is_group ? e->group : e->path;

        if (!name || lpo_defaults_entry_is_self(e))
            continue;
        name += *name == '/';
        if (e->is_group ? strcmp(name, group) == 0 : lists(c, name, group, depth + 1))
            return true;
    }
    return false;
}

/* "dataset/sampling" is placed at dataset.sampling. */
static const char *package_of(struct lpo_arena *a, const struct lpo_unlisted *row)
{
    char *package = lpo_arena_strdup(a, row->package ? row->package : row->group);

    for (char *p = package; (p = strchr(p, '/'));)
        *p = '.';
    return package;
}

/* group=option or group@its.own.package=option, with any number of `+`. */
static bool chooses(struct lpo_arena *a, const struct lpo_override *ov,
                    const struct lpo_unlisted *row)
{
    if (strcmp(ov->key, row->group) != 0 || ov->type == LPO_OV_DEL || !ov->value ||
        ov->value->kind != LPO_NODE_STRING)
        return false;
    return ov->package ? strcmp(ov->package, package_of(a, row)) == 0 : !row->package;
}

static void advise(struct lpo_composed *c, const struct lpo_unlisted *row,
                   const struct lpo_override *ov)
{
    const char *text =
        lpo_arena_printf(c->arena, "'%s' is deprecated; it is '%s=%s' now and works as that",
                         ov->text, ov->key, ov->value->text);

    if (ov->package && !row->package)
        lpo_node_push(c->arena, c->warnings, lpo_node_string(c->arena, text));
}

void lpo_unlisted_take(struct lpo_composed *c, const struct lpo_unlisted *table, const char *config,
                       struct lpo_override **overrides, size_t *count)
{
    struct lpo_override *kept = lpo_arena_array(c->arena, c->noverrides + 1, sizeof *kept);
    size_t n = 0;

    for (size_t i = 0; i < c->noverrides; i++) {
        struct lpo_override *ov = &c->overrides[i];
        const struct lpo_unlisted *row = table;

        while (row->group && !chooses(c->arena, ov, row))
            row++;
        if (row->group)
            advise(c, row, ov);
        if (row->group && !lists(c, config, row->group, 0))
            continue;
        kept[n] = *ov;
        if (row->group && ov->package && !row->package) {
            kept[n].package = NULL;
            kept[n].type = LPO_OV_CHANGE;
        }
        n++;
    }
    *overrides = kept;
    *count = n;
}

/* The last override wins, as with any key. */
static const char *chosen(struct lpo_composed *c, const struct lpo_unlisted *row)
{
    for (size_t i = c->noverrides; i-- > 0;)
        if (chooses(c->arena, &c->overrides[i], row))
            return c->overrides[i].value->text;
    return NULL;
}

/* What is chosen for a config that says nothing of the group; no error if there is no such file. */
static const char *usual(struct lpo_composed *c, const struct lpo_unlisted *row)
{
    const char *option;

    if (!row->option || lpo_node_at(c->root, row->key ? row->key : package_of(c->arena, row)))
        return NULL;
    option = row->option(c->root);
    return lpo_defaults_repo_has_config(c->repo,
                                        lpo_arena_printf(c->arena, "%s/%s", row->group, option))
               ? option
               : NULL;
}

static int place(struct lpo_composed *c, struct lpo_interp_scope *scope,
                 const struct lpo_unlisted *row, struct lpo_node *content, bool under,
                 struct lpo_err *err)
{
    const char *package = package_of(c->arena, row), *dot;
    struct lpo_node *in = c->root;
    struct lpo_spot at;

    for (; (dot = strchr(package, '.')); package = dot + 1) {
        char *key = lpo_arena_strndup(c->arena, package, (size_t)(dot - package));

        if (!lpo_node_get(in, key) || lpo_node_get(in, key)->kind != LPO_NODE_MAP)
            lpo_node_set(c->arena, in, key, lpo_node_map(c->arena));
        in = lpo_node_get(in, key);
    }
    at = (struct lpo_spot){ .node = lpo_node_get(in, package) };
    if (row->merge && at.node && at.node->kind == LPO_NODE_MAP)
        return lpo_merge(scope, &at, content, false, err);
    if (under && at.node && at.node->kind == LPO_NODE_MAP) {
        lpo_merge_missing(c->arena, at.node, content);
        return 0;
    }
    lpo_node_set(c->arena, in, package, lpo_node_clone(c->arena, content));
    return 0;
}

int lpo_unlisted_place(struct lpo_composed *c, struct lpo_interp_scope *scope,
                       const struct lpo_unlisted *table, const char *config, struct lpo_err *err)
{
    for (const struct lpo_unlisted *row = table; row->group; row++) {
        bool listed = lists(c, config, row->group, 0);
        const char *given = chosen(c, row), *option = listed ? NULL : given;
        struct lpo_loaded *l = NULL;
        int rc;

        if (listed && !given && row->instead)
            option = row->instead(c->root);
        if (!listed && !given)
            option = usual(c, row);
        if (!option)
            continue;
        rc = lpo_defaults_repo_load(
            c->repo, lpo_arena_printf(c->arena, "%s/%s", row->group, option), &l, err);
        if (rc < 0)
            return rc;
        if (!l)
            return lpo_fail(err, LPO_E_CONFIG, "Could not find '%s/%s'", row->group, option);
        if (place(c, scope, row, l->config, !listed && !given, err) < 0)
            return err->code;
    }
    return 0;
}
