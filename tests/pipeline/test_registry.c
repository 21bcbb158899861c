/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the stage table is whole: what the rest of the program, the config, the settings and
 * the pages for users must know about a stage is there. */
#include "../unit.h"

#include "hydra/compose.h"
#include "pipeline/capture_words.h"
#include "pipeline/stage.h"
#include "region/select.h"
#include "rundir/rundir.h"
#include "settings/schema.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

static struct lpo_file_text *page(const char *name)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_file_text *text = NULL;

    if (lpo_file_text_read(lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), name), &text, NULL) <
        0)
        fail_msg("%s cannot be read", name);
    return text;
}

static void row_is_whole(void **state)
{
    const struct lpo_stage *s = *state;

    assert_true(s->name && *s->name);
    assert_true(s->summary && *s->summary);
    assert_true(s->plan || s->begin || s->collect);
    if (s->begin && !s->collect)
        fail_msg("%s begins and never ends", s->name);
    if (!s->checks && !s->no_checks)
        fail_msg("%s has no check for lpo doctor and does not say why", s->name);
    for (const struct lpo_stage_check *c = s->checks; c && c->name; c++)
        assert_true(c->cost && c->remedy && c->look);
    if (s->results)
        assert_string_equal(s->results->stage, s->name);
}

static void settings_are_its_own(void **state)
{
    const struct lpo_stage *s = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *own = lpo_arena_printf(a, "pipeline.%s.", s->name);

    assert_non_null(lpo_settings_schema_find(lpo_arena_printf(a, "%senable", own)));
    if (s->plan) /* then it starts a process, which may hang */
        assert_non_null(lpo_settings_schema_find(lpo_arena_printf(a, "%stimeout", own)));
    if (s->program && !lpo_str_starts(s->program, own))
        fail_msg("%s takes its tool from %s", s->name, s->program);
    for (size_t i = 0; i < s->nsettings; i++) {
        const struct lpo_schema_row *row = lpo_settings_schema_find(s->settings[i].key);

        if (!row || row->type != s->settings[i].type)
            fail_msg("%s: no such setting, or of another type", s->settings[i].key);
        if (!lpo_str_starts(row->path, own))
            fail_msg("%s reads %s, which is not its own", s->name, row->path);
        assert_true(s->settings[i].offset < s->settings_size);
    }
}

static void is_its_own(const struct lpo_stage *s, const char *key, enum lpo_schema_type type)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_schema_row *row = key ? lpo_settings_schema_find(key) : NULL;

    if (key && (!row || row->type != type))
        fail_msg("%s: no such setting, or of another type", key);
    if (key && !lpo_str_starts(key, lpo_arena_printf(a, "pipeline.%s.", s->name)))
        fail_msg("the row of %s has %s, which is not its own", s->name, key);
}

/* Reports and checks read settings by the keys that a row gives them. */
static void keys_for_others_are_its_own(void **state)
{
    const struct lpo_stage *s = *state;

    for (const char *const *key = s->from_start; key && *key; key++)
        is_its_own(s, *key, LPO_S_DURATION);
    if (!s->results)
        return;
    is_its_own(s, s->results->metrics, LPO_S_WORDS);
    is_its_own(s, s->results->hardware, LPO_S_TEXT);
    is_its_own(s, s->results->by_region, LPO_S_BOOL);
    is_its_own(s, s->results->aggregate, LPO_S_BOOL);
    for (int i = 0; s->results->selection && i < LPO_SELECT_LISTS; i++)
        is_its_own(s, s->results->selection[i], LPO_S_PATTERNS);
    if (s->results->program) /* the tool that measures is the one that converts */
        assert_string_equal(s->results->program, s->program);
}

/* cli/ asks for them and expects that they are there. */
static void roles_are_taken(void **state)
{
    (void)state;
    assert_non_null(lpo_pipeline_stage_with(LPO_ROLE_UNDISTURBED));
    assert_non_null(lpo_pipeline_stage_with(LPO_ROLE_MODEL));
    assert_non_null(lpo_pipeline_stage_with(LPO_ROLE_MODEL)->results->hardware);
    assert_null(lpo_pipeline_stage_with(0));
}

