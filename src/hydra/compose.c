/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/compose.h"

#include <unistd.h>

#include "hydra/defaults/entry.h"
#include "hydra/interp/interp.h"
#include "util/path.h"

static void warn(void *composed, const char *text)
{
    struct lpo_composed *c = composed;

    lpo_node_push(c->arena, c->warnings, lpo_node_string(c->arena, text));
}

/* What interpolations of this config may ask for. */
static struct lpo_interp_scope scope_of(struct lpo_composed *c)
{
    return (struct lpo_interp_scope){
        .arena = c->arena, .env = c->env, .now = c->now, .warn = warn, .with = c
    };
}

/* Whatever it was below, for the caller the config is wrong. */
static int config_fault(int rc, struct lpo_err *err)
{
    if (rc < 0 && err)
        err->code = LPO_E_CONFIG;
    return rc < 0 ? LPO_E_CONFIG : 0;
}

/* Overrides */

static int read_overrides(struct lpo_composed *c, const struct lpo_compose_in *in,
                          struct lpo_err *err)
{
    size_t n = 0;

    while (in->overrides && in->overrides[n]) {
        if (!lpo_str_utf8_valid(in->overrides[n], strlen(in->overrides[n]), NULL))
            return lpo_fail(err, LPO_E_CONFIG, "override %zu is not UTF-8", n + 1);
        n++;
    }
    c->noverrides = n;
    return lpo_override_parse_all(c->arena, in->overrides, n, &c->overrides, err);
}

static int check_sweeps(const struct lpo_composed *c, bool multirun, struct lpo_err *err)
{
    for (size_t i = 0; i < c->noverrides; i++) {
        const struct lpo_override *ov = &c->overrides[i];

        if (!ov->sweep)
            continue;
        if (multirun && lpo_override_is_hydra(ov))
            return lpo_fail(err, LPO_E_CONFIG,
                            "Sweeping over Hydra's configuration is not supported : '%s'",
                            ov->text);
        if (multirun)
            continue;
        if (ov->value_type == LPO_VALUE_SIMPLE_CHOICE)
            return lpo_fail(err, LPO_E_CONFIG,
                            "Ambiguous value for argument '%s'\n"
                            "1. To use it as a list, use key=[value1,value2]\n"
                            "2. To use it as string, quote the value: key=\\'value1,value2\\'\n"
                            "3. To sweep over it, add --multirun to your command line",
                            ov->text);
        return lpo_fail(err, LPO_E_CONFIG, "Sweep parameters '%s' requires --multirun", ov->text);
    }
    return 0;
}

/* The search path */

static int bad_searchpath(const struct lpo_node *v, struct lpo_err *err)
{
    LPO_STR s = { 0 };

    lpo_yaml_py_add_str(&s, v);
    return lpo_fail(err, LPO_E_CONFIG, "hydra.searchpath must be a list of strings. Got: %s",
                    lpo_str_text(&s));
}

static int add_searchpath(struct lpo_composed *c, const struct lpo_node *list, const char *provider,
                          struct lpo_err *err)
{
    if (!list || list->kind == LPO_NODE_NULL)
        return 0;
    if (list->kind != LPO_NODE_LIST)
        return bad_searchpath(list, err);
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i]->kind != LPO_NODE_STRING)
            return bad_searchpath(list, err);
    for (size_t i = 0; i < list->count; i++) {
        const char *dir = list->items[i]->text;

        if (lpo_str_starts(dir, "pkg://"))
            continue; /* a Python package: nothing to look into */
        if (lpo_str_starts(dir, "file://"))
            dir += strlen("file://");
        lpo_defaults_repo_add(c->repo, provider, dir);
        if (!lpo_path_is_dir(dir))
            warn(c, lpo_arena_printf(c->arena, "provider=%s, path=%s is not available.", provider,
                                     dir));
    }
    return 0;
}

/* hydra.searchpath of the command line, else of the primary config. */
static int set_searchpath(struct lpo_composed *c, const char *config, struct lpo_err *err)
{
    struct lpo_interp_scope scope = scope_of(c);
    struct lpo_spot root = { 0 };
    struct lpo_loaded *l;
    struct lpo_found f;
    int rc = lpo_defaults_repo_load(c->repo, config, &l, err);

    if (rc < 0)
        return rc;
    if (l && l->config->kind != LPO_NODE_MAP)
        return lpo_fail(err, LPO_E_CONFIG,
                        "primary config '%s' must be a DictConfig, got ListConfig", config);
    for (size_t i = 0; i < c->noverrides; i++)
        if (strcmp(c->overrides[i].key, "hydra.searchpath") == 0 && !c->overrides[i].package &&
            c->overrides[i].type == LPO_OV_CHANGE && c->overrides[i].value &&
            c->overrides[i].value->kind != LPO_NODE_NULL)
            return add_searchpath(c, c->overrides[i].value, "hydra.searchpath in command-line",
                                  err);
    if (!l)
        return 0;
    root.node = l->config;
    rc = lpo_interp_select(&scope, &root, "hydra.searchpath", false, &f, err);
    return rc < 0 ? rc : add_searchpath(c, f.node, "hydra.searchpath in main", err);
}

