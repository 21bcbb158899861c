/* SPDX-License-Identifier: Apache-2.0 */
/* Older key names: moved in a config, renamed in overrides, one warning each. */
#include "hydra/compose.h"
#include "hydra/node.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct lpo_spelling table[] = {
    { "stage.old", "stage.new" },
    { "top.deep.key", "stage.key" },
    { "head", "stage" },
    { "first", "second" },
    { "second", "third" },
    { "gone", "" },
    { "either", "was", .not_map = true },
    { NULL, NULL },
};

static const struct path_case {
    const char *name, *path, *want;
} paths[] = {
    { "a key that is not old", "stage.key", "stage.key" },
    { "an old key", "stage.old", "stage.new" },
    { "what is below an old key", "stage.old.x", "stage.new.x" },
    { "a longer name is another key", "stage.older", "stage.older" },
    { "an old head", "head.key", "stage.key" },
    { "old twice", "head.old", "stage.new" },
    { "a chain", "first.x", "third.x" },
};

static void check_path(void **state)
{
    const struct path_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    assert_string_equal(lpo_spelling_path(a, table, c->path), c->want);
}

static const struct move_case {
    const char *name, *yaml, *want;
    size_t warnings;
} moves[] = {
    { "nothing old", "stage: {new: 1}\n", "stage:\n  new: 1\n", 0 },
    { "one key", "stage: {old: 1}\n", "stage:\n  new: 1\n", 1 },
    { "a map that is made", "top: {deep: {key: 1}, rest: 2}\n",
      "top:\n  rest: 2\nstage:\n  key: 1\n", 1 },
    { "a reference to an old key", "a: ${stage.old}\nb: ['${head.key} and ${stage.key}']\n",
      "a: ${stage.new}\nb:\n- ${stage.key} and ${stage.key}\n", 0 },
    { "what refers to itself then goes", "stage: {new: '${stage.old}', key: 1}\n",
      "stage:\n  key: 1\n", 0 },
    { "a key that is gone", "gone: 1\nkey: 2\n", "key: 2\n", 1 },
    { "old keys in a map that moves", "head: {old: 1, rest: {x: 2}}\n",
      "stage:\n  new: 1\n  rest:\n    x: 2\n", 1 },
    { "only what is not a map", "either: 1\n", "was: 1\n", 1 },
    { "a map of that name stays", "either: {a: 1}\n", "either:\n  a: 1\n", 0 },
    { "a head over what is there", "stage: {a: 1, b: 2}\nhead: {b: 3, old: 4}\n",
      "stage:\n  a: 1\n  b: 3\n  new: 4\n", 1 },
};

static void check_move(void **state)
{
    const struct move_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *root, *warnings = lpo_node_list(a);
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };

    assert_int_equal(lpo_yaml_parse(a, c->yaml, strlen(c->yaml), "case", &root, &err), 0);
    lpo_spelling_move(a, table, root, warnings);
    lpo_yaml_add(&out, root);
    assert_string_equal(out.at, c->want);
    assert_int_equal(warnings->count, c->warnings);
}

static void overrides_are_renamed(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *const texts[] = { "head.old=1", "stage.key=2", "head.old=3" };
    struct lpo_node *warnings = lpo_node_list(a);
    struct lpo_override *overrides;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_override_parse_all(a, texts, 3, &overrides, &err), 0);
    lpo_spelling_rename(a, table, overrides, 3, warnings);
    assert_string_equal(overrides[0].key, "stage.new");
    assert_string_equal(overrides[1].key, "stage.key");
    assert_int_equal(warnings->count, 1); /* said once, however often it is used */
    assert_non_null(strstr(warnings->items[0]->text, "'head.old'"));
    assert_non_null(strstr(warnings->items[0]->text, "'stage.new'"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, paths, check_path);
    UNIT_ROWS(&u, moves, check_move);
    UNIT_TEST(&u, overrides_are_renamed);
    return unit_run(&u);
}