static const struct window_case {
    const char *name, *config, *want; /* NULL: nothing is refused */
} windows[] = {
    { "a server's window is enough",
      "workload: {kind: server}\npipeline: {native: {enable: true}}\n", NULL },
    { "native counts from the start",
      "workload: {kind: server}\npipeline: {native: {enable: true, capture: {after: 5s}}}\n",
      "pipeline.native.capture.after counts from the start of each process" },
    { "native has a ring",
      "workload: {kind: server}\npipeline: {native: {enable: true, capture: {ring: 5s}}}\n",
      "pipeline.native.capture.ring counts" },
    { "nsys counts from the start",
      "workload: {kind: server}\npipeline: {nsys: {enable: true, capture: {for: 5s}}}\n"
      "run: {mode: deep}\n",
      "pipeline.nsys.capture.for counts" },
    { "a stage that does not run",
      "workload: {kind: server}\npipeline: {nsys: {enable: false, capture: {for: 5s}}}\n",
      "pipeline.nsys.capture.for counts" },
    { "all of the server's life is recorded",
      "workload: {kind: server, server: {window: {over: all}}}\n"
      "pipeline: {native: {enable: true, capture: {after: 5s}}}\n",
      NULL },
    { "no server",
      "workload: {kind: command}\npipeline: {native: {enable: true, capture: {after: 5s}}}\n",
      NULL },
};

static void one_window(void **state)
{
    const struct window_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *config = NULL;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_yaml_parse(a, c->config, strlen(c->config), "config", &config, &err), 0);
    assert_int_equal(lpo_pipeline_capture_check_server(config, &err), c->want ? LPO_E_CONFIG : 0);
    if (c->want && !strstr(err.text, c->want))
        fail_msg("%s", err.text);
}

/* In the config that is shipped: below pipeline, or as a preset that is mounted there. */
static void config_has_it(void **state)
{
    const struct lpo_stage *s = *state;
    LPO_AUTO(lpo_file_text) text = page("conf/config.yaml");
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    if (!strstr(text->at, lpo_arena_printf(a, "@pipeline.%s:", s->name)) &&
        !strstr(text->at, lpo_arena_printf(a, "\n  %s:\n    enable:", s->name)))
        fail_msg("conf/config.yaml does not have %s", s->name);
}

static void pages_describe_it(void **state)
{
    const struct lpo_stage *s = *state;
    LPO_AUTO(lpo_file_text) users = page("docs/run.md");
    LPO_AUTO(lpo_file_text) developers = page("src/pipeline/README.md");
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    if (!strstr(users->at, lpo_arena_printf(a, "\n| `%s` |", s->name)))
        fail_msg("docs/run.md has no line for %s", s->name);
    if (!strstr(developers->at, lpo_arena_printf(a, "`%s`", s->name)))
        fail_msg("src/pipeline/README.md has no line for %s", s->name);
}

/* Names are keys and folders; two stages cannot be trusted equally, nor have one role. */
static void names_and_trust_are_unique(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_rundir_kind *const *kinds = lpo_pipeline_trace_kinds(a);

    (void)state;
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++)
        assert_ptr_equal(lpo_pipeline_stage_find((*s)->name), *s);
    for (size_t i = 0; kinds[i]; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_false(kinds[i]->patterns && kinds[k]->patterns &&
                         kinds[i]->trust == kinds[k]->trust);
            assert_false(kinds[i]->roles & kinds[k]->roles);
        }
    }
    assert_null(lpo_pipeline_stage_find("no such stage"));
}

int main(void)
{
    struct unit u = { 0 };
    static const struct {
        const char *name;
        void (*check)(void **state);
    } checks[] = {
        { "row", row_is_whole },
        { "settings", settings_are_its_own },
        { "keys for others", keys_for_others_are_its_own },
        { "config", config_has_it },
        { "pages", pages_describe_it },
    };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++)
        for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
            unit_add(&u, lpo_arena_printf(a, "%s: %s", (*s)->name, checks[i].name), checks[i].check,
                     (void *)*s);
    UNIT_TEST(&u, names_and_trust_are_unique);
    UNIT_TEST(&u, roles_are_taken);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        unit_add(&u, windows[i].name, one_window, (void *)&windows[i]);
    return unit_run(&u);
}
