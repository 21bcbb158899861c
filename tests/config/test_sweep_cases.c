/* Every `multirun` case of the shared Hydra data that ran: the same jobs, in the same order, with
 * the same texts. Composing the jobs' configs is tested with the composition. */
#include "config/node.h"
#include "config/sweep.h"
#include "config/yaml.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"
#include "util/vec.h"

struct row {
    const struct lpo_json *c, *tree;
};

static int by_name(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* The files right inside conf/<group>/ of the case's tree. */
static int options(void *with, struct lpo_arena *a, const char *group, const char ***names,
                   size_t *count, struct lpo_err *err)
{
    const struct lpo_json *tree = with;
    const char *folder = lpo_arena_printf(a, "conf/%s/", group);

    *names = lpo_arena_array(a, tree->count, sizeof **names);
    LPO_JSON_EACH(file, tree)
    {
        const char *base = file->key + strlen(folder);
        if (lpo_starts(file->key, folder) && !strchr(base, '/') && lpo_ends(base, ".yaml"))
            (*names)[(*count)++] = lpo_arena_strndup(a, base, strlen(base) - strlen(".yaml"));
    }
    qsort(*names, *count, sizeof **names, by_name);
    return 0;
}

static const struct lpo_node *sweeper_params(struct lpo_arena *a, const struct lpo_json *tree)
{
    const struct lpo_json *text = lpo_json_get(tree, "conf/config.yaml");
    struct lpo_err err = { 0 };
    struct lpo_node *root;

    assert_int_equal(lpo_yaml_parse(a, text->text, text->len, "config.yaml", &root, &err), 0);
    return lpo_node_at(root, "hydra.sweeper.params");
}

/* The case's words without its flags. */
static size_t overrides_of(struct lpo_arena *a, const struct lpo_json *c, struct lpo_override **out)
{
    const struct lpo_json *argv = lpo_json_get(c, "argv");
    const char **texts = lpo_arena_array(a, argv->count, sizeof *texts);
    struct lpo_err err = { 0 };
    size_t n = 0;

    LPO_JSON_EACH(word, argv)
    if (word->text[0] != '-')
        texts[n++] = word->text;
    assert_int_equal(lpo_override_parse_all(a, texts, n, out, &err), 0);
    return n;
}

/* The data shows the texts after Hydra put values for interpolations in quotes. */
static bool same_text(const char *have, const char *want)
{
    return strcmp(have, want) == 0 || (strstr(have, "'${") && strchr(want, '\''));
}

static void check_case(void **state)
{
    const struct row *row = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_sweep_options from = { (void *)row->tree, options };
    const struct lpo_json *want = lpo_json_at(row->c, "expect.jobs");
    struct lpo_override *overrides;
    struct lpo_sweep_jobs jobs;
    struct lpo_err err = { 0 };
    size_t n = overrides_of(a, row->c, &overrides), i = 0;

    assert_int_equal(
        lpo_sweep_jobs(a, overrides, n, sweeper_params(a, row->tree), &from, &jobs, &err), 0);
    assert_int_equal(jobs.count, want ? want->count : 0);
    LPO_JSON_EACH(job, want)
    {
        size_t j = 0;
        LPO_JSON_EACH(text, lpo_json_get(job, "overrides"))
        {
            assert_true(j < jobs.at[i].count);
            if (!same_text(jobs.at[i].overrides[j], text->text))
                assert_string_equal(jobs.at[i].overrides[j], text->text);
            j++;
        }
        assert_int_equal(j, jobs.at[i++].count);
    }
}

int main(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *path =
        lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "../shared/data/hydra/cases-run.json");
    const struct lpo_json *doc;
    struct lpo_err err = { 0 };
    struct unit u = { 0 };

    if (!lpo_path_exists(path))
        UNIT_SKIP("../shared/data/hydra is not here");
    if (lpo_json_read_file(a, path, &doc, &err) < 0) {
        printf("Bail out! %s\n", lpo_err_cause(&err));
        return 1;
    }
    LPO_JSON_EACH(c, lpo_json_get(doc, "cases"))
    {
        if (strcmp(lpo_json_text(lpo_json_get(c, "kind"), ""), "multirun") != 0 ||
            lpo_json_int(lpo_json_at(c, "expect.exit"), 1) != 0)
            continue;
        struct row *row = LPO_NEW(a, struct row);
        row->c = c;
        row->tree =
            lpo_json_get(lpo_json_get(doc, "trees"), lpo_json_text(lpo_json_get(c, "tree"), ""));
        unit_add(&u, lpo_json_text(lpo_json_get(c, "id"), "?"), check_case, row);
    }
    return unit_run(&u);
}
