/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/app.h"
#include "cli/run/job.h"
#include "hydra/compose.h"
#include "run/install.h"
#include "run/secrets/secrets.h"
#include "rundir/needs.h"
#include "settings/schema.h"
#include "settings/settings.h"
#include "util/file.h"
#include "util/path.h"

int lpo_cli_job_check(struct lpo_app *app, const struct lpo_args *args,
                      const struct lpo_node *config, bool say, struct lpo_err *err)
{
    struct lpo_node *warnings = lpo_cli_args_has(args, "strict") ? NULL : lpo_node_list(app->arena);
    int rc = lpo_settings_schema_check(app->arena, config, warnings, err);

    for (size_t i = 0; rc == 0 && say && warnings && i < warnings->count; i++)
        fprintf(app->log, "lpo: warning: %s\n", warnings->items[i]->text);
    return rc;
}

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

/* A config's file; its name may end in .yaml already. */
static const char *file_of(struct lpo_app *app, const char *dir, const char *name)
{
    return lpo_arena_printf(app->arena, "%s/%s%s", dir, name,
                            lpo_str_ends(name, ".yaml") ? "" : ".yaml");
}

static bool has_config(struct lpo_app *app, const char *dir, const char *name)
{
    return dir && lpo_path_exists(file_of(app, dir, name));
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

/* "@torch_profiler" is where a stage once stood. */
static bool is_old_stage(struct lpo_app *app, const char *package)
{
    return package &&
           lpo_str_starts(lpo_spelling_path(app->arena, lpo_settings_spellings(), package + 1),
                          "pipeline.");
}

/* A config of the user's own is for lpo when it has a pipeline or what was one, or when it lists a
 * group that only the shipped tree has. Any other follows Hydra's rules and nothing else, alone in
 * its folder. */
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
        if (is_old_stage(app, strchr(e->pairs[0].key->text, '@')))
            return true;
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
    const char **others = lpo_run_install_config_dirs(app->arena);

    if (!given)
        return (struct search){ others, true, 0 };
    if (!has_config(app, given, name))
        return (struct search){ joined(app->arena, first, (const char *const *)others), true, 0 };
    if (is_for_lpo(app, given, file_of(app, given, name), (const char *const *)others))
        return (struct search){ joined(app->arena, first, (const char *const *)others), true, 1 };
    return (struct search){ joined(app->arena, first, NULL), false, 1 };
}

static void print_warnings(struct lpo_app *app, const struct lpo_composed *c)
{
    for (size_t i = 0; !app->advised && c->warnings && i < c->warnings->count; i++)
        fprintf(app->log, "lpo: warning: %s\n", c->warnings->items[i]->text);
    app->advised = true;
}

/* An old name of the primary config. In the user's own tree the file of that name held what one
 * runner needed on top of config.yaml, and which stages ran was fixed: so it is config.yaml, that
 * file over it, and the stages. */
