/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <math.h>
#include <unistd.h>

#include "toy/metrics.h"
#include "toy/options.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json.h"
#include "util/str.h"

static int read_words(struct lpo_arena *a, const char *words, const char *contract,
                      struct toy_options *o, struct lpo_err *err)
{
    char *argv[16], *text = lpo_arena_strdup(a, words), *save = NULL;
    int argc = 0;

    for (char *w = strtok_r(text, " ", &save); w && argc < 16; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    return toy_options_read(a, argc, argv, contract, o, err);
}

static const struct refused {
    const char *name, *words, *says;
    int code;
} refused[] = {
    { "a misspelt flag", "--layer 2", "did you mean --layers?", LPO_E_USAGE },
    { "no flag at all", "2", "--help lists the options", LPO_E_USAGE },
    { "a flag without its value", "--layers", "needs a value", LPO_E_USAGE },
    { "not a number", "--layers two", "'two' is not a number", LPO_E_USAGE },
    { "a number with a tail", "--layers 2x", "'2x' is not a number", LPO_E_USAGE },
    { "beyond the range", "--layers 0", "must be from 1 to 1024", LPO_E_RANGE },
    { "more than is kept", "--samples 100000 --epochs 100000", "more than 1000000", LPO_E_RANGE },
    { "not whole", "--layers 1.5", "whole number", LPO_E_RANGE },
    { "not a number in disguise", "--temperature nan", "must be from", LPO_E_RANGE },
    { "a negative seed", "--seed -1", "is not a seed", LPO_E_USAGE },
    { "a switch with a value", "--graph=yes", "takes no value", LPO_E_USAGE },
    { "a shape that is no model", "--heads 7", "no even head size", LPO_E_RANGE },
    { "no such contract", "--settings /nonexistent/x.json", "x.json", LPO_E_IO },
};

static void words_are_refused(void **state)
{
    const struct refused *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct toy_options o;
    struct lpo_err err = { 0 };
    bool said = false;

    assert_int_equal(read_words(a, c->words, NULL, &o, &err), c->code);
    for (unsigned i = 0; i < err.lines; i++)
        said |= strstr(err.text + err.at[i], c->says) != NULL;
    if (!said)
        fail_msg("'%s' says '%s', not '%s'", c->words, lpo_err_cause(&err), c->says);
}

static void flags_win_over_the_contract(void **state)
{
    static const char contract[] =
        "{\"schema\": 1, \"model\": {\"name\": \"toy\", \"layers\": 2, \"heads\": 4, \"path\": "
        "null,"
        " \"seed\": 18446744073709551615}, \"infer\": {\"max_new_tokens\": 50, \"temperature\": "
        "0.5},"
        " \"workload\": {\"kind\": \"toy\", \"toy\": {\"graph\": true, \"threads\": null,"
        " \"two_streams\": \"auto\"}},"
        " \"run\": {\"repeats\": 9, \"warmup\": 0}, \"effective\": {\"max_new_tokens\": 5}}";
    char path[] = "/tmp/lpo-toy-contract-XXXXXX";
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct toy_options o;
    struct lpo_err err = { 0 };

    (void)state;
    close(mkstemp(path));
    assert_int_equal(lpo_file_write(path, contract, strlen(contract), &err), 0);
    assert_int_equal(read_words(a, "--layers=3 --prompt-tokens 10", path, &o, &err), 0);
    unlink(path);
    assert_int_equal(o.model.layers, 3);
    assert_int_equal(o.model.heads, 4);
    assert_int_equal(o.model.kv_heads, 4); /* the default */
    assert_true(o.model.seed == UINT64_MAX);
    assert_int_equal(o.model.context, 15);
    assert_int_equal(o.max_new_tokens, 5);
    assert_int_equal(o.repeats, 9);
    assert_int_equal(o.warmup, 0);
    assert_int_equal(o.threads, 1); /* null leaves the default */
    assert_true(o.graph);
    assert_false(o.two_streams);
    assert_true(o.sampling.temperature == 0.5);
    assert_null(o.metrics);
}

static const struct bad_contract {
    const char *name, *text, *says;
} bad_contracts[] = {
    { "text for a number", "{\"model\": {\"layers\": \"2\"}}", "model.layers" },
    { "a number for a switch", "{\"workload\": {\"toy\": {\"graph\": 1}}}", "workload.toy.graph" },
    { "out of range", "{\"run\": {\"repeats\": 0}}", "run.repeats is 0" },
    { "not JSON", "{", "line 1" },
};

static void contract_is_refused(void **state)
{
    const struct bad_contract *c = *state;
    char path[] = "/tmp/lpo-toy-contract-XXXXXX";
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct toy_options o;
    struct lpo_err err = { 0 };

    close(mkstemp(path));
    assert_int_equal(lpo_file_write(path, c->text, strlen(c->text), &err), 0);
    assert_true(read_words(a, "", path, &o, &err) < 0);
    unlink(path);
    assert_non_null(strstr(lpo_err_cause(&err), c->says));
}

static const struct stats_case {
    const char *name;
    double values[5];
    size_t count;
    struct toy_stats want;
} stats[] = {
    { "five", { 5, 1, 4, 2, 3 }, 5, { 5, 3, 1.58113883, 1, 5, 3, 4.6, 4.96 } },
    { "two", { 10, 20 }, 2, { 2, 15, 7.07106781, 10, 20, 15, 19, 19.9 } },
    { "one has no spread", { 7 }, 1, { 1, 7, 0, 7, 7, 7, 7, 7 } },
};

static void stats_are_right(void **state)
{
    const struct stats_case *c = *state;
    double values[5];
    struct toy_stats s;

    memcpy(values, c->values, sizeof values);
    s = toy_stats_of(values, c->count);
    assert_int_equal(s.count, c->want.count);
    for (size_t i = 0; i < 7; i++)
        assert_true(fabs((&s.mean)[i] - (&c->want.mean)[i]) < 1e-7);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, refused, words_are_refused);
    UNIT_ROWS(&u, bad_contracts, contract_is_refused);
    UNIT_ROWS(&u, stats, stats_are_right);
    UNIT_TEST(&u, flags_win_over_the_contract);
    return unit_run(&u);
}
