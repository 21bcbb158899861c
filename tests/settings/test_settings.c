/* SPDX-License-Identifier: Apache-2.0 */
/* The getters: a value, null, an absent key, and a kind that an unchecked config may hold. */
#include "hydra/compose.h"
#include "settings/schema.h"
#include "settings/settings.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct getter_case {
    const char *name, *yaml, *key, *want; /* want NULL: null */
} cases[] = {
    { "a bool", "run: {fail_fast: true}", "run.fail_fast", "true" },
    { "a bool by default", "{}", "pipeline.native.enable", "true" },
    { "a bool by default, false", "{}", "run.fail_fast", "false" },
    { "a text where a bool belongs", "run: {fail_fast: x}", "run.fail_fast", "false" },
    { "an integer", "run: {repeats: 7}", "run.repeats", "7" },
    { "an integer by default", "{}", "run.repeats", "3" },
    { "a large default", "{}", "run.max_output_bytes", "1073741824" },
    { "a null that is not allowed", "run: {repeats: null}", "run.repeats", "3" },
    { "a null that is", "pipeline: {ncu: {sampling: {max_new_tokens: null}}}",
      "pipeline.ncu.sampling.max_new_tokens", "0" },
    { "absent is not null", "{}", "pipeline.ncu.sampling.max_new_tokens", "4" },
    { "no default", "{}", "infer.max_new_tokens", "0" },
    { "a number", "run: {max_cv: 0.25}", "run.max_cv", "0.25" },
    { "an integer where a number belongs", "run: {max_cv: 1}", "run.max_cv", "1" },
    { "a number by default", "{}", "run.max_cv", "0.1" },
    { "a text", "run: {mode: light}", "run.mode", "light" },
    { "a text by default", "{}", "run.device", "cuda:0" },
    { "a text without default", "{}", "workload.kind", NULL },
    { "a text that is null", "{}", "model.path", NULL },
    { "null wins over a default", "pipeline: {nsys: {capture_range_end: null}}",
      "pipeline.nsys.capture_range_end", NULL },
    { "a bare true among texts", "workload: {toy: {cuda: true}}", "workload.toy.cuda", "true" },
    { "a bare true where any text may stand", "model: {path: true}", "model.path", NULL },
    { "a duration", "run: {grace: 150ms}", "run.grace", "150000000" },
    { "a duration by default", "{}", "run.grace", "5000000000" },
    { "not a duration", "run: {grace: soon}", "run.grace", "5000000000" },
    { "no limit", "{}", "pipeline.nsys.timeout", "0" },
    { "words", "report: {formats: [csv, md]}", "report.formats", "csv|md" },
    { "words in one text", "report: {formats: ' csv, md ,'}", "report.formats", "csv|md" },
    { "words by default", "{}", "report.formats", "md|json|html" },
    { "no words", "report: {formats: []}", "report.formats", "" },
    { "numbers are words too", "pipeline: {nsys: {stats: [1, x]}}", "pipeline.nsys.stats", "1|x" },
    { "a pattern keeps its comma", "report: {kernels: {include: 'regex:a{1,2}'}}",
      "report.kernels.include", "regex:a{1,2}" },
    { "an empty pattern is none", "report: {kernels: {include: ['', a]}}", "report.kernels.include",
      "a" },
    { "patterns that are null", "report: {kernels: {include: null}}", "report.kernels.include",
      "" },
    { "an empty argument is one", "pipeline: {nsys: {extra_args: ['', 'a,b']}}",
      "pipeline.nsys.extra_args", "|a,b" },
    { "one argument", "pipeline: {nsys: {extra_args: '--x y'}}", "pipeline.nsys.extra_args",
      "--x y" },
    { "a command line", "workload: {argv: [./a, '', 1.5]}", "workload.argv", "./a||1.5" },
};

static void add_words(struct lpo_arena *a, const struct lpo_node *config, const char *key,
                      struct lpo_str *out)
{
    struct lpo_settings_words words = lpo_settings_list(a, config, key);

    lpo_str_add(out, "");
    for (size_t i = 0; i < words.len; i++)
        lpo_str_addf(out, "%s%s", i ? "|" : "", words.at[i]);
}

static const char *shown(struct lpo_arena *a, const struct lpo_node *config, const char *key)
{
    const struct lpo_schema_row *row = lpo_settings_schema_find(key);
    LPO_STR out = { 0 };

    switch (row->type) {
    case LPO_S_BOOL:
        return lpo_settings_bool(config, key) ? "true" : "false";
    case LPO_S_INT:
        return lpo_arena_printf(a, "%lld", (long long)lpo_settings_int(config, key));
    case LPO_S_REAL:
        return lpo_arena_printf(a, "%g", lpo_settings_real(config, key));
    case LPO_S_TEXT:
        return lpo_settings_text(config, key);
    case LPO_S_DURATION:
        return lpo_arena_printf(a, "%lld", (long long)lpo_settings_duration_ns(config, key));
    default:
        add_words(a, config, key, &out);
        return lpo_arena_strdup(a, lpo_str_text(&out));
    }
}

