/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <stdlib.h>

#include "run/step.h"
#include "util/arena.h"
#include "util/str.h"

static void command_can_be_pasted(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = lpo_run_steps_add(&steps, "x");
    LPO_STR out = { 0 };

    (void)state;
    lpo_run_step_arg(a, step, "prog");
    lpo_run_step_argf(a, step, "--n=%d", 3);
    lpo_run_step_arg(a, step, "two words");
    lpo_run_step_env(a, step, "A", "1");
    lpo_run_step_env(a, step, "A", "2 3");
    lpo_run_step_env(a, step, "GONE", NULL);
    lpo_run_step_env(a, step, "HF_TOKEN", "hf_abc");
    step->cwd = "/some dir";
    lpo_run_step_print(step, &out);
    assert_string_equal(lpo_str_text(&out),
                        "cd '/some dir' && \\\nenv A='2 3' -u GONE HF_TOKEN=\"$HF_TOKEN\" \\\n"
                        "prog --n=3 'two words'\n");
}

/* A tool's words stand before the program; rendering again replaces them, and them alone. */
static void a_wrapped_command_is_rendered_again(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = lpo_run_steps_add(&steps, "x");
    struct lpo_words first = { 0 }, second = { 0 }, none = { 0 };
    LPO_STR out = { 0 };

    (void)state;
    lpo_run_step_arg(a, step, "prog");
    lpo_run_step_arg(a, step, "--metrics");
    lpo_run_words_add(a, &first, "tool");
    lpo_run_words_add_flag(a, &first, "--metrics", "a,b");
    lpo_run_words_add_flag(a, &first, "--set", NULL);
    lpo_run_words_addf(a, &second, "tool%d", 2);
    lpo_run_step_wrap(a, step, &first);
    lpo_run_step_print(step, &out);
    lpo_run_step_wrap(a, step, &second);
    lpo_run_step_print(step, &out);
    lpo_run_step_wrap(a, step, &none);
    lpo_run_step_print(step, &out);
    assert_string_equal(lpo_str_text(&out), "tool --metrics a,b prog --metrics\n"
                                            "tool2 prog --metrics\n"
                                            "prog --metrics\n");
    assert_null(step->argv[step->argc]);
}

static void a_step_is_removed(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };

    (void)state;
    lpo_run_steps_add(&steps, "a");
    lpo_run_steps_add(&steps, "b");
    lpo_run_steps_add(&steps, "c");
    lpo_run_steps_remove(&steps, 1);
    assert_int_equal(steps.len, 2);
    assert_string_equal(steps.at[1].label, "c");
    lpo_run_steps_remove(&steps, 1);
    assert_int_equal(steps.len, 1);
}

static const char *value_in(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

/* With the step's variables on top, whatever a name begins with. */
static void an_environment_is_ours_and_theirs(void **state)
{
    static const struct lpo_env_var vars[] = { { "LPO_TEST_CHANGED", "new" },
                                               { "LPO_TEST_GONE", NULL },
                                               { "LPO_TEST_ADDED", "a=b" } };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char **env;

    (void)state;
    setenv("LPO_TEST_CHANGED", "old", 1);
    setenv("LPO_TEST_CHANGED_TOO", "kept", 1);
    setenv("LPO_TEST_GONE", "old", 1);
    unsetenv("LPO_TEST_ADDED");
    env = lpo_run_environment(a, vars, 3);
    assert_string_equal(value_in(env, "LPO_TEST_CHANGED"), "new");
    assert_string_equal(value_in(env, "LPO_TEST_CHANGED_TOO"), "kept");
    assert_null(value_in(env, "LPO_TEST_GONE"));
    assert_string_equal(value_in(env, "LPO_TEST_ADDED"), "a=b");
    assert_string_equal(getenv("LPO_TEST_GONE"), "old"); /* ours is not changed */
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, command_can_be_pasted);
    UNIT_TEST(&u, a_wrapped_command_is_rendered_again);
    UNIT_TEST(&u, a_step_is_removed);
    UNIT_TEST(&u, an_environment_is_ours_and_theirs);
    return unit_run(&u);
}
