/* SPDX-License-Identifier: Apache-2.0 */
/* Every `run` and `multirun` case of the Hydra data in tests/data/hydra: the same jobs in the same
 * order, each with the same overrides, folder, choices and values; or a failure where Hydra fails.
 */
#include "hydra/compose.h"
#include "hydra_case.h"

struct words {
    const char **at;
    size_t n;
    bool run, multirun; /* flags of the command line */
};

static struct words words_of(struct hydra_place *p, const struct lpo_json *argv)
{
    struct words w = { .at = lpo_arena_array(p->arena, argv->count + 2, sizeof *w.at) };

    LPO_JSON_EACH(word, argv)
    {
        w.run = w.run || strcmp(word->text, "--run") == 0;
        w.multirun =
            w.multirun || strcmp(word->text, "-m") == 0 || strcmp(word->text, "--multirun") == 0;
        if (word->text[0] != '-')
            w.at[w.n++] = word->text;
    }
    return w;
}

static int compose(struct hydra_place *p, const char *const *overrides, bool multirun,
                   struct lpo_composed *c, struct lpo_err *err)
{
    const char *const dirs[] = { "conf", NULL };
    struct lpo_compose_in in = { .dirs = dirs,
                                 .job_name = "app",
                                 .overrides = overrides,
                                 .cwd = p->dir,
                                 .env = p->env,
                                 .now = p->now,
                                 .multirun = multirun };

    return lpo_compose(p->arena, &in, c, err);
}

static void check_text(struct hydra_place *p, struct lpo_composed *c, const char *path,
                       const struct lpo_json *want)
{
    struct lpo_err err = { 0 };
    struct lpo_node *have = NULL;

    if (lpo_compose_hydra(c, path, &have, &err) < 0)
        fail_msg("hydra.%s: %s", path, lpo_err_cause(&err));
    assert_non_null(have);
    if (!hydra_same(p, have, want))
        fail_msg("hydra.%s is '%s', not '%s'", path,
                 have->kind == LPO_NODE_STRING ? have->text : "?", want->text);
}

static void check_choices(struct hydra_place *p, const struct lpo_composed *c,
                          const struct lpo_json *want)
{
    struct lpo_node *own = lpo_node_map(p->arena);

    for (size_t i = 0; i < c->choices->npairs; i++)
        if (!lpo_str_starts(c->choices->pairs[i].key->text, "hydra/"))
            lpo_node_set_key(p->arena, own, c->choices->pairs[i].key, c->choices->pairs[i].value);
    assert_true(hydra_same(p, own, want));
}

/* One job as Hydra starts it. 0, or an error where it does not get that far. */
static int check_job(struct hydra_place *p, const char *const *overrides, int num,
                     const struct lpo_json *want, struct lpo_err *err)
{
    struct lpo_composed c;
    const char *dir;

    if (compose(p, overrides, false, &c, err) < 0 || lpo_hydra_job_dir(&c, num, &dir, err) < 0)
        return err->code;
    int rc = lpo_compose_resolve(&c, err);
    if (!want)
        return rc;
    if (lpo_json_get(want, "config_error")) {
        assert_true(rc < 0);
        *err = (struct lpo_err){ 0 };
        return 0;
    }
    if (rc < 0)
        return rc;
    assert_string_equal(dir, hydra_fill(p, lpo_json_get(want, "output_dir")->text));
    check_text(p, &c, "overrides.task", lpo_json_get(want, "overrides"));
    check_text(p, &c, "job.override_dirname", lpo_json_get(want, "override_dirname"));
    check_text(p, &c, "job.name", lpo_json_get(want, "job_name"));
    if (num >= 0) {
        check_text(p, &c, "job.num", lpo_json_get(want, "num"));
        check_text(p, &c, "job.id", lpo_json_get(want, "id"));
    }
    check_choices(p, &c, lpo_json_get(want, "choices"));
    assert_true(hydra_same(p, c.root, lpo_json_get(want, "config")));
    return 0;
}

static const char **job_words(struct hydra_place *p, const struct lpo_override_sweep_jobs *jobs,
                              size_t i)
{
    const char **words =
        lpo_arena_array(p->arena, jobs->nhydra + jobs->at[i].count + 1, sizeof *words);

    for (size_t k = 0; k < jobs->nhydra; k++)
        words[k] = jobs->hydra[k].text;
    for (size_t k = 0; k < jobs->at[i].count; k++)
        words[jobs->nhydra + k] = jobs->at[i].overrides[k];
    return words;
}

static int check_jobs(struct hydra_place *p, struct lpo_composed *c, const struct lpo_json *want,
                      struct lpo_err *err)
{
    const struct lpo_json *job = want ? want->first : NULL;
    struct lpo_node *params = NULL;
    struct lpo_override_sweep_jobs jobs;

    if (lpo_compose_hydra(c, "sweeper.params", &params, err) < 0 ||
        lpo_override_sweep_jobs(p->arena, c->overrides, c->noverrides, params, c->options, &jobs,
                                err) < 0)
        return err->code;
    if (want)
        assert_int_equal(jobs.count, want->count);
    for (size_t i = 0; i < jobs.count; i++) {
        int rc = check_job(p, job_words(p, &jobs, i), (int)i, job, err);
        if (rc < 0)
            return rc;
        job = job ? job->next : NULL;
    }
    return 0;
}

static int check_command(struct hydra_place *p, struct words w, const struct lpo_json *want,
                         struct lpo_err *err)
{
    struct lpo_composed c;
    bool multirun;

    if (w.run && w.multirun)
        return lpo_fail(err, LPO_E_USAGE, "--run and --multirun exclude each other");
    if (w.run || w.multirun)
        w.at[w.n++] = w.run ? "hydra.mode=RUN" : "hydra.mode=MULTIRUN";
    if (compose(p, w.at, true, &c, err) < 0 || lpo_hydra_is_multirun(&c, &multirun, err) < 0)
        return err->code;
    return multirun ? check_jobs(p, &c, want, err)
                    : check_job(p, w.at, -1, want ? want->first : NULL, err);
}

static void check_case(void **state)
{
    const struct hydra_case *hc = *state;
    const struct lpo_json *expect = lpo_json_get(hc->c, "expect");
    bool fine = lpo_json_int(lpo_json_get(expect, "exit"), 1) == 0;
    __attribute__((cleanup(hydra_leave))) struct hydra_place p;
    struct lpo_err err = { 0 };

    hydra_enter(&p, hc);
    int rc = check_command(&p, words_of(&p, lpo_json_get(hc->c, "argv")),
                           fine ? lpo_json_get(expect, "jobs") : NULL, &err);
    if (fine && rc < 0)
        fail_msg("fails: %s", lpo_err_cause(&err));
    if (!fine)
        assert_true(rc < 0);
}

int main(void)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *path =
        lpo_path_join(a, unit_env("LPO_SOURCE_ROOT", "."), "tests/data/hydra/cases-run.json");
    struct unit u = { 0 };

    if (!hydra_add_cases(a, &u, path, "run", check_case))
        return hydra_no_cases(path);
    hydra_add_cases(a, &u, path, "multirun", check_case);
    return unit_run(&u);
}
