/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped tree: it composes with every preset, every key has a row in the schema and a comment,
 * and what a run would refuse is refused with the right words. */
#include <dirent.h>

#include "hydra/compose.h"
#include "settings/schema.h"
#include "settings/settings.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"

static const struct shipped_case {
    const char *name;
    const char *overrides[4];
    const char *key, *want; /* the value of a key as YAML; key NULL: part of the error */
    const char *warning;    /* part of the one warning, or NULL for none */
} cases[] = {
    { "toy by default", { 0 }, "workload.kind", "toy" },
    { "cheap stages are on", { 0 }, "pipeline.native.enable", "true" },
    { "nsys is off", { 0 }, "pipeline.nsys.enable", "false" },
    { "torch is on", { 0 }, "pipeline.torch_profiler.enable", "true" },
    { "nsys waits for prefill", { 0 }, "pipeline.nsys.nvtx_capture", "prefill" },
    { "ncu looks at decode", { 0 }, "pipeline.ncu.ncu_cli.nvtx.include", "decode*" },
    { "hf brings its model", { "workload=hf", "model.path=/m" }, "model.name", "hf" },
    { "a model given wins", { "workload=hf", "model=toy" }, "model.name", "toy" },
    { "dsocr brings its model",
      { "workload=dsocr" },
      "model.config.language_config.n_routed_experts",
      "64" },
    { "dsocr brings its pages", { "workload=dsocr" }, "dataset.name", "omnidocbench" },
    { "another dataset wins",
      { "workload=dsocr", "dataset=synthetic" },
      "dataset.name",
      "synthetic" },
    { "dsocr brings how it reads", { "workload=dsocr" }, "infer.prompt_tokens", "288" },
    { "a command has no model", { "workload=command" }, "model.name", "none" },
    { "random sampling", { "dataset/sampling=random" }, "dataset.sampling.randomize", "true" },
    { "an ncu preset",
      { "profiling/ncu@pipeline.ncu=ncu.high" },
      "pipeline.ncu.ncu_cli.set",
      "roofline" },
    { "presets keep the stage off",
      { "profiling/ncu@pipeline.ncu=ncu.h200" },
      "pipeline.ncu.enable",
      "false" },
    { "the compute preset",
      { "profiling/ncu@pipeline.ncu=ncu.rtx3090.compute" },
      "pipeline.ncu.ncu_cli.sections.1",
      "ComputeWorkloadAnalysis" },
    { "the memory preset",
      { "profiling/ncu@pipeline.ncu=ncu.rtx3090.memory" },
      "pipeline.ncu.ncu_cli.sections.1",
      "MemoryWorkloadAnalysis" },
    { "torch presets",
      { "profiling/torch@pipeline.torch_profiler=torch-profiler.max" },
      "pipeline.torch_profiler.with_stack",
      "true" },
    { "an experiment", { "+experiment=deep" }, "pipeline.ncu.enable", "true" },
    { "region mode", { "+experiment=regions" }, "pipeline.ncu.regions.enable", "true" },
    { "a quick look", { "+experiment=quick" }, "run.mode", "light" },

    { "a misspelt key", { "pipeline.ncu.ncu_cli.sectons=[a]" }, NULL, "did you mean 'sections'?" },
    { "a key that is new and unknown",
      { "+pipeline.ncu.ncu_cli.sectons=[a]" },
      NULL,
      "unknown key 'pipeline.ncu.ncu_cli.sectons' (from '+pipeline.ncu.ncu_cli.sectons=[a]'); did "
      "you mean 'pipeline.ncu.ncu_cli.sections'?" },
    { "an unknown stage", { "+pipeline.nsis.enable=true" }, NULL, "did you mean 'pipeline.nsys'?" },
    { "enable must be a boolean",
      { "pipeline.nsys.enable=maybe" },
      NULL,
      "'pipeline.nsys.enable' must be a boolean (true or false), not a string ('maybe') (from "
      "'pipeline.nsys.enable=maybe')" },
    { "a number is no switch", { "pipeline.ncu.enable=1" }, NULL, "must be a boolean" },
    { "a wrong word", { "run.mode=depe" }, NULL, "did you mean 'deep'?" },
    { "a number too small", { "run.repeats=0" }, NULL, "an integer of at least 1" },
    { "not a duration", { "pipeline.nsys.timeout=15" }, NULL, "a duration such as 90s" },
    { "a duration", { "pipeline.nsys.timeout=10m" }, "pipeline.nsys.timeout", "10m" },
    { "a value still missing", { "dataset=folder" }, NULL, "'dataset.root' has no value yet" },
    { "a map where a list belongs",
      { "pipeline.ncu.ncu_cli.metrics={a:1}" },
      NULL,
      "DictConfig with ListConfig" },
    { "metrics as a comma string",
      { "pipeline.ncu.ncu_cli.metrics='a,b'" },
      "pipeline.ncu.ncu_cli.metrics",
      "a,b" },
    { "no metrics",
      { "pipeline.ncu.ncu_cli.metrics=null" },
      "pipeline.ncu.ncu_cli.metrics",
      "null" },
    { "an unknown preset", { "profiling/ncu@pipeline.ncu=ncu.h300" }, NULL, "ncu.h200" },
    { "a group without its place",
      { "profiling/ncu=ncu.high" },
      NULL,
      "profiling/ncu@pipeline.ncu" },

    { "a capture range without a range",
      { "pipeline.nsys.capture_range=nvtx", "pipeline.nsys.nvtx_capture=null" },
      NULL,
      "'pipeline.nsys.nvtx_capture' names no range" },
    { "an empty range",
      { "pipeline.nsys.capture_range=nvtx", "pipeline.nsys.nvtx_capture=''" },
      NULL,
      "'pipeline.nsys.nvtx_capture' names no range" },
    { "a capture range with a range",
      { "pipeline.nsys.capture_range=nvtx", "pipeline.nsys.nvtx_capture=decode" },
      "pipeline.nsys.nvtx_capture",
      "decode" },
    { "an end policy may be null",
      { "pipeline.nsys.capture_range_end=null" },
      "pipeline.nsys.capture_range_end",
      "null" },
    { "an end policy may be empty",
      { "pipeline.nsys.capture_range_end=''" },
      "pipeline.nsys.capture_range_end",
      "''" },
    { "repeats",
      { "pipeline.nsys.capture_range_end='repeat:3'" },
      "pipeline.nsys.capture_range_end",
      "repeat:3" },
    { "domains both ways",
      { "pipeline.nsys.nvtx_domain_include=[a]", "pipeline.nsys.nvtx_domain_exclude=[b]" },
      NULL,
      "cannot both be given" },

    { "old: ncu's NVTX filter",
      { "pipeline.ncu.nvtx_include=decode" },
      "pipeline.ncu.ncu_cli.nvtx.include",
      "decode",
      "pipeline.ncu.nvtx_include" },
    { "old: ncu's set",
      { "pipeline.ncu.set=full" },
      "pipeline.ncu.ncu_cli.set",
      "full",
      "pipeline.ncu.ncu_cli.set" },
    { "old: ncu's metrics",
      { "pipeline.ncu.metrics=[a]" },
      "pipeline.ncu.ncu_cli.metrics.0",
      "a",
      "deprecated" },
    { "old: ncu's sections",
      { "pipeline.ncu.sections=[a]" },
      "pipeline.ncu.ncu_cli.sections.0",
      "a",
      "deprecated" },
    { "old: ncu's csv",
      { "pipeline.ncu.csv=false" },
      "pipeline.ncu.ncu_cli.export.csv",
      "false",
      "pipeline.ncu.ncu_cli.export.csv" },
    { "old: torch_profiler.enabled",
      { "torch_profiler.enabled=true" },
      "pipeline.torch_profiler.enable",
      "true",
      "torch_profiler.enabled" },
    { "old: analysis.static",
      { "analysis.static.write_reports=false" },
      "pipeline.static_analysis.write_reports",
      "false",
      "analysis.static.write_reports" },
    { "old: run.stage1_repeats",
      { "run.stage1_repeats=5" },
      "dataset.sampling.num_samples_per_epoch",
      "5",
      "dataset.sampling" },
    { "old: stage1_runner",
      { "stage1_runner.pipeline.nsys.enabled=true" },
      "pipeline.nsys.enable",
      "true",
      "stage1_runner" },
};

