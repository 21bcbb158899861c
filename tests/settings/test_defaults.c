/* SPDX-License-Identifier: Apache-2.0 */
/* conf/ repeats the defaults of the table, for people to read. The two must agree: every key of a
 * composed config that has a default has that one, whatever workload was chosen. A preset holds the
 * settings of its tool alone; keys that no file states are listed in conf/profiling/README.md. */
#include <dirent.h>

#include "hydra/compose.h"
#include "settings/settings.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

static const struct chosen_case {
    const char *name;
    const char *overrides[3];
} cases[] = {
    { "the toy model", { NULL } },
    { "a Hugging Face model", { "workload=hf", "model.path=null" } },
    { "a command", { "workload=command" } },
    { "a server", { "workload=server" } },
};

enum { CASES = sizeof cases / sizeof *cases };

/* Keys that conf/ leaves out, since only few users need them: their meaning is in the table. */
static const char *const unstated[] = { "infer.dtype" };

static const char *conf_dir(struct lpo_arena *a)
{
    return lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "conf");
}

static struct lpo_node *compose(struct lpo_arena *a, const char *const *overrides)
{
    const char *dirs[] = { conf_dir(a), NULL };
    struct lpo_compose_in in = { .dirs = dirs, .overrides = overrides };
    struct lpo_composed c;
    struct lpo_err err = { 0 };

    if (lpo_compose(a, &in, &c, &err) < 0 || lpo_compose_resolve(&c, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return c.root;
}

/* The value as the table would write it. */
static const char *written(struct lpo_arena *a, const struct lpo_node *n)
{
    LPO_STR out = { 0 };

    if (n->kind == LPO_NODE_NULL)
        return "null";
    if (n->kind == LPO_NODE_FLOAT)
        return lpo_arena_printf(a, "%g", n->real);
    if (n->kind != LPO_NODE_LIST)
        return lpo_settings_node_word(a, n);
    lpo_str_add(&out, "");
    for (size_t i = 0; i < n->count; i++)
        lpo_str_addf(&out, "%s%s", i ? "," : "", n->items[i]->text);
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

static void conf_agrees(void **state)
{
    const struct chosen_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_node *config = compose(a, c->overrides);
    size_t count, compared = 0;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);

    for (size_t i = 0; i < count; i++) {
        const struct lpo_node *n = lpo_node_at(config, rows[i].path);

        if (!rows[i].fallback || !n)
            continue;
        compared++;
        if (strcmp(written(a, n), rows[i].fallback) != 0)
            fail_msg("'%s' is %s in conf/, but its default is %s", rows[i].path, written(a, n),
                     rows[i].fallback);
    }
    assert_true(compared > 70);
}

static bool is_left_out(const char *path)
{
    for (size_t i = 0; i < sizeof unstated / sizeof *unstated; i++)
        if (strcmp(unstated[i], path) == 0)
            return true;
    return false;
}

/* The row of a key in the tables of conf/profiling/README.md. */
static bool is_in_the_readme(struct lpo_arena *a, const char *readme, const char *path)
{
    const char *key = strchr(path, '.'), *last = key ? strchr(key + 1, '.') : NULL;

    return last && strstr(readme, lpo_arena_printf(a, "\n| `%s` |", last + 1));
}

/* Each key of the table is somewhere in conf/, where a user looks for it. */
static void every_key_is_in_conf(void **state)
{
    /* dsocr states its own values for some keys, so it is not one of the cases above */
    static const char *const dsocr[] = { "workload=dsocr", NULL };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_node *configs[CASES + 1];
    LPO_AUTO(lpo_file_text) readme = NULL;
    size_t count;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);

    for (size_t k = 0; k < CASES; k++)
        configs[k] = compose(a, cases[k].overrides);
    configs[CASES] = compose(a, dsocr);
    assert_int_equal(
        lpo_file_text_read(lpo_path_join(a, conf_dir(a), "profiling/README.md"), &readme, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        bool map = rows[i].type == LPO_S_MAP || rows[i].type == LPO_S_OPEN;
        bool found = is_left_out(rows[i].path) || is_in_the_readme(a, readme->at, rows[i].path);

        found |= map && strncmp(rows[i].path, "pipeline.", 9) == 0;
        for (size_t k = 0; k <= CASES; k++)
            found |= lpo_node_at(configs[k], rows[i].path) != NULL;
        if (!found)
            fail_msg("'%s' has a row, but is not in conf/", rows[i].path);
    }
}

static const struct preset_case {
    const char *folder, *stage;
} presets[] = {
    { "native", "pipeline.native" },     { "torch", "pipeline.torch_profiler" },
    { "nsys", "pipeline.nsys" },         { "ncu", "pipeline.ncu" },
    { "counters", "pipeline.counters" }, { "nvml", "pipeline.nvml" },
};

/* Whether and where a stage runs is not the business of a preset. */
static void check_preset(struct lpo_arena *a, const char *path, const char *stage)
{
    static const char *const others[] = {
        "enable",      "gating_nvtx", "timeout",        "program",
        "top_kernels", "regions",     "seed_from_nsys", "sampling"
    };
    struct lpo_node *preset = NULL;
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_file_text) text = NULL;

    if (lpo_file_text_read(path, &text, &err) < 0 ||
        lpo_yaml_parse(a, text->at, text->len, path, &preset, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    assert_non_null(lpo_node_get(preset, "description"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (lpo_node_get(preset, others[i]))
            fail_msg("%s states '%s.%s'", path, stage, others[i]);
}

static void presets_hold_their_tool_alone(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        const char *dir = lpo_arena_printf(a, "%s/profiling/%s", conf_dir(a), presets[i].folder);
        const struct dirent *e;
        DIR *d = opendir(dir);

        assert_non_null(d);
        while ((e = readdir(d)))
            if (e->d_name[0] != '.')
                check_preset(a, lpo_path_join(a, dir, e->d_name), presets[i].stage);
        closedir(d);
    }
}

/* A default that its own row refuses would be a trap. */
static void defaults_fit_their_rows(void **state)
{
    size_t count;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);

    for (size_t i = 0; i < count; i++) {
        const struct lpo_schema_row *r = &rows[i];

        if (!r->fallback)
            continue;
        if (strcmp(r->fallback, "null") == 0 && !r->nullable)
            fail_msg("'%s' is null by default, but may not be null", r->path);
        if (r->type == LPO_S_BOOL && strcmp(r->fallback, "true") != 0 &&
            strcmp(r->fallback, "false") != 0)
            fail_msg("'%s' is a boolean, its default is '%s'", r->path, r->fallback);
        if ((r->type == LPO_S_INT || r->type == LPO_S_REAL) && strcmp(r->fallback, "null") != 0) {
            char *end;
            double value = strtod(r->fallback, &end);

            if (*end || (r->min != INT64_MIN && value < (double)r->min))
                fail_msg("'%s' cannot be '%s'", r->path, r->fallback);
        }
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, conf_agrees);
    UNIT_TEST(&u, every_key_is_in_conf);
    UNIT_TEST(&u, presets_hold_their_tool_alone);
    UNIT_TEST(&u, defaults_fit_their_rows);
    return unit_run(&u);
}
