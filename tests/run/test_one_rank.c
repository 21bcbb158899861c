/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <string.h>

#include "run/one_rank.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

/* `sh` stands for the program, since it must be one. */
static const struct find_case {
    const char *name, *words;
    enum lpo_one_rank_way way;
    size_t at; /* of WORDS */
    int code;
} cases[] = {
    { "no launcher", "python train.py", LPO_ONE_RANK_NONE, 0, 0 },
    { "a module that is none", "python3 -m pip install", LPO_ONE_RANK_NONE, 0, 0 },
    { "torchrun", "torchrun --nproc-per-node 8 train.py", LPO_ONE_RANK_PYTHON, 0, 0 },
    { "torchrun by its path", "/opt/bin/torchrun train.py", LPO_ONE_RANK_PYTHON, 0, 0 },
    { "torchrun as a module", "python3 -u -m torch.distributed.run train.py", LPO_ONE_RANK_PYTHON,
      0, 0 },
    { "accelerate", "accelerate launch train.py", LPO_ONE_RANK_PYTHON, 0, 0 },
    { "deepspeed", "deepspeed --num_gpus 8 train.py", LPO_ONE_RANK_PYTHON, 0, 0 },
    { "mpirun", "mpirun -n 8 sh a", LPO_ONE_RANK_WORDS, 3, 0 },
    { "mpirun, options alone", "mpirun --allow-run-as-root --oversubscribe -np 2 sh",
      LPO_ONE_RANK_WORDS, 5, 0 },
    { "mpirun, two values", "mpirun --mca btl self -x A sh b", LPO_ONE_RANK_WORDS, 6, 0 },
    { "mpirun, a value that is a program", "mpirun --map-by sh -n 2 sh", LPO_ONE_RANK_WORDS, 5, 0 },
    { "srun, short and joined", "srun -n8 -N 2 -l sh c", LPO_ONE_RANK_WORDS, 5, 0 },
    { "srun, a name that is a program", "srun -J test --gres=gpu:8 sh", LPO_ONE_RANK_WORDS, 4, 0 },
    { "flux has a command first", "flux run -n 4 sh", LPO_ONE_RANK_WORDS, 4, 0 },
    { "two dashes", "mpirun -n 2 -- sh", LPO_ONE_RANK_WORDS, 4, 0 },
    { "no program", "mpirun -n 2", LPO_ONE_RANK_WORDS, 3, LPO_E_CONFIG },
    { "options that are not understood", "srun --unheard-of 8 no-such-program-here",
      LPO_ONE_RANK_WORDS, 3, LPO_E_CONFIG },
};

static struct lpo_words split(struct lpo_arena *a, const char *text)
{
    struct lpo_words words = { 0 };

    for (char *rest = NULL, *w = strtok_r(lpo_arena_strdup(a, text), " ", &rest); w;
         w = strtok_r(NULL, " ", &rest))
        lpo_run_words_add(a, &words, w);
    return words;
}

static void check_find(void **state)
{
    const struct find_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_words words = split(a, c->words);
    struct lpo_one_rank found;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_run_one_rank_find(words.at, words.len, &found, &err), c->code);
    assert_int_equal(found.way, c->way);
    assert_int_equal(found.at, c->at);
}

static void the_tool_stands_before_the_program(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_words program = split(a, "mpirun -n 2 sh x"), tool = split(a, "ncu --set full");
    struct lpo_one_rank job = { LPO_ONE_RANK_WORDS, "mpirun", 3 };
    struct lpo_step step = { .argv = program.at, .argc = program.len };

    (void)state;
    for (int i = 0; i < 2; i++) { /* the second time replaces the first */
        lpo_run_one_rank_wrap(a, &job, 5, &tool, &program, &step);
        assert_int_equal(step.argc, 12);
        assert_string_equal(step.argv[4], "__rank");
        assert_string_equal(step.argv[5], "5");
        assert_string_equal(step.argv[6], "3");
        assert_string_equal(step.argv[7], "ncu");
        assert_string_equal(step.argv[10], "sh");
        assert_null(step.argv[12]);
    }
}

static void python_gets_a_variable(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_words program = split(a, "torchrun t.py"), tool = split(a, "ncu --set full");
    struct lpo_one_rank job = { LPO_ONE_RANK_PYTHON, "torchrun", 0 };
    struct lpo_step step = { .argv = program.at, .argc = program.len };

    (void)state;
    lpo_run_one_rank_wrap(a, &job, 5, &tool, &program, &step);
    assert_int_equal(step.argc, 2);
    assert_int_equal(step.nenv, 1);
    assert_string_equal(step.env[0].name, "LPO_RANK_TOOL");
    assert_non_null(strstr(step.env[0].value, "\"rank\": 5"));
    assert_non_null(strstr(step.env[0].value, "[\"ncu\", \"--set\", \"full\"]"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_find);
    UNIT_TEST(&u, the_tool_stands_before_the_program);
    UNIT_TEST(&u, python_gets_a_variable);
    return unit_run(&u);
}
