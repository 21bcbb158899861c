/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/options.h"
#include "cli/run/job.h"
#include "hydra/compose.h"
#include "run/install.h"
#include "run/secrets/secrets.h"
#include "rundir/needs.h"
#include "settings/schema.h"
#include "settings/settings.h"
#include "settings/spelling.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

static const char *here(struct lpo_arena *a)
{
    char cwd[4096];

    return getcwd(cwd, sizeof cwd) ? lpo_arena_strdup(a, cwd) : ".";
}

static const char **joined(struct lpo_arena *a, const char *const *first, const char *const *second)
{
    size_t n = 0, m = 0;
    const char **all;

    while (first && first[n])
        n++;
    while (second && second[m])
        m++;
    all = lpo_arena_array(a, n + m + 1, sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = first[i];
    for (size_t i = 0; second && i < m; i++)
        all[n + i] = second[i];
    return all;
}

/* `lpo run … -- prog args`: the words are data, so they go in as nodes, not as override text. */
static void set_program(struct lpo_arena *a, struct lpo_node *root, const char *const *program)
{
    struct lpo_node *argv = lpo_node_list(a);
    struct lpo_node *workload = lpo_node_get(root, "workload");

    for (; *program; program++)
        lpo_node_push(a, argv, lpo_node_string(a, *program));
    if (workload && workload->kind == LPO_NODE_MAP)
        lpo_node_set(a, workload, "argv", argv);
}

/* Before interpolations are resolved, since errors may quote values from then on. The program's
 * words come first, as in the whole config: the first name of a value is the one that is asked for
 * when the run is resumed. */
static void collect_early(struct lpo_arena *a, const struct lpo_node *root,
                          const char *const *program)
{
    struct lpo_node *words = lpo_node_map(a);

    lpo_node_set(a, words, "workload", lpo_node_map(a));
    if (program)
        set_program(a, words, program);
    lpo_secrets_collect(a, words);
    lpo_secrets_collect(a, root);
}

/* The search path, and whether the primary config is one for lpo. */
struct search {
    const char **dirs;
    bool ours;
    size_t own; /* folders before the shipped ones, when the primary config is the user's */
};

static bool has_group(struct lpo_app *app, const char *dir, const char *group)
{
    return lpo_path_is_dir(lpo_arena_printf(app->arena, "%s/%s", dir, group));
}

/* "override /profiling/ncu@pipeline.ncu" is the group profiling/ncu. */
static const char *group_of(struct lpo_app *app, const char *key)
{
    const char *last = strrchr(key, ' ');

    key = last ? last + 1 : key;
    key += *key == '/';
    return lpo_arena_strndup(app->arena, key, strcspn(key, "@"));
}

/* A config of the user's own is for lpo when it has a pipeline, or when it lists a group that only
 * the shipped tree has. Any other follows Hydra's rules and nothing else, alone in its folder. */
static bool parsed_is_for_lpo(struct lpo_app *app, const char *dir, const char *file,
                              const char *const *shipped, const struct lpo_file_text *text)
{
    struct lpo_node *root = NULL, *list;

    if (lpo_yaml_parse(app->arena, text->at, text->len, file, &root, NULL) < 0 ||
        root->kind != LPO_NODE_MAP)
        return false;
    if (lpo_node_get(root, "pipeline"))
        return true;
    list = lpo_node_get(root, "defaults");
    for (size_t i = 0; list && list->kind == LPO_NODE_LIST && i < list->count; i++) {
        const struct lpo_node *e = list->items[i];
        const char *group;

        if (e->kind != LPO_NODE_MAP || e->npairs != 1 || e->pairs[0].key->kind != LPO_NODE_STRING)
            continue;
        group = group_of(app, e->pairs[0].key->text);
        for (size_t k = 0; *group && !has_group(app, dir, group) && shipped[k]; k++)
            if (has_group(app, shipped[k], group))
                return true;
    }
    return false;
}

/* A line that begins with "pipeline:" is a key of the whole file, so nothing needs to be parsed:
 * that is left to the composing, once. */
static bool has_pipeline(const struct lpo_file_text *text)
{
    static const char key[] = "\npipeline:";
    const char *at = lpo_str_starts(text->at, key + 1) ? text->at : strstr(text->at, key);

    return at && strchr(" \r\n", at[strlen(key) - (at == text->at)]);
}

static bool is_for_lpo(struct lpo_app *app, const char *dir, const char *file,
                       const char *const *shipped)
{
    LPO_AUTO(lpo_file_text) text = NULL;

    if (lpo_file_text_read_limit(file, LPO_YAML_MAX_BYTES, &text, NULL) < 0)
        return false;
    return has_pipeline(text) || parsed_is_for_lpo(app, dir, file, shipped, text);
}

static struct search search_path(struct lpo_app *app, const char *given, const char *name)
{
    const char *const first[] = { given, NULL };
    const char *file = lpo_arena_printf(app->arena, "%s/%s.yaml", given ? given : "", name);
    const char **others;

    if (!given || !lpo_path_exists(file))
        return (struct search){ lpo_run_install_config_dirs(app->arena, given, name), true, 0 };
    others = lpo_run_install_config_dirs(app->arena, NULL, name);
    if (is_for_lpo(app, given, file, (const char *const *)others))
        return (struct search){ joined(app->arena, first, (const char *const *)others), true, 1 };
    return (struct search){ joined(app->arena, first, NULL), false, 1 };
}

static void print_warnings(struct lpo_app *app, const struct lpo_composed *c)
{
    for (size_t i = 0; !app->advised && c->warnings && i < c->warnings->count; i++)
        fprintf(app->log, "lpo: warning: %s\n", c->warnings->items[i]->text);
    app->advised = true;
}

/* An old name of the primary config; a file of that name in a folder of the user is meant by it. */
static const char *todays_name(struct lpo_app *app, const char *given, const char *name)
{
    const struct lpo_old_config *old = lpo_settings_spelling_config(name);

    if (!old || (given && lpo_path_exists(lpo_arena_printf(app->arena, "%s/%s.yaml", given, name))))
        return name;
    if (!app->advised)
        fprintf(app->log,
                "lpo: warning: the config '%s' is deprecated; it is 'config' now, with %s\n", name,
                old->stages);
    return old->file;
}

/* The key of lpo's own tree that this one was meant to be; NULL: none is near. */
static const char *nearest_key(struct lpo_arena *a, const char *key)
{
    size_t n;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&n);
    const char **names = lpo_arena_array(a, n + 1, sizeof *names);

    for (size_t i = 0; i < n; i++)
        names[i] = rows[i].path;
    return lpo_settings_schema_find(key) ? NULL : lpo_str_nearest(key, names, n);
}