/* Merging */

static struct lpo_node *wrap(struct lpo_arena *a, const char *package, struct lpo_node *config)
{
    const char **keys;
    size_t n = lpo_interp_key_split(a, package, &keys);

    while (*package && n > 0) {
        struct lpo_node *map = lpo_node_map(a);

        lpo_node_set(a, map, keys[--n], config);
        config = map;
    }
    return config;
}

/* Older keys are moved in each file by itself, so that the order of the files still decides. */
static struct lpo_node *place_file(struct lpo_composed *c, const struct lpo_spelling *spellings,
                                   const struct lpo_default_row *row, struct lpo_node *config)
{
    if (!spellings)
        return wrap(c->arena, row->package, config);
    config = wrap(c->arena, row->package, lpo_node_clone(c->arena, config));
    lpo_spelling_move(c->arena, spellings, config, c->warnings);
    return config;
}

static int merge_row(struct lpo_composed *c, const struct lpo_spelling *spellings,
                     const struct lpo_default_row *row, struct lpo_err *err)
{
    struct lpo_node *root = c->root;
    struct lpo_interp_scope scope = scope_of(c);
    struct lpo_spot at = { .node = root };
    struct lpo_loaded *l;
    struct lpo_node *config, *path;
    int rc = lpo_defaults_repo_load(c->repo, row->config, &l, err);

    if (rc < 0 || !l)
        return rc;
    config = place_file(c, spellings, row, l->config);
    path = lpo_node_at(config, "hydra.searchpath");
    if (!row->primary && strcmp(row->config, "hydra/config") != 0 && path &&
        path->kind != LPO_NODE_NULL)
        return lpo_fail(err, LPO_E_CONFIG,
                        "In '%s': Overriding hydra.searchpath is only supported from the primary "
                        "config",
                        row->config);
    rc = lpo_merge(&scope, &at, config, false, err);
    if (rc == 0 && lpo_node_get(config, "hydra"))
        rc = lpo_hydra_check(c->arena, lpo_node_get(root, "hydra"), true, err);
    if (rc < 0)
        return lpo_ctx(err, "In '%s' (%s): cannot be merged", row->config, l->file);
    return 0;
}

/* "runner.nsys" of a file in runner/ is "nsys", as if the file stood beside the primary one. */
static const char *without_folder(const char *package, const char *config)
{
    size_t len = strcspn(config, "/");

    if (strncmp(package, config, len) != 0 || (package[len] != '.' && package[len]))
        return package;
    return package + len + (package[len] == '.');
}

/* A second config of the same kind: what it lists comes before everything, since the first one
 * and the command line choose after it, and what it says itself comes last. */
static int add_second(struct lpo_composed *c, const struct lpo_interp_scope *scope,
                      const char *config, struct lpo_err *err)
{
    struct lpo_defaults more = { 0 }, *all = &c->defaults;
    struct lpo_choices none;
    struct lpo_default_row *rows;
    size_t n = 0;

    if (lpo_defaults_choices_init(&none, c->arena, c->repo, NULL, 0, err) < 0 ||
        lpo_defaults_list(scope, c->repo, config, &none, false, &more, err) < 0)
        return err->code;
    rows = lpo_arena_array(c->arena, all->count + more.count, sizeof *rows);
    for (int last = 0; last < 2; last++) {
        for (size_t i = 0; i < more.count; i++) {
            struct lpo_default_row *row = &more.rows[i];

            if (lpo_str_starts(row->config, "hydra/") || row->primary != last)
                continue;
            row->package = without_folder(row->package, config);
            rows[n++] = *row;
        }
        for (size_t i = 0; !last && i < all->count; i++)
            rows[n++] = all->rows[i];
    }
    all->rows = rows;
    all->count = n;
    return 0;
}

/* Its type is "a map or nothing", and below nothing of that type Hydra cannot add a key. */
static int below_null_params(const struct lpo_node *root, const struct lpo_override *ov,
                             struct lpo_err *err)
{
    const struct lpo_node *params = lpo_node_at(root, "hydra.sweeper.params");