static const char *conf_dir(struct lpo_arena *a)
{
    return lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "conf");
}

static int compose(struct lpo_arena *a, const char *first, const char *const *overrides,
                   struct lpo_composed *c, struct lpo_err *err)
{
    const char *dirs[3] = { first ? first : conf_dir(a), first ? conf_dir(a) : NULL, NULL };
    struct lpo_compose_in in = { .dirs = dirs, .overrides = overrides };
    int rc;

    in.spellings = lpo_settings_spellings();
    in.defaults = lpo_settings_defaults(a);
    rc = lpo_compose(a, &in, c, err);
    if (rc == 0)
        rc = lpo_compose_resolve(c, err);
    return rc < 0 ? rc : lpo_settings_schema_check(a, c->root, NULL, err);
}

static void check_case(void **state)
{
    const struct shipped_case *row = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_composed c;
    LPO_STR all = { 0 }, value = { 0 };
    int rc = compose(a, NULL, row->overrides, &c, &err);

    for (unsigned i = 0; i < err.lines; i++)
        lpo_str_addf(&all, "%s\n", err.text + err.at[i]);
    if (!row->key) {
        assert_int_equal(rc, LPO_E_CONFIG);
        if (!strstr(all.at, row->want))
            assert_string_equal(all.at, row->want);
        return;
    }
    assert_string_equal(lpo_str_text(&all), "");
    assert_non_null(lpo_node_at(c.root, row->key));
    lpo_yaml_add(&value, lpo_node_at(c.root, row->key));
    assert_string_equal(value.at, lpo_arena_printf(a, "%s\n", row->want));
    assert_int_equal(c.warnings->count, row->warning != NULL);
    if (row->warning)
        assert_non_null(strstr(c.warnings->items[0]->text, row->warning));
}

