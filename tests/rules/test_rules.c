/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as data: all files of ours can be read, and files of users are refused by row. */
#include "../unit.h"

#include <pthread.h>

#include "hydra/compose.h"
#include "rules/rules.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/map.h"

static int count(void *ctx, const char *value, const char *word, size_t len, struct lpo_err *err)
{
    (void)value;
    (void)err;
    assert_true(len > 0 && word[0] != ' ');
    ++*(size_t *)ctx;
    return 0;
}

static const struct table_case {
    const char *name, *file, *table;
    size_t words;
} tables[] = {
    { "operators that have a rule", "operators", "operators", 346 },
    { "a table that is not there", "operators", "functions", 0 },
    { "parts of metrics", "metrics", "combine", 15 },
    { "options of launchers without a value", "tools", "launcher_flags", 81 },
    { "words of secret names", "secrets", "names", 104 },
    { "keys that a plain decoder does not have", "families", "unknown_keys", 70 },
};

static void check_table(void **state)
{
    const struct table_case *c = *state;
    struct lpo_err err = { 0 };
    size_t n = 0;

    assert_int_equal(lpo_rules_each(lpo_rules(c->file), c->table, count, &n, &err), 0);
    assert_int_equal(n, c->words);
}

static const struct file_case {
    const char *name, *text, *why; /* part of the error; NULL: it is read */
} files[] = {
    { "a table", "functions:\n- GEMM: a b\n", NULL },
    { "nothing in it", "functions: []\n", NULL },
    { "no table", "- GEMM: a\n", "has no tables" },
    { "an empty file", "", "has no tables" },
    { "a name that is none", "fonctions:\n- GEMM: a\n", "fonctions" },
    { "a number", "1:\n- GEMM: a\n", "not a name" },
    { "no YAML", "functions: [\n", "rules '" },
    { "a row of two", "functions:\n- GEMM: a\n  norm: b\n", ":2: table functions" },
    { "a word alone", "functions:\n- GEMM\n", ":2: table functions" },
    { "a list of words", "functions:\n- GEMM: [a, b]\n", ":2: table functions" },
};

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_node *file = NULL;
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];
    bool said = false;
    size_t n = 0;
    int rc;

    unit_file(c->text, strlen(c->text), path);
    rc = lpo_rules_read(a, path, &file, &err);
    if (rc == 0)
        rc = lpo_rules_each(file, "functions", count, &n, &err);
    unlink(path);
    assert_int_equal(rc < 0, c->why != NULL);
    for (unsigned i = 0; i < err.lines; i++)
        said |= c->why && strstr(err.text + err.at[i], c->why);
    assert_int_equal(said, c->why != NULL);
}

static void a_table_as_words(void **state)
{
    const struct lpo_map *once = lpo_rules_words("steps", "once", "prepare");

    (void)state;
    assert_ptr_equal(once, lpo_rules_words("steps", "once", "prepare"));
    assert_string_equal(lpo_rules_value(once, "warmup", 6), "prepare");
    assert_null(lpo_rules_value(once, "warmups", 7));
    assert_null(lpo_rules_value(once, "cuModuleLoad", 12)); /* of another value */
}

static void *ask(void *ctx)
{
    (void)ctx;
    return (void *)lpo_rules("kernels");
}

static void asked_by_many_threads(void **state)
{
    pthread_t threads[8];
    void *first = NULL, *one;

    (void)state;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &one);
        first = first ? first : one;
        assert_ptr_equal(one, first);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, asked_by_many_threads);
    UNIT_ROWS(&u, tables, check_table);
    UNIT_ROWS(&u, files, check_file);
    UNIT_TEST(&u, a_table_as_words);
    return unit_run(&u);
}