static struct lpo_node *read_config(struct lpo_arena *a, const char *yaml)
{
    struct lpo_err err = { 0 };
    struct lpo_node *config = NULL;

    if (lpo_yaml_parse(a, yaml, strlen(yaml), "case", &config, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return config;
}

static void check_getter(void **state)
{
    const struct getter_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *got = shown(a, read_config(a, c->yaml), c->key);

    if (c->want)
        assert_non_null(got);
    else
        assert_null(got);
    if (c->want)
        assert_string_equal(got, c->want);
}

/* A report over foreign files has no config at all. */
static void without_a_config_all_is_default(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    assert_int_equal(lpo_settings_int(NULL, "run.top_n_kernels"), 30);
    assert_true(lpo_settings_bool(NULL, "report.aggregate"));
    assert_string_equal(lpo_settings_joined(a, NULL, "report.formats"), "md,json,html");
    assert_null(lpo_settings_map(NULL, "report.mapping"));
    assert_null(lpo_settings_joined(a, NULL, "report.kernels.include"));
}

static void a_value_is_set_or_not(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_node *config =
        read_config(a, "model: {layers: 0, heads: null}\nworkload: {env: {A: b}}\n");

    assert_true(lpo_settings_is_set(config, "model.layers"));
    assert_false(lpo_settings_is_set(config, "model.heads"));
    assert_false(lpo_settings_is_set(config, "model.ffn"));
    assert_true(lpo_settings_is_set(config, "run.repeats"));
    assert_non_null(lpo_settings_map(config, "workload.env"));
    assert_string_equal(lpo_settings_word(a, config, "model.layers"), "0");
    assert_string_equal(lpo_settings_word(a, config, "run.max_cv"), "0.1");
    assert_null(lpo_settings_word(a, config, "pipeline.ncu.ncu_cli.launch_skip"));
}

struct all_types {
    bool flag;
    int64_t count, limit_ns;
    double most;
    const char *mode;
    struct lpo_settings_words formats;
    const struct lpo_node *env;
};

static void a_struct_is_filled(void **state)
{
    static const struct lpo_settings_field fields[] = {
        LPO_SETTING(all_types, flag, LPO_S_BOOL, "run.fail_fast"),
        LPO_SETTING(all_types, count, LPO_S_INT, "run.repeats"),
        LPO_SETTING(all_types, limit_ns, LPO_S_DURATION, "run.grace"),
        LPO_SETTING(all_types, most, LPO_S_REAL, "run.max_cv"),
        LPO_SETTING(all_types, mode, LPO_S_TEXT, "run.mode"),
        LPO_SETTING(all_types, formats, LPO_S_WORDS, "report.formats"),
        LPO_SETTING(all_types, env, LPO_S_OPEN, "workload.env"),
    };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_node *config =
        read_config(a, "run: {fail_fast: true, repeats: 2}\nworkload: {env: {A: b}}\n");
    struct all_types out = { 0 };

    lpo_settings_fill(a, config, fields, sizeof fields / sizeof *fields, &out);
    assert_true(out.flag);
    assert_int_equal(out.count, 2);
    assert_int_equal(out.limit_ns, 5000000000);
    assert_true(out.most == 0.1);
    assert_string_equal(out.mode, "deep");
    assert_int_equal(out.formats.len, 3);
    assert_string_equal(out.formats.at[1], "json");
    assert_int_equal(out.env->npairs, 1);
}

/* The schema is walked from row to row: the rows of a map stand right behind it. */
static void every_key_is_a_member_of_the_key_above(void **state)
{
    size_t count;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const char *dot = strrchr(rows[i].path, '.');
        char above[256];

        if (!rows[i].path[0])
            continue;
        snprintf(above, sizeof above, "%.*s", dot ? (int)(dot - rows[i].path) : 0, rows[i].path);
        if (!lpo_settings_schema_find(above))
            continue; /* an open map has no rows for its members */
        if (lpo_settings_schema_member(lpo_settings_schema_find(above),
                                       dot ? dot + 1 : rows[i].path) != &rows[i])
            fail_msg("'%s' is not found below '%s'", rows[i].path, above);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_getter);
    UNIT_TEST(&u, without_a_config_all_is_default);
    UNIT_TEST(&u, a_value_is_set_or_not);
    UNIT_TEST(&u, a_struct_is_filled);
    UNIT_TEST(&u, every_key_is_a_member_of_the_key_above);
    return unit_run(&u);
}
