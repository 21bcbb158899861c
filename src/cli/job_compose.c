/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/job.h"
#include "cli/options.h"
#include "hydra/compose.h"
#include "run/install.h"
#include "run/secrets/secrets.h"
#include "rundir/needs.h"
#include "settings/settings.h"
#include "settings/spelling.h"
#include "util/arena.h"
#include "util/err.h"
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

bool lpo_cli_job_config_is_ours(struct lpo_app *app, const struct lpo_args *args)
{
    const char *given = lpo_cli_args_text(args, "config-dir", NULL);
    const char **dirs = lpo_run_install_config_dirs(
        app->arena, given, lpo_cli_args_text(args, "config-name", "config"));

    return !given || !dirs[0] || dirs[1];
}

static void print_warnings(struct lpo_app *app, const struct lpo_composed *c)
{
    for (size_t i = 0; !app->advised && c->warnings && i < c->warnings->count; i++)
        fprintf(app->log, "lpo: warning: %s\n", c->warnings->items[i]->text);
    app->advised = true;
}

/* An old name of the primary config; a file of that name is still meant by it. */
static const char *todays_name(struct lpo_app *app, const char *given, const char *name)
{
    const char *now = lpo_settings_spelling_config(name);
    const char **dirs = lpo_run_install_config_dirs(app->arena, given, name);

    for (size_t i = 0; now && dirs[i]; i++)
        if (lpo_path_exists(lpo_arena_printf(app->arena, "%s/%s.yaml", dirs[i], name)))
            return name;
    if (!now)
        return name;
    if (!app->advised)
        fprintf(app->log, "lpo: warning: the config '%s' is deprecated; '%s' is used instead\n",
                name, now);
    return now;
}

int lpo_cli_job_config(struct lpo_app *app, const struct lpo_args *args,
                       const char *const *overrides, bool multirun, struct lpo_composed *out,
                       struct lpo_err *err)
{
    const char *given = lpo_cli_args_text(args, "config-dir", NULL);
    const char *name = todays_name(app, given, lpo_cli_args_text(args, "config-name", "config"));
    struct lpo_compose_in in = {
        .dirs = (const char *const *)lpo_run_install_config_dirs(app->arena, given, name),
        .config_name = name,
        .overrides = overrides,
        .job_name = getenv("LPO_JOB_NAME"),
        .spellings = lpo_cli_job_config_is_ours(app, args) ? lpo_settings_spellings() : NULL,
        .multirun = multirun,
    };
    int rc;

    if (in.spellings)
        in.defaults = lpo_settings_defaults(app->arena);
    if (!in.dirs[0])
        return lpo_fail(err, LPO_E_MISSING,
                        "no config folder: the shipped one is not beside lpo; give another with "
                        "--config-dir or LPO_CONFIG_DIR");
    rc = lpo_compose(app->arena, &in, out, err);
    print_warnings(app, out);
    return rc;
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

int lpo_cli_job_compose(struct lpo_app *app, const struct lpo_args *args,
                        const char *const *overrides, const char *const *program, int num,
                        struct lpo_job *out, struct lpo_err *err)
{
    static const char *const as_command[] = { "workload=command", NULL };
    struct lpo_composed c;
    struct lpo_node *chdir = NULL;
    struct lpo_stated_needs needs;
    const char *full;

    /* first, so that a user's own workload=… still has the last word */
    out->overrides =
        program ? joined(app->arena, as_command, overrides) : joined(app->arena, overrides, NULL);
    if (lpo_cli_job_config(app, args, out->overrides, false, &c, err) < 0)
        return err->code;
    if (program)
        set_program(app->arena, c.root, program);
    if (lpo_hydra_job_dir(&c, num, &full, err) < 0 || run_folder(app, &c, num, out, err) < 0 ||
        lpo_compose_resolve(&c, err) < 0 ||
        lpo_settings_schema_check(app->arena, c.root, err) < 0 ||
        lpo_rundir_needs_read(app->arena, c.root, &needs, err) < 0 ||
        lpo_compose_hydra(&c, "job.chdir", &chdir, err) < 0)
        return err->code;
    lpo_secrets_collect(app->arena, c.root);
    out->run_dir = lpo_secrets_mask_path(app->arena, out->run_dir);
    out->chdir = chdir && chdir->kind == LPO_NODE_BOOL && chdir->boolean;
    out->config = c.root;
    out->call_dir = here(app->arena);
    return 0;
}
