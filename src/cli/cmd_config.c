/* SPDX-License-Identifier: Apache-2.0 */
/* lpo config: the config that a run would get, as text. */

#include "cli/app.h"
#include "cli/command.h"
#include "cli/run/job.h"
#include "hydra/compose.h"
#include "settings/schema.h"
#include "util/json_write.h"

/* One override, without any config. */
static int explain(struct lpo_app *app, const char *text, struct lpo_err *err)
{
    struct lpo_override ov;
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);
    int rc = lpo_override_parse(app->arena, text, &ov, err);

    lpo_override_explain(&ov, rc < 0 ? lpo_err_cause(err) : NULL, &w);
    fwrite(out.at, 1, out.len, app->out);
    return rc < 0 ? 2 : 0; /* the JSON says what is wrong */
}

static int print_schema(struct lpo_app *app)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_settings_schema_write_json(&w);
    fwrite(out.at, 1, out.len, app->out);
    return 0;
}

/* --info */

static void print_line(struct lpo_app *app, int width)
{
    while (width-- > 0)
        fputc('-', app->out);
    fputc('\n', app->out);
}

static void print_rows(struct lpo_app *app, const struct lpo_composed *c)
{
    size_t wide[3] = { strlen("Config path"), strlen("Package"), strlen("Parent") };
    int width;

    for (size_t i = 0; i < c->defaults.count; i++) {
        const struct lpo_default_row *r = &c->defaults.rows[i];
        const char *cells[3] = { r->config, r->package, r->parent };

        for (int k = 0; k < 3; k++)
            if (strlen(cells[k]) > wide[k])
                wide[k] = strlen(cells[k]);
    }
    fputs("\nDefaults List\n*************\n", app->out);
    width = fprintf(app->out, "| %-*s | %-*s | _self_ | %-*s | \n", (int)wide[0], "Config path",
                    (int)wide[1], "Package", (int)wide[2], "Parent");
    print_line(app, width - 1);
    for (size_t i = 0; i < c->defaults.count; i++) {
        const struct lpo_default_row *r = &c->defaults.rows[i];

        fprintf(app->out, "| %-*s | %-*s | %-6s | %-*s |\n", (int)wide[0], r->config, (int)wide[1],
                r->package, r->is_self ? "True" : "False", (int)wide[2], r->parent);
    }
    print_line(app, width - 1);
}

static void print_rows_json(struct lpo_app *app, const struct lpo_composed *c)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_array(&w, "defaults");
    for (size_t i = 0; i < c->defaults.count; i++) {
        const struct lpo_default_row *r = &c->defaults.rows[i];

        lpo_jw_record(&w, NULL, LPO_KV("config", r->config), LPO_KV("package", r->package),
                      LPO_KV("is_self", r->is_self), LPO_KV("parent", r->parent));
    }
    lpo_jw_end(&w);
    lpo_node_write_json(&w, "choices", c->choices);
    lpo_jw_end(&w);
    fwrite(out.at, 1, out.len, app->out);
}

static int print_info(struct lpo_app *app, const struct lpo_args *args, struct lpo_composed *c,
                      struct lpo_err *err)
{
    const char *what = lpo_cli_args_text(args, "info", "");
    LPO_STR tree = { 0 };

    if (strcmp(what, "defaults") == 0 && lpo_cli_args_has(args, "json")) {
        print_rows_json(app, c);
    } else if (strcmp(what, "defaults") == 0) {
        print_rows(app, c);
    } else if (strcmp(what, "defaults-tree") == 0) {
        lpo_defaults_add_tree(app->arena, c->defaults.tree, &tree);
        fprintf(app->out, "\nDefaults Tree\n*************\n%s", lpo_str_text(&tree));
    } else if (strcmp(what, "searchpath") == 0) {
        struct lpo_node *sources = lpo_node_at(c->hydra, "runtime.config_sources");

        for (size_t i = 0; sources && i < sources->count; i++)
            fprintf(app->out, "%-34s %s://%s\n", lpo_node_text_at(sources->items[i], "provider"),
                    lpo_node_text_at(sources->items[i], "schema"),
                    lpo_node_text_at(sources->items[i], "path"));
    } else {
        return lpo_fail(err, LPO_E_USAGE,
                        "--info must be defaults, defaults-tree or searchpath, not '%s'", what);
    }
    return 0;
}

/* The config itself */

