/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the program under study, from config alone. */
#include "../unit.h"

#include "hydra/compose.h"
#include "run/step.h"
#include "run/workload/workload.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct plan_case {
    const char *name, *config;
    bool profiled, light, predictions;
    int64_t most_tokens;
    int code;
    const char *want[6];   /* in the printed command, in this order; of an error: in its text */
    const char *not_there; /* and this is not */
} plan_cases[] = {
    { "a command is passed word by word", "workload: {kind: command, argv: [/bin/echo, 'a b', '']}",
      .want = { "/bin/echo 'a b' ''" } },
    { "no kind is a command", "workload: {argv: [/bin/echo]}", .want = { "/bin/echo" } },
    { "numbers are words, too", "workload: {kind: command, argv: [/bin/echo, 3, 0.5, true]}",
      .want = { "/bin/echo 3 0.5 true" } },
    { "an empty command is a wrong config", "workload: {kind: command, argv: []}",
      .code = LPO_E_CONFIG, .want = { "workload.argv is empty" } },
    { "a program that is not here is missing",
      "workload: {kind: command, argv: [/no/such/program]}", .code = LPO_E_MISSING,
      .want = { "/no/such/program" } },
    { "an unknown kind names the known ones", "workload: {kind: other}", .code = LPO_E_CONFIG,
      .want = { "toy, hf, command or server" } },
    { "variables, and one that is removed",
      "workload: {kind: command, argv: [/bin/echo], env: {A: 1, B: null}}",
      .want = { "env A=1 -u B", "/bin/echo" } },
    { "its folder is below where lpo was called",
      "workload: {kind: command, argv: [/bin/echo], cwd: sub}", .want = { "cd /call/sub" } },
    { "an absolute folder stays", "workload: {kind: command, argv: [/bin/echo], cwd: /else}",
      .want = { "cd /else" } },
    { "toy: settings become flags",
      "run: {device: cpu, repeats: 2, warmup: 0}\nmodel: {layers: 3, seed: 7}\n"
      "infer: {max_new_tokens: 16, temperature: 0.5}\nworkload: {kind: toy, program: /bin/toy}",
      .want = { "/bin/toy --layers 3", "--seed 7", "--max-new-tokens 16 --warmup 0 --repeats 2",
                "--temperature 0.5", "--metrics /out/metrics.json" },
      .not_there = "--predictions" },
    { "toy: predictions where they are asked for",
      "run: {device: cpu}\nworkload: {kind: toy, program: /bin/toy}", .predictions = true,
      .want = { "--predictions /out/predictions.jsonl" } },
    { "toy: no token count in the config, none on the command line",
      "run: {device: cpu}\nworkload: {kind: toy, program: /bin/toy}", .want = { "/bin/toy" },
      .not_there = "--max-new-tokens" },
    { "a profiler has fewer tokens",
      "run: {device: cpu, representative_max_new_tokens: 4}\ninfer: {max_new_tokens: 16}\n"
      "workload: {kind: toy, program: /bin/toy}",
      .profiled = true, .want = { "--max-new-tokens 4" } },
    { "and a stage may ask for fewer still",
      "run: {device: cpu, representative_max_new_tokens: 4}\ninfer: {max_new_tokens: 16}\n"
      "workload: {kind: toy, program: /bin/toy}",
      .profiled = true, .most_tokens = 2, .want = { "--max-new-tokens 2" } },
    { "but not for more",
      "run: {device: cpu}\ninfer: {max_new_tokens: 16}\nworkload: {kind: toy, program: /bin/toy}",
      .most_tokens = 99, .want = { "--max-new-tokens 16" } },
    { "light mode repeats once",
      "run: {device: cpu, repeats: 5}\nworkload: {kind: toy, program: /bin/toy}", .light = true,
      .want = { "--repeats 1" } },
    { "toy: the device's number",
      "run: {device: 'cuda:3'}\nworkload: {kind: toy, program: /bin/toy}",
      .want = { "--device 3" } },
    { "hf: an interpreter that is not here is missing",
      "workload: {kind: hf, program: /x.py, python: /no/python}", .code = LPO_E_MISSING,
      .want = { "workload.python" } },
    { "hf: the settings are in a file",
      "workload: {kind: hf, program: /x.py, python: /bin/true, hf: {extra_args: [--y]}}",
      .want = { "/bin/true /x.py --settings /out/settings.json --metrics /out/metrics.json --y" } },
};

static struct lpo_node *parse(struct lpo_arena *a, const char *text)
{
    struct lpo_err err = { 0 };
    struct lpo_node *node = NULL;