/* Composing failed: where an override has a key that lpo nearly has, that is why, and the right
 * spelling comes before Hydra's own words. */
static int explain_key(struct lpo_arena *a, const char *const *overrides, struct lpo_err *err)
{
    for (; overrides && *overrides; overrides++) {
        struct lpo_override ov;
        const char *near;

        if (lpo_override_parse(a, *overrides, &ov, NULL) < 0 || !ov.key || !strchr(ov.key, '.'))
            continue; /* without a dot it may be a group of files */
        near = nearest_key(a, ov.key);
        if (near && strstr(lpo_err_cause(err), "is not in struct"))
            return lpo_fail(err, LPO_E_CONFIG, "unknown key '%s' (from '%s'); did you mean '%s'?",
                            ov.key, *overrides, near);
    }
    return err->code;
}

int lpo_cli_job_config(struct lpo_app *app, const struct lpo_args *args,
                       const char *const *overrides, bool multirun, struct lpo_composed *out,
                       struct lpo_err *err)
{
    const char *given = lpo_cli_args_text(args, "config-dir", NULL);
    const char *name = todays_name(app, given, lpo_cli_args_text(args, "config-name", "config"));
    struct search search = search_path(app, given, name);
    struct lpo_compose_in in = {
        .dirs = (const char *const *)search.dirs,
        .own = search.own,
        .config_name = name,
        .overrides = overrides,
        .job_name = getenv("LPO_JOB_NAME"),
        .multirun = multirun,
    };
    int rc;

    if (search.ours) {
        in.spellings = lpo_settings_spellings();
        in.unlisted = lpo_settings_unlisted();
        in.defaults = lpo_settings_defaults(app->arena);
    }
    if (!in.dirs[0])
        return lpo_fail(err, LPO_E_MISSING,
                        "no config folder: the shipped one is not beside lpo; give another with "
                        "--config-dir or LPO_CONFIG_DIR");
    app->config_is_ours = search.ours;
    rc = lpo_compose(app->arena, &in, out, err);
    print_warnings(app, out);
    return rc < 0 && search.ours ? explain_key(app->arena, overrides, err) : rc;
}