static void print_node(struct lpo_app *app, const struct lpo_node *n, bool json)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    if (json)
        lpo_node_write_json(&w, NULL, n);
    else if (lpo_node_is_container(n))
        lpo_yaml_add(&out, n);
    else
        lpo_yaml_py_add_str(&out, n);
    fwrite(lpo_str_text(&out), 1, out.len, app->out);
    if (out.len == 0 || out.at[out.len - 1] != '\n')
        fputc('\n', app->out);
}

static int print_config(struct lpo_app *app, const struct lpo_args *args, struct lpo_composed *c,
                        struct lpo_err *err)
{
    const char *package = lpo_cli_args_text(args, "package", NULL);
    bool json = lpo_cli_args_has(args, "json"), resolve = lpo_cli_args_has(args, "resolve");
    struct lpo_node *root, *n;
    int rc = lpo_compose_view(c, lpo_cli_args_text(args, "cfg", "job"), &root, err);

    if (rc < 0)
        return rc;
    n = root;
    if (package && strcmp(package, "_global_") != 0) {
        rc = lpo_compose_pick(c, root, package, &n, err);
        if (rc < 0)
            return rc;
        if (!n || n->kind == LPO_NODE_NULL)
            return lpo_fail(err, LPO_E_CONFIG, "package '%s' not found in config", package);
        if (lpo_node_is_container(n) && !json)
            fprintf(app->out, "# @package %s\n", package);
    }
    if (resolve && lpo_node_is_container(n))
        rc = lpo_compose_resolve_in(c, root, n, err);
    if (rc == 0)
        print_node(app, n, json);
    return rc;
}

/* Words after `--` are overrides too: there is no program to pass them to. */
static const char *const *all_words(struct lpo_app *app, const struct lpo_args *args)
{
    const char **all = lpo_arena_array(app->arena, args->nwords + args->nrest + 1, sizeof(*all));

    for (size_t i = 0; i < args->nwords; i++)
        all[i] = args->words[i];
    for (size_t i = 0; i < args->nrest; i++)
        all[args->nwords + i] = args->rest[i];
    return (const char *const *)all;
}

static int config_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    const char *text = lpo_cli_args_text(args, "explain", NULL);
    struct lpo_composed c;
    int rc;

    if (text)
        return explain(app, text, err);
    if (lpo_cli_args_has(args, "schema"))
        return print_schema(app);
    rc = lpo_cli_job_config_shown(app, args, all_words(app, args), &c, err);
    if (rc < 0)
        return rc;
    if (lpo_cli_args_has(args, "info"))
        return print_info(app, args, &c, err);
    rc = print_config(app, args, &c, err);
    if (rc == 0 && !app->config_is_ours && lpo_cli_args_has(args, "strict"))
        rc = lpo_cli_job_config(app, args, all_words(app, args), false, &c, err);
    if (rc < 0 || !app->config_is_ours)
        return rc;
    /* print first: people look at the config to find out why a run refuses it */
    fflush(app->out);
    rc = lpo_compose_resolve(&c, err);
    return rc < 0 ? rc : lpo_cli_job_check(app, args, c.root, true, err);
}

static const struct lpo_option options[] = {
    LPO_CONFIG_OPTIONS,
    { "resolve", 0, LPO_OPT_FLAG, NULL, "replace every ${…} by its value" },
    { "json", 0, LPO_OPT_FLAG, NULL, "JSON instead of YAML" },
    { "package", 'p', LPO_OPT_TEXT, "KEY", "only this part of the config" },
    { "cfg", 'c', LPO_OPT_TEXT, "PART", "job (default), hydra (the run's own settings) or all" },
    { "info", 'i', LPO_OPT_TEXT, "WHAT", "defaults, defaults-tree or searchpath" },
    { "schema", 0, LPO_OPT_FLAG, NULL, "every key, its type, default and meaning, as JSON Schema" },
    { "explain", 0, LPO_OPT_TEXT, "OVERRIDE", "how lpo parses one override, as JSON" },
    { NULL },
};

const struct lpo_command lpo_cli_cmd_config = {
    .name = "config",
    .summary = "print the composed config, its origin or its schema",
    .usage = "[override…]",
    .about = "  lpo config run.repeats=5 profiling/ncu@pipeline.ncu=ncu.h200\n"
             "  lpo config --package pipeline.ncu\n"
             "  lpo config --info defaults",
    .options = options,
    .run = config_run,
};