    if (lpo_yaml_parse(a, text, strlen(text), "test", &node, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return node;
}

static void check_plan(void **state)
{
    const struct plan_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_workload_request request = { .out_dir = "/out",
                                            .call_dir = "/call",
                                            .profiled = c->profiled,
                                            .light = c->light,
                                            .predictions = c->predictions,
                                            .most_tokens = c->most_tokens };
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = lpo_run_steps_add(&steps, "test");
    struct lpo_err err = { 0 };
    LPO_STR text = { 0 };
    const char *at;

    assert_int_equal(lpo_workload_plan(a, parse(a, c->config), &request, step, &err), c->code);
    if (c->code)
        lpo_str_add(&text, lpo_err_cause(&err));
    else
        lpo_run_step_print(step, &text);
    at = lpo_str_text(&text);
    for (size_t i = 0; i < 6 && c->want[i]; i++) {
        const char *hit = strstr(at, c->want[i]);

        if (!hit)
            fail_msg("'%s' is not in (or not in order):\n%s", c->want[i], lpo_str_text(&text));
        at = hit + strlen(c->want[i]);
    }
    if (c->not_there && strstr(lpo_str_text(&text), c->not_there))
        fail_msg("'%s' should not be in:\n%s", c->not_there, lpo_str_text(&text));
}

/* What is wrong before anything is made. */
static const struct check_case {
    const char *name, *config, *says; /* NULL: fine */
} check_cases[] = {
    { "a command", "workload: {kind: command, argv: [/no/such]}", NULL },
    { "no command", "workload: {kind: command}", "workload.argv is empty" },
    { "toy on the CPU", "run: {device: cpu}\nworkload: {kind: toy}", NULL },
    { "toy on a GPU", "run: {device: 'cuda:12'}\nworkload: {kind: toy}", NULL },
    { "toy elsewhere", "run: {device: mps}\nworkload: {kind: toy}", "run.device is 'mps'" },
    { "toy on no number", "run: {device: 'cuda:x'}\nworkload: {kind: toy}", "run.device" },
    { "hf: no such model", "model: {path: /no/such/model}\nworkload: {kind: hf}",
      "model.path '/no/such/model'" },
    { "hf: a folder without config.json", "model: {path: /proc/self}\nworkload: {kind: hf}",
      "has no config.json" },
    { "hf: a list that cannot be read",
      "dataset: {subset_filelist: /no/such/list}\nworkload: {kind: hf}",
      "cannot read the file list" },
    { "hf: a list that names nothing",
      "dataset: {subset_filelist: /dev/null}\nworkload: {kind: hf}", "lists no sample" },
    { "hf: a root that is no folder", "dataset: {root: /dev/null}\nworkload: {kind: hf}",
      "dataset.root" },
    { "hf: a program of the user's own judges for itself",
      "model: {path: /no/such/model}\nworkload: {kind: hf, program: /bin/true}", NULL },
};

static void check_check(void **state)
{
    const struct check_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    int rc = lpo_workload_check(a, parse(a, c->config), "/", &err);
    LPO_STR all = { 0 };

    assert_int_equal(rc, c->says ? LPO_E_CONFIG : 0);
    for (unsigned i = 0; i < err.lines; i++)
        lpo_str_addf(&all, "%s\n", err.text + err.at[i]);
    if (c->says && !strstr(lpo_str_text(&all), c->says))
        fail_msg("'%s' is not in: %s", c->says, lpo_str_text(&all));
}

/* "/" is where lpo was called. */
static const struct python_case {
    const char *name, *config;
    bool want;
} python_cases[] = {
    { "the toy model", "workload: {kind: toy}", false },
    { "a Hugging Face model", "workload: {kind: hf}", true },
    { "the interpreter", "workload: {kind: command, argv: [python3.11, -m, x]}", true },
    { "by its path", "workload: {kind: command, argv: [/opt/venv/bin/python, x]}", true },
    { "a file of Python for a launcher", "workload: {kind: command, argv: [true, -n, 2, a.py]}",
      true },
    { "a shell may start one", "workload: {kind: command, argv: [bash, -c, ./server]}", true },
    { "a binary", "workload: {kind: command, argv: [true, a, --b=1]}", false },
    { "a binary by its path", "workload: {kind: command, argv: [/bin/true]}", false },
    { "a script may start one", "workload: {kind: command, argv: [/usr/bin/ldd]}", true },
    { "a script for a launcher", "workload: {kind: command, argv: [true, usr/bin/ldd]}", true },
    { "a folder and a device are no scripts",
      "workload: {kind: command, argv: [true, /, /dev/null]}", false },
    { "a program that is not there", "workload: {kind: command, argv: [/no/such/program]}", false },
};

static void check_python(void **state)
{
    const struct python_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    assert_int_equal(lpo_workload_may_be_python(a, parse(a, c->config), "/"), c->want);
}

static void only_our_programs_count_tokens(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    (void)state;
    assert_true(lpo_workload_generates_tokens(parse(a, "workload: {kind: toy}")));
    assert_true(lpo_workload_generates_tokens(parse(a, "workload: {kind: hf}")));
    assert_false(lpo_workload_generates_tokens(parse(a, "workload: {kind: command}")));
    assert_false(lpo_workload_generates_tokens(parse(a, "run: {}")));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, plan_cases, check_plan);
    UNIT_ROWS(&u, check_cases, check_check);
    UNIT_ROWS(&u, python_cases, check_python);
    UNIT_TEST(&u, only_our_programs_count_tokens);
    return unit_run(&u);
}