static int hydra_text(struct lpo_composed *c, const char *path, const char **out,
                      struct lpo_err *err)
{
    struct lpo_node *n = NULL;

    if (lpo_compose_hydra(c, path, &n, err) < 0)
        return lpo_ctx(err, "hydra.%s", path);
    *out = lpo_settings_node_word(c->arena, n); /* a subdir may well be a number */
    return 0;
}

static int run_folder(struct lpo_app *app, struct lpo_composed *c, int num, struct lpo_job *out,
                      struct lpo_err *err)
{
    const char *dir = NULL, *below = NULL;

    if (hydra_text(c, num < 0 ? "run.dir" : "sweep.dir", &dir, err) < 0 ||
        (num >= 0 && hydra_text(c, "sweep.subdir", &below, err) < 0))
        return err->code;
    if (!dir || !*dir)
        return lpo_fail(err, LPO_E_CONFIG, "hydra.%s is empty", num < 0 ? "run.dir" : "sweep.dir");
    out->run_dir = below ? lpo_path_join(app->arena, dir, below) : dir;
    return 0;
}

/* With hydra.job.chdir the workload starts in the run folder; what the config says is still
 * relative to the folder where lpo was called. A program without '/' is looked up in PATH. */
static void make_absolute(struct lpo_arena *a, struct lpo_node *root, const char *call_dir)
{
    static const struct {
        const char *map, *key;
        bool program;
    } paths[] = {
        { "model", "path" },
        { "dataset", "root" },
        { "workload", "cwd" },
        { "run", "dataset_subset_filelist" },
        { "workload", "program", true },
        { "workload", "python", true },
        { "workload", "argv", true },
    };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct lpo_node *map = lpo_node_get(root, paths[i].map);
        struct lpo_node *n = map ? lpo_node_get(map, paths[i].key) : NULL;
        struct lpo_node *list = n && n->kind == LPO_NODE_LIST && n->count ? n : NULL;

        n = list ? list->items[0] : n;
        if (!n || n->kind != LPO_NODE_STRING || !n->len || *n->text == '/' ||
            (paths[i].program && !strchr(n->text, '/')))
            continue;
        n = lpo_node_string(a, lpo_path_join(a, call_dir, n->text));
        if (list)
            list->items[0] = n;
        else
            lpo_node_set(a, map, paths[i].key, n);
    }
}

int lpo_cli_job_compose(struct lpo_app *app, const struct lpo_args *args,
                        const char *const *overrides, const char *const *program, int num,
                        struct lpo_job *out, struct lpo_err *err)
{
    static const char *const as_command[] = { "workload=command", NULL };
    struct lpo_composed c;
    struct lpo_node *chdir = NULL;
    struct lpo_stated_needs needs;
    const char *full;

    *out = (struct lpo_job){ 0 };
    /* first, so that a user's own workload=… still has the last word */
    out->overrides =
        program ? joined(app->arena, as_command, overrides) : joined(app->arena, overrides, NULL);
    if (lpo_cli_job_config(app, args, out->overrides, false, &c, err) < 0)
        return err->code;
    collect_early(app->arena, c.root, program);
    if (lpo_hydra_job_dir(&c, num, &full, err) < 0 || run_folder(app, &c, num, out, err) < 0)
        return err->code;
    lpo_hydra_set_output_dir(&c, lpo_secrets_mask_path(app->arena, full));
    if (lpo_compose_resolve(&c, err) < 0)
        return err->code;
    if (program) /* after ${…} is resolved: the words reach the program as they were typed */
        set_program(app->arena, c.root, program);
    if (lpo_settings_schema_check(app->arena, c.root, err) < 0 ||
        lpo_rundir_needs_read(app->arena, c.root, &needs, err) < 0 ||
        lpo_compose_hydra(&c, "job.chdir", &chdir, err) < 0)
        return err->code;
    lpo_secrets_collect(app->arena, c.root); /* with what the interpolations gave */
    out->run_dir = lpo_secrets_mask_path(app->arena, out->run_dir);
    out->chdir = chdir && chdir->kind == LPO_NODE_BOOL && chdir->boolean;
    out->config = c.root;
    out->call_dir = here(app->arena);
    if (out->chdir)
        make_absolute(app->arena, c.root, out->call_dir);
    return 0;
}