/* Old keys in a preset of one's own, in a folder before the shipped one. */
static void an_old_preset_in_a_users_folder(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *const overrides[] = { "profiling/ncu@pipeline.ncu=mine", NULL };
    const char text[] = "enable: true\nnvtx_include: decode\nset: full\nmetrics: [x]\ncsv: false\n";
    char dir[] = "/tmp/lpo-shipped-XXXXXX";
    struct lpo_err err = { 0 };
    struct lpo_composed c;
    const char *file;

    assert_non_null(mkdtemp(dir));
    file = lpo_arena_printf(a, "%s/profiling/ncu/mine.yaml", dir);
    assert_int_equal(lpo_file_make_dirs(lpo_path_dir(a, file), &err), 0);
    assert_int_equal(lpo_file_write(file, text, strlen(text), &err), 0);
    if (compose(a, dir, overrides, &c, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    assert_string_equal(lpo_node_text_at(c.root, "pipeline.ncu.ncu_cli.nvtx.include"), "decode");
    assert_string_equal(lpo_node_text_at(c.root, "pipeline.ncu.ncu_cli.metrics.0"), "x");
    assert_false(lpo_settings_bool(c.root, "pipeline.ncu.ncu_cli.export.csv"));
    assert_null(lpo_node_at(c.root, "pipeline.ncu.set"));
    assert_int_equal(c.warnings->count, 4);
    remove(file);
}

static void an_error_names_its_place_in_a_file(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *const overrides[] = { "profiling/nsys@pipeline.nsys=mine", NULL };
    const char text[] = "enable: true\ntrac: [cuda]\n";
    char dir[] = "/tmp/lpo-shipped-XXXXXX";
    struct lpo_err err = { 0 };
    struct lpo_composed c;
    const char *file;

    assert_non_null(mkdtemp(dir));
    file = lpo_arena_printf(a, "%s/profiling/nsys/mine.yaml", dir);
    assert_int_equal(lpo_file_make_dirs(lpo_path_dir(a, file), &err), 0);
    assert_int_equal(lpo_file_write(file, text, strlen(text), &err), 0);
    assert_int_equal(compose(a, dir, overrides, &c, &err), LPO_E_CONFIG);
    assert_non_null(strstr(lpo_err_cause(&err), "mine.yaml:2:1"));
    assert_non_null(strstr(lpo_err_cause(&err), "did you mean 'pipeline.nsys.trace'?"));
    remove(file);
}

/* Every line "key: value" says what the key is for. hardware/, references/ and rules/ are tables,
 * not settings. */
static void check_comments(struct lpo_arena *a, const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d))) {
        const char *path = lpo_path_join(a, dir, e->d_name);
        LPO_AUTO(lpo_file_text) text = NULL;
        unsigned line = 0;

        if (e->d_name[0] == '.' || strcmp(e->d_name, "hardware") == 0 ||
            strcmp(e->d_name, "references") == 0 || strcmp(e->d_name, "rules") == 0)
            continue;
        if (lpo_str_ends(e->d_name, ".md"))
            continue;
        if (lpo_path_is_dir(path)) {
            check_comments(a, path);
            continue;
        }
        assert_int_equal(lpo_file_text_read(path, &text, NULL), 0);
        for (char *p = strtok(text->at, "\n"); p; p = strtok(NULL, "\n")) {
            char *colon = strchr(p, ':'), *key = p + strspn(p, " ");

            line++;
            if (*key != '#' && *key != '-' && colon && colon[1] == ' ' && !strchr(p, '#'))
                fail_msg("%s: '%s' has no comment", path, key);
        }
    }
    closedir(d);
}

