#include "../unit.h"

#include "run/step.h"
#include "util/arena.h"
#include "util/str.h"

static const struct secret_case {
    const char *name;
    int secret;
} secret_cases[] = {
    { "HF_TOKEN", 1 }, { "AWS_SECRET_ACCESS_KEY", 1 }, { "DbPassword", 1 }, { "my_api_key", 1 },
    { "PATH", 0 },     { "CUDA_VISIBLE_DEVICES", 0 },
};

static void check_secret(void **state)
{
    const struct secret_case *c = *state;

    assert_int_equal(lpo_run_env_is_secret(c->name), c->secret);
}

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

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, secret_cases, check_secret);
    UNIT_TEST(&u, command_can_be_pasted);
    return unit_run(&u);
}
