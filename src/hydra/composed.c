/* Reading a composed config: values of its parts, interpolations resolved. */
#include <string.h>

#include "hydra/compose.h"
#include "hydra/compose_scope.h"
#include "hydra/node.h"
#include "util/arena.h"
#include "util/err.h"

void lpo_compose_warn(void *composed, const char *text)
{
    struct lpo_composed *c = composed;

    lpo_node_push(c->arena, c->warnings, lpo_node_string(c->arena, text));
}

struct lpo_interp_scope lpo_compose_scope(struct lpo_composed *c)
{
    return (struct lpo_interp_scope){
        .arena = c->arena, .env = c->env, .now = c->now, .warn = lpo_compose_warn, .with = c
    };
}

int lpo_compose_fault(int rc, struct lpo_err *err)
{
    if (rc < 0 && err)
        err->code = LPO_E_CONFIG;
    return rc < 0 ? LPO_E_CONFIG : 0;
}

/* The place of a node below `at`, so that what is relative in it is resolved from there. */
static const struct lpo_spot *find_spot(struct lpo_arena *a, const struct lpo_spot *at,
                                        const struct lpo_node *node)
{
    const struct lpo_node *n = at->node;
    const struct lpo_spot *found = n == node ? at : NULL;

    for (size_t i = 0; !found && n->kind == LPO_NODE_LIST && i < n->count; i++)
        found = find_spot(a, lpo_interp_spot_child(a, at, NULL, i, n->items[i]), node);
    for (size_t i = 0; !found && n->kind == LPO_NODE_MAP && i < n->npairs; i++)
        found =
            find_spot(a, lpo_interp_spot_child(a, at, n->pairs[i].key, 0, n->pairs[i].value), node);
    return found;
}

int lpo_compose_resolve_in(struct lpo_composed *c, struct lpo_node *root, struct lpo_node *node,
                           struct lpo_err *err)
{
    struct lpo_interp_scope scope = lpo_compose_scope(c);
    struct lpo_spot top = { .node = root };
    const struct lpo_spot *at = find_spot(c->arena, &top, node);
    int rc;

    scope.hydra = c->hydra;
    scope.hydra_root = root;
    top.node = at ? root : node;
    rc = lpo_interp_resolve(&scope, at ? at : &top, err);
    return lpo_compose_fault(rc, err);
}

int lpo_compose_resolve(struct lpo_composed *c, struct lpo_err *err)
{
    return lpo_compose_resolve_in(c, c->root, c->root, err);
}

int lpo_compose_pick(struct lpo_composed *c, struct lpo_node *root, const char *path,
                     struct lpo_node **out, struct lpo_err *err)
{
    struct lpo_interp_scope scope = lpo_compose_scope(c);
    struct lpo_spot at = { .node = root };
    struct lpo_found f;
    int rc;

    scope.hydra = c->hydra;
    scope.hydra_root = root;
    rc = lpo_interp_select(&scope, &at, path, false, &f, err);
    *out = rc == 0 ? f.node : NULL;
    return lpo_compose_fault(rc, err);
}

/* Hydra's node below its key, with the job's config beside it if asked. */
static struct lpo_node *around(struct lpo_composed *c, struct lpo_node *hydra, bool with_job)
{
    struct lpo_node *map = lpo_node_map(c->arena);

    for (size_t i = 0; with_job && i < c->root->npairs; i++)
        lpo_node_set_key(c->arena, map, c->root->pairs[i].key, c->root->pairs[i].value);
    lpo_node_set(c->arena, map, "hydra", hydra);
    return map;
}

int lpo_compose_hydra(struct lpo_composed *c, const char *path, struct lpo_node **out,
                      struct lpo_err *err)
{
    const char *full = lpo_arena_printf(c->arena, "hydra.%s", path);
    struct lpo_node *whole = around(c, c->hydra, true);
    int rc = lpo_compose_pick(c, whole, full, out, err);

    if (rc < 0 || !*out || !lpo_node_is_container(*out))
        return rc;
    whole = around(c, lpo_node_clone(c->arena, c->hydra), true); /* values, in a copy */
    rc = lpo_compose_pick(c, whole, full, out, err);
    return rc < 0 ? rc : lpo_compose_resolve_in(c, whole, *out, err);
}

int lpo_compose_view(struct lpo_composed *c, const char *part, struct lpo_node **out,
                     struct lpo_err *err)
{
    if (strcmp(part, "job") == 0)
        *out = c->root;
    else if (strcmp(part, "hydra") == 0 || strcmp(part, "all") == 0)
        *out = around(c, c->hydra, *part == 'a');
    else
        return lpo_fail(err, LPO_E_USAGE, "a config has the parts job, hydra and all, not '%s'",
                        part);
    return 0;
}
