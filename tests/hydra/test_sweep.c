/* SPDX-License-Identifier: Apache-2.0 */
/* From sweeps to jobs: order, places, texts. */
#include "hydra/compose.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct jobs_case {
    const char *name;
    const char *overrides[5];
    const char *params[3][2]; /* hydra.sweeper.params */
    const char *want;         /* jobs with ';' between, overrides with ' | ' */
} cases[] = {
    { "no override is one job", { NULL }, { { NULL } }, "" },
    { "the last varies fastest",
      { "s=a,b", "x=1,2" },
      { { NULL } },
      "s=a | x=1;s=a | x=2;s=b | x=1;s=b | x=2" },
    { "a key again takes the first place",
      { "x=3", "y=0", "x=1,2" },
      { { NULL } },
      "x=1 | y=0;x=2 | y=0" },
    { "quotes and escapes are kept", { "s='a,b',c d" }, { { NULL } }, "s='a,b';s=c\\ d" },
    { "a deletion is written with null", { "~db" }, { { NULL } }, "~db=null" },
    { "packages and signs stay", { "++a@b=1,2" }, { { NULL } }, "++a@b=1;++a@b=2" },
    { "a range without values leaves no job", { "x=range(1,1)", "y=1,2" }, { { NULL } }, NULL },
    { "a glob asks for the group's options",
      { "db=glob([m*,s*],exclude=*x)" },
      { { NULL } },
      "db=mysql;db=sqlite" },
    { "a glob over what is no group", { "no=glob(*)" }, { { NULL } }, NULL },
    { "params come first, the command line wins",
      { "db=pg", "x=5" },
      { { "x", "1,2" }, { "y", "range(2)" } },
      "x=5 | y=0 | db=pg;x=5 | y=1 | db=pg" },
    { "hydra's own settings are no part of a job",
      { "x=1", "hydra.sweep.dir=d" },
      { { NULL } },
      "x=1" },
};

static const struct refuse_case {
    const char *name, *override, *says;
} refused[] = {
    { "hydra's own settings cannot be swept", "hydra.run.dir=a,b", "Sweeping over Hydra's" },
    { "an interval has no values", "x=interval(0,1)", "no single values" },
    { "a step of zero", "x=range(1,5,0)", "must not be zero" },
    { "too many values", "x=range(100000000)", "more than 100,000" },
};

static const struct glob_case {
    const char *name, *pattern, *text;
    bool want;
} globs[] = {
    { "star takes all", "*", "a.b/c", true },
    { "star takes nothing", "a*", "a", true },
    { "two stars", "*a*b", "xaayb", true },
    { "question mark is one character", "?b", "éb", true },
    { "question mark is not none", "?b", "b", false },
    { "a set", "[a-c]x", "bx", true },
    { "not in a set", "[!a-c]x", "bx", false },
    { "a caret is a character", "[^b]", "b", true },
    { "a bracket first in a set", "[]x]", "]", true },
    { "an open bracket alone", "[ab", "[ab", true },
    { "a minus last in a set", "[a-]", "-", true },
    { "case counts", "A", "a", false },
};

static int options(void *with, struct lpo_arena *a, const char *group, const char ***names,
                   size_t *count, struct lpo_err *err)
{
    static const char *db[] = { "mysql", "postgres", "sqlite", "sx" };

    *names = db;
    *count = lpo_streq(group, "db") ? 4 : 0;
    return 0;
}

static int expand(struct lpo_arena *a, const char *const *texts, const char *const (*params)[2],
                  struct lpo_override_sweep_jobs *out, struct lpo_err *err)
{
    struct lpo_sweep_options from = { .list = options };
    struct lpo_override *overrides;
    struct lpo_node *map = params && params[0][0] ? lpo_node_map(a) : NULL;
    size_t n = 0;

    while (texts[n])
        n++;
    assert_int_equal(lpo_override_parse_all(a, texts, n, &overrides, err), 0);
    for (size_t i = 0; map && params[i][0]; i++)
        lpo_node_set(a, map, params[i][0], lpo_node_string(a, params[i][1]));
    return lpo_override_sweep_jobs(a, overrides, n, map, &from, out, err);
}

static void check_jobs(void **state)
{
    const struct jobs_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_override_sweep_jobs jobs = { 0 };
    struct lpo_err err = { 0 };
    LPO_STR have = { 0 };

    assert_int_equal(expand(a, c->overrides, c->params, &jobs, &err), 0);
    for (size_t i = 0; i < jobs.count; i++) {
        assert_int_equal(jobs.at[i].num, i);
        lpo_str_add(&have, i ? ";" : "");
        for (size_t j = 0; j < jobs.at[i].count; j++)
            lpo_str_addf(&have, "%s%s", j ? " | " : "", jobs.at[i].overrides[j]);
    }
    if (c->want)
        assert_string_equal(lpo_str_text(&have), c->want);
    else
        assert_int_equal(jobs.count, 0);
}

static void check_refused(void **state)
{
    const struct refuse_case *c = *state;
    const char *texts[] = { c->override, NULL };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_override_sweep_jobs jobs;
    struct lpo_err err = { 0 };

    assert_int_equal(expand(a, texts, NULL, &jobs, &err), LPO_E_CONFIG);
    if (!strstr(lpo_err_cause(&err), c->says))
        fail_msg("it says: %s", lpo_err_cause(&err));
}

static void too_many_jobs(void **state)
{
    const char *texts[] = { "a=range(2000)", "b=range(2000)", NULL };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_override_sweep_jobs jobs;
    struct lpo_err err = { 0 };

    assert_int_equal(expand(a, texts, NULL, &jobs, &err), LPO_E_CONFIG);
}

/* The order is free, the values are not. */
static void shuffle_keeps_the_values(void **state)
{
    const char *texts[] = { "a=shuffle(range(100))", NULL };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_override_sweep_jobs jobs;
    struct lpo_err err = { 0 };
    bool seen[100] = { false };

    assert_int_equal(expand(a, texts, NULL, &jobs, &err), 0);
    assert_int_equal(jobs.count, 100);
    for (size_t i = 0; i < jobs.count; i++) {
        int value = atoi(jobs.at[i].overrides[0] + 2);
        assert_false(seen[value]);
        seen[value] = true;
    }
}

static void check_glob(void **state)
{
    const struct glob_case *c = *state;
    assert_int_equal(lpo_override_glob_match(c->pattern, c->text), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_jobs);
    UNIT_ROWS(&u, refused, check_refused);
    UNIT_ROWS(&u, globs, check_glob);
    UNIT_TEST(&u, too_many_jobs);
    UNIT_TEST(&u, shuffle_keeps_the_values);
    return unit_run(&u);
}