    if (!lpo_str_starts(ov->key, "hydra.sweeper.params.") || !params ||
        params->kind != LPO_NODE_NULL)
        return 0;
    return lpo_fail(err, LPO_E_CONFIG,
                    "override '%s': hydra.sweeper.params is null; give it as a whole: "
                    "hydra.sweeper.params={key: values}",
                    ov->text);
}

static int apply_overrides(struct lpo_composed *c, struct lpo_node *root,
                           const struct lpo_choices *choices, struct lpo_err *err)
{
    for (size_t i = 0; i < choices->nconfig; i++) {
        const struct lpo_override *ov = choices->config[i];
        struct lpo_interp_scope scope = scope_of(c);
        struct lpo_node *hydra;
        int rc = below_null_params(root, ov, err);

        if (rc == 0)
            rc = lpo_merge_override(&scope, root, ov, err);
        if (rc < 0)
            return rc;
        hydra = lpo_node_get(root, "hydra");
        if (lpo_override_is_hydra(ov) && ov->type == LPO_OV_DEL)
            rc = lpo_hydra_check_delete(c->arena, ov->key, err);
        else if (lpo_override_is_hydra(ov) && hydra && hydra->kind == LPO_NODE_MAP)
            rc = lpo_hydra_check(c->arena, hydra, false, err);
        if (rc < 0)
            return lpo_ctx(err, "Error merging override %s", ov->text);
    }
    return 0;
}

/* Keys that no config states get their defaults. Before overrides are applied: `key=value` finds
 * the key then, and `+key=value` is still right, since for the user it was not there. */
static void fill_defaults(struct lpo_composed *c, struct lpo_override *overrides, size_t count,
                          const struct lpo_node *defaults)
{
    for (size_t i = 0; i < count; i++) {
        struct lpo_override *ov = &overrides[i];

        if (ov->type == LPO_OV_ADD && !ov->package && lpo_node_at(defaults, ov->key) &&
            !lpo_node_at(c->root, ov->key))
            ov->type = LPO_OV_FORCE_ADD;
    }
    lpo_merge_missing(c->arena, c->root, defaults);
}

static int finish(struct lpo_composed *c, const struct lpo_compose_in *in, const char *config_name,
                  struct lpo_err *err)
{
    struct lpo_node *key = lpo_node_string(c->arena, "hydra");
    struct lpo_hydra_facts facts = {
        .overrides = c->overrides,
        .noverrides = c->noverrides,
        .choices = c->choices,
        .repo = c->repo,
        .job_name = in->job_name ? in->job_name : "lpo",
        .config_name = config_name,
        .env = in->env,
    };
    char cwd[4096];

    facts.cwd = in->cwd ? in->cwd : getcwd(cwd, sizeof cwd);
    if (!facts.cwd)
        return lpo_fail_errno(err, "cannot find out the working folder");
    c->hydra = lpo_node_get(c->root, "hydra");
    if (!c->hydra || c->hydra->kind != LPO_NODE_MAP)
        return lpo_fail(err, LPO_E_CONFIG,
                        "the key 'hydra' belongs to the run's own settings and "
                        "must be a map");
    lpo_node_remove(c->root, key);
    return lpo_hydra_fill(c->arena, c->hydra, &facts, err);
}

/* glob() over the options of a group */
static int list_options(void *with, struct lpo_arena *a, const char *group, const char ***names,
                        size_t *count, struct lpo_err *err)
{
    (void)a;
    (void)err;
    *count = lpo_defaults_repo_options(with, group, names);
    return 0;
}

static int open_repo(struct lpo_composed *c, const struct lpo_compose_in *in, struct lpo_err *err)
{
    struct lpo_sweep_options *options = LPO_NEW(c->arena, struct lpo_sweep_options);

    c->repo = lpo_defaults_repo_new(c->arena);
    if (in->spellings)
        lpo_defaults_repo_mend(c->repo, c->warnings);
    if (!in->dirs || !in->dirs[0])
        return lpo_fail(err, LPO_E_CONFIG, "no config folder was given");
    if (!lpo_path_is_dir(in->dirs[0]))
        return lpo_fail(err, LPO_E_CONFIG,
                        "Primary config directory not found.\n"
                        "Check that the config directory '%s' exists and readable",
                        in->dirs[0]);
    for (size_t i = 0; in->dirs[i]; i++)
        if (in->own && i >= in->own)
            lpo_defaults_repo_add_behind(c->repo, "command-line", in->dirs[i]);
        else
            lpo_defaults_repo_add(c->repo, i ? "command-line" : "main", in->dirs[i]);
    *options = (struct lpo_sweep_options){ c->repo, list_options };
    c->options = options;
    return 0;
}