static void take_old_name(struct lpo_app *app, const char *given, struct lpo_compose_in *in)
{
    const struct lpo_old_config *old = lpo_settings_spelling_config(in->config_name);
    bool own = has_config(app, given, in->config_name);

    if (!old || (own && !has_config(app, given, "config")))
        return;
    if (!app->advised)
        fprintf(app->log,
                "lpo: warning: the config '%s' is deprecated; it is 'config' now, with %s\n",
                in->config_name, old->stages);
    if (!own && !has_config(app, given, "config")) {
        in->config_name = old->file;
        return;
    }
    in->second = own ? in->config_name : NULL;
    in->config_name = "config";
    in->overrides = (const char *const *)joined(app->arena, old->overrides, in->overrides);
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

/* What Hydra makes of a tree with its own primary config, groups of the shipped tree behind it;
 * `for_run`: with older spellings, groups that need not be listed and the table's defaults too. */
static int compose(struct lpo_app *app, const struct lpo_args *args, struct lpo_compose_in *in,
                   bool for_run, struct lpo_composed *out, struct lpo_err *err)
{
    const char *given = lpo_cli_args_text(args, "config-dir", NULL);
    struct search search;
    int rc;

    in->config_name = lpo_cli_args_text(args, "config-name", "config");
    if (for_run)
        take_old_name(app, given, in);
    search = search_path(app, given, in->config_name);
    in->dirs = (const char *const *)search.dirs;
    in->own = search.own;
    in->job_name = getenv("LPO_JOB_NAME");
    if (!in->dirs[0])
        return lpo_fail(err, LPO_E_MISSING,
                        "no config folder: the shipped one is not beside lpo; give another with "
                        "--config-dir or LPO_CONFIG_DIR");
    app->config_is_ours = search.ours && for_run;
    if (app->config_is_ours) {
        in->spellings = lpo_settings_spellings();
        in->unlisted = lpo_settings_unlisted();
        in->defaults = lpo_settings_defaults(app->arena);
    }
    rc = lpo_compose(app->arena, in, out, err);
    if (rc == 0)
        print_warnings(app, out);
    return rc < 0 && app->config_is_ours ? explain_key(app->arena, in->overrides, err) : rc;
}

int lpo_cli_job_config(struct lpo_app *app, const struct lpo_args *args,
                       const char *const *overrides, bool multirun, struct lpo_composed *out,
                       struct lpo_err *err)
{
    struct lpo_compose_in in = { .overrides = overrides, .multirun = multirun };

    return compose(app, args, &in, true, out, err);
}

int lpo_cli_job_config_shown(struct lpo_app *app, const struct lpo_args *args,
                             const char *const *overrides, struct lpo_composed *out,
                             struct lpo_err *err)
{
    const char *given = lpo_cli_args_text(args, "config-dir", NULL);
    struct lpo_compose_in in = { .overrides = overrides };
    struct lpo_err other = { 0 };

    if (!has_config(app, given, lpo_cli_args_text(args, "config-name", "config")))
        return lpo_cli_job_config(app, args, overrides, false, out, err);
    if (compose(app, args, &in, false, out, err) == 0)
        return 0;
    /* an override that Hydra refuses may be an older spelling that a run understands */
    if (lpo_cli_job_config(app, args, overrides, false, out, &other) == 0 && app->config_is_ours) {
        *err = (struct lpo_err){ 0 };
        return 0;
    }
    return err->code;
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

/* A list of samples that is not where lpo was called may lie in the dataset's folder, or beside it
 * (datasets/omnidocbench/{source-data,subsets/dev-20.txt}). */
static void find_filelist(struct lpo_arena *a, struct lpo_node *root, const char *call_dir)
{
    static const char *const keys[][2] = { { "run", "dataset_subset_filelist" },
                                           { "dataset", "subset_filelist" } };
    const char *data = lpo_settings_text(root, "dataset.root");

    data = data ? lpo_path_join(a, call_dir, data) : NULL;
    for (size_t i = 0; data && i < 2; i++) {
        struct lpo_node *map = lpo_node_get(root, keys[i][0]);
        const struct lpo_node *n = map ? lpo_node_get(map, keys[i][1]) : NULL;
        const char *in[] = { data, lpo_path_dir(a, data) };

        if (!n || n->kind != LPO_NODE_STRING || !n->len || *n->text == '/' ||
            lpo_path_exists(lpo_path_join(a, call_dir, n->text)))
            continue;
        for (size_t k = 0; k < 2; k++)
            if (lpo_path_exists(lpo_path_join(a, in[k], n->text))) {
                lpo_node_set(a, map, keys[i][1],
                             lpo_node_string(a, lpo_path_join(a, in[k], n->text)));
                break;
            }
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
    bool first = !app->advised;

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
    if (lpo_cli_job_check(app, args, c.root, first, err) < 0 ||
        lpo_rundir_needs_read(app->arena, c.root, &needs, err) < 0 ||
        lpo_compose_hydra(&c, "job.chdir", &chdir, err) < 0)
        return err->code;
    lpo_secrets_collect(app->arena, c.root); /* with what the interpolations gave */
    out->run_dir = lpo_secrets_mask_path(app->arena, out->run_dir);
    out->chdir = chdir && chdir->kind == LPO_NODE_BOOL && chdir->boolean;
    out->config = c.root;
    out->call_dir = here(app->arena);
    find_filelist(app->arena, c.root, out->call_dir);
    if (out->chdir)
        make_absolute(app->arena, c.root, out->call_dir);
    return 0;
}