static void every_key_has_a_comment(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    check_comments(a, conf_dir(a));
}

static void the_schema_is_json(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *doc, *mode;
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_settings_schema_write_json(&w);
    assert_int_equal(lpo_json_parse(a, out.at, out.len, &doc, &err), 0);
    mode = lpo_json_at(doc, "properties.run.properties.mode");
    assert_string_equal(lpo_json_text(lpo_json_at(mode, "anyOf")->first->first->first, ""), "deep");
    assert_string_equal(lpo_json_text(lpo_json_get(mode, "default"), ""), "deep");
    assert_int_equal(lpo_json_at(doc, "properties.report.properties.formats.default")->count, 3);
    assert_null(lpo_json_at(doc, "properties.model.properties.name.default"));
    assert_false(lpo_json_bool(lpo_json_at(doc, "properties.pipeline.additionalProperties"), true));
}

static void rows_stand_below_their_maps(void **state)
{
    size_t count;
    const struct lpo_schema_row *rows = lpo_settings_schema_rows(&count);

    for (size_t i = 1; i < count; i++) {
        const char *dot = strrchr(rows[i].path, '.');
        char parent[128];

        snprintf(parent, sizeof parent, "%.*s", dot ? (int)(dot - rows[i].path) : 0, rows[i].path);
        assert_non_null(lpo_settings_schema_find(parent));
        assert_ptr_equal(lpo_settings_schema_member(lpo_settings_schema_find(parent),
                                                    dot ? dot + 1 : rows[i].path),
                         &rows[i]);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_case);
    UNIT_TEST(&u, an_old_preset_in_a_users_folder);
    UNIT_TEST(&u, an_error_names_its_place_in_a_file);
    UNIT_TEST(&u, every_key_has_a_comment);
    UNIT_TEST(&u, the_schema_is_json);
    UNIT_TEST(&u, rows_stand_below_their_maps);
    return unit_run(&u);
}
