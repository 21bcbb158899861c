/* SPDX-License-Identifier: Apache-2.0 */
/* Every `compose` case of the Hydra data in tests/data/hydra, and of our own core set in the same
 * format: the same data, types and key order, the same defaults list and choices, or an error that
 * names the same keys. */
#include "hydra/compose.h"
#include "hydra_case.h"

static bool is_own(const char *key)
{
    return lpo_str_starts(key, "hydra/");
}

static void check_rows(struct hydra_place *p, const struct lpo_composed *c,
                       const struct lpo_json *want)
{
    size_t i = 0;

    LPO_JSON_EACH(row, want)
    {
        const struct lpo_default_row *have;
        const struct lpo_json *package = row->first->next, *self = package->next;

        while (i < c->defaults.count && is_own(c->defaults.rows[i].config))
            i++;
        assert_true(i < c->defaults.count);
        have = &c->defaults.rows[i++];
        assert_string_equal(have->config, row->first->text);
        assert_string_equal(have->package, package->text);
        assert_int_equal(have->is_self, self->boolean);
        assert_string_equal(have->parent, self->next->text);
    }
    assert_int_equal(i, c->defaults.count);
}

static void check_choices(struct hydra_place *p, const struct lpo_composed *c,
                          const struct lpo_json *want)
{
    struct lpo_node *own = lpo_node_map(p->arena);

    for (size_t i = 0; i < c->choices->npairs; i++)
        if (!is_own(c->choices->pairs[i].key->text))
            lpo_node_set_key(p->arena, own, c->choices->pairs[i].key, c->choices->pairs[i].value);
    assert_true(hydra_same(p, own, want));
}

static void check_yaml(struct hydra_place *p, const struct lpo_node *root,
                       const struct lpo_json *want)
{
    struct lpo_err err = { 0 };
    struct lpo_node *back;
    LPO_STR text = { 0 };

    lpo_yaml_add(&text, root);
    assert_string_equal(text.at, hydra_fill(p, want->text));
    assert_int_equal(lpo_yaml_parse(p->arena, text.at, text.len, "printed", &back, &err), 0);
    if (!lpo_node_equal(back, root) && root->npairs)
        fail_msg("does not read back: %s", text.at);
}

static void check_resolved(struct hydra_place *p, struct lpo_composed *c,
                           const struct lpo_json *want)
{
    bool ok = strcmp(lpo_json_text(lpo_json_get(want, "resolve"), ""), "ok") == 0;
    struct lpo_err err = { 0 };
    int rc = lpo_compose_resolve(c, &err);
    LPO_STR shown = { 0 };

    if (!ok) {
        assert_int_equal(rc, LPO_E_CONFIG);
        hydra_check_error(p, &err, lpo_json_get(want, "resolve_error"));
        return;
    }
    if (rc < 0)
        fail_msg("cannot be resolved: %s", lpo_err_cause(&err));
    lpo_yaml_add(&shown, c->root);
    if (!hydra_same(p, c->root, lpo_json_get(want, "resolved")))
        fail_msg("resolved to\n%s", shown.at);
    check_yaml(p, c->root, lpo_json_get(want, "resolved_yaml"));
}

static void check_warnings(struct hydra_place *p, const struct lpo_composed *c,
                           const struct lpo_json *want)
{
    size_t i = 0;

    LPO_JSON_EACH(w, want)
    {
        assert_true(i < c->warnings->count);
        assert_string_equal(c->warnings->items[i++]->text, hydra_fill(p, w->text));
    }
}

static void check_case(void **state)
{
    const struct hydra_case *hc = *state;
    const struct lpo_json *want = lpo_json_get(hc->c, "expect");
    __attribute__((cleanup(hydra_leave))) struct hydra_place p;
    const char *const dirs[] = { "conf", NULL };
    struct lpo_compose_in in = { .dirs = dirs, .job_name = "app" };
    struct lpo_err err = { 0 };
    struct lpo_composed c;
    int rc;

    hydra_enter(&p, hc);
    in.config_name = lpo_json_text(lpo_json_get(hc->c, "config_name"), NULL);
    in.overrides = hydra_words(&p, lpo_json_get(hc->c, "overrides"));
    in.cwd = p.dir;
    in.env = p.env;
    in.now = p.now;
    rc = lpo_compose(p.arena, &in, &c, &err);
    if (strcmp(lpo_json_text(lpo_json_get(want, "compose"), ""), "ok") != 0) {
        assert_true(rc < 0);
        hydra_check_error(&p, &err, lpo_json_get(want, "error"));
        return;
    }
    if (rc < 0)
        fail_msg("cannot be composed: %s", lpo_err_cause(&err));
    check_rows(&p, &c, lpo_json_get(want, "defaults"));
    check_choices(&p, &c, lpo_json_get(want, "choices"));
    check_warnings(&p, &c, lpo_json_get(want, "warnings"));
    check_yaml(&p, c.root, lpo_json_get(want, "yaml"));
    check_resolved(&p, &c, want);
}

int main(int argc, char **argv)
{
    static const char *const files[] = { "cli",       "defaults", "interpolation", "overrides",
                                         "realistic", "run",      "yaml" };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *root = unit_env("LPO_SOURCE_ROOT", ".");
    struct unit u = { 0 };

#ifdef CORE_CASES
    (void)files, (void)argc, (void)argv;
    hydra_add_cases(a, &u, lpo_path_join(a, root, "tests/data/hydra/core.json"), "compose",
                    check_case);
#else
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = lpo_arena_printf(a, "%s/tests/data/hydra/cases-%s.json", root, files[i]);

        if ((argc < 2 || strcmp(argv[1], files[i]) == 0) &&
            !hydra_add_cases(a, &u, path, "compose", check_case))
            return hydra_no_cases(path);
    }
#endif
    return unit_run(&u);
}