int lpo_compose(struct lpo_arena *a, const struct lpo_compose_in *in, struct lpo_composed *out,
                struct lpo_err *err)
{
    const char *config = in->config_name ? in->config_name : "config";
    struct lpo_override *overrides;
    struct lpo_choices choices;
    struct lpo_interp_scope scope;
    size_t noverrides;
    int rc;

    *out = (struct lpo_composed){ .arena = a, .env = in->env };
    out->now = in->now ? in->now : time(NULL);
    out->warnings = lpo_node_list(a);
    out->root = lpo_node_map(a);
    scope = scope_of(out);
    rc = open_repo(out, in, err);
    if (rc == 0)
        rc = read_overrides(out, in, err);
    if (rc == 0)
        rc = set_searchpath(out, config, err);
    if (rc == 0 && in->spellings)
        out->noverrides =
            lpo_spelling_rename(a, in->spellings, out->overrides, out->noverrides, out->warnings);
    if (rc == 0)
        rc = check_sweeps(out, in->multirun, err);
    overrides = out->overrides;
    noverrides = out->noverrides;
    if (rc == 0 && in->unlisted)
        lpo_unlisted_take(out, in->unlisted, config, &overrides, &noverrides);
    if (rc == 0)
        rc = lpo_defaults_choices_init(&choices, a, out->repo, overrides, noverrides, err);
    if (rc == 0)
        rc = lpo_defaults_list(&scope, out->repo, config, &choices, in->multirun, &out->defaults,
                               err);
    if (rc == 0 && in->second)
        rc = add_second(out, &scope, in->second, err);
    for (size_t i = 0; rc == 0 && i < out->defaults.count; i++)
        rc = merge_row(out, in->spellings, &out->defaults.rows[i], err);
    if (rc == 0 && in->unlisted)
        rc = lpo_unlisted_place(out, &scope, in->unlisted, config, err);
    if (rc == 0 && in->spellings) /* what was placed may have old keys too */
        lpo_spelling_move(a, in->spellings, out->root, out->warnings);
    if (rc == 0 && in->defaults)
        fill_defaults(out, overrides, noverrides, in->defaults);
    if (rc == 0)
        rc = apply_overrides(out, out->root, &choices, err);
    if (rc == 0) {
        out->choices = choices.known;
        rc = finish(out, in, config, err);
    }
    return config_fault(rc, err);
}

/* Reading a composed config */

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
    struct lpo_interp_scope scope = scope_of(c);
    struct lpo_spot top = { .node = root };
    const struct lpo_spot *at = find_spot(c->arena, &top, node);
    int rc;

    scope.hydra = c->hydra;
    scope.hydra_root = root;
    top.node = at ? root : node;
    rc = lpo_interp_resolve(&scope, at ? at : &top, err);
    return config_fault(rc, err);
}

int lpo_compose_resolve_value(struct lpo_arena *a, struct lpo_node *config, struct lpo_node *value,
                              struct lpo_node **out, struct lpo_err *err)
{
    struct lpo_interp_scope scope = { .arena = a };
    /* a map between the two, so that ${.x} in the value has something to be relative to */
    struct lpo_node *holder = lpo_node_map(a), *name = lpo_node_string(a, "value");
    struct lpo_spot top = { .node = config };
    const struct lpo_spot *at = lpo_interp_spot_child(a, &top, name, 0, holder);
    int rc;

    lpo_node_set_key(a, holder, name, value);
    rc = lpo_interp_resolve(&scope, at, err);
    *out = rc == 0 ? lpo_node_get(holder, "value") : NULL;
    return config_fault(rc, err);
}

int lpo_compose_resolve(struct lpo_composed *c, struct lpo_err *err)
{
    return lpo_compose_resolve_in(c, c->root, c->root, err);
}

int lpo_compose_pick(struct lpo_composed *c, struct lpo_node *root, const char *path,
                     struct lpo_node **out, struct lpo_err *err)
{
    struct lpo_interp_scope scope = scope_of(c);
    struct lpo_spot at = { .node = root };
    struct lpo_found f;
    int rc;

    scope.hydra = c->hydra;
    scope.hydra_root = root;
    rc = lpo_interp_select(&scope, &at, path, false, &f, err);
    *out = rc == 0 ? f.node : NULL;
    return config_fault(rc, err);
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
