/* SPDX-License-Identifier: Apache-2.0 */
/* The value type: keys as Python compares them, paths, equality, JSON; and maps with so many keys
 * that they are looked up by hash. */
#include "hydra/compose.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json_write.h"
#include "util/str.h"

static struct lpo_node *read_yaml(struct lpo_arena *a, const char *text)
{
    struct lpo_err err = { 0 };
    struct lpo_node *root = NULL;

    if (lpo_yaml_parse(a, text, strlen(text), "case", &root, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return root;
}

static const struct path_case {
    const char *name, *path, *want; /* want: str() of the value; NULL: not there */
} paths[] = {
    { "a key", "a.b", "1" },
    { "the root", "", "{'a': {'b': 1, 'l': ['x', {'y': 2}]}, 't': 'text'}" },
    { "an item", "a.l.0", "x" },
    { "below an item", "a.l.1.y", "2" },
    { "a key that is not there", "a.c", NULL },
    { "an item that is not there", "a.l.2", NULL },
    { "not an index", "a.l.x", NULL },
    { "below a text", "t.u", NULL },
};

static void check_path(void **state)
{
    const struct path_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *root = read_yaml(a, "{a: {b: 1, l: [x, {y: 2}]}, t: text}\n");
    struct lpo_node *n = lpo_node_at(root, c->path);
    LPO_STR shown = { 0 };

    if (!c->want) {
        assert_null(n);
        return;
    }
    assert_non_null(n);
    lpo_yaml_py_add_str(&shown, n);
    assert_string_equal(lpo_str_text(&shown), c->want);
}

static const struct equal_case {
    const char *name, *x, *y;
    bool equal, alike; /* deep and typed; as Python's == */
} equals[] = {
    { "an integer and a float", "1", "1.0", false, true },
    { "an integer and a boolean", "1", "true", false, true },
    { "a number and its text", "1", "'1'", false, false },
    { "null and false", "null", "false", false, false },
    { "maps in another order", "{a: 1, b: 2}", "{b: 2, a: 1}", false, true },
    { "maps that differ", "{a: 1}", "{a: 2}", false, false },
    { "lists", "[1, [2, x]]", "[1, [2, x]]", true, true },
    { "lists in another order", "[1, 2]", "[2, 1]", false, false },
    { "a list and its head", "[1, 2]", "[1]", false, false },
    { "integers of any size", "123456789012345678901", "123456789012345678901", true, true },
};

static void check_equal(void **state)
{
    const struct equal_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *x = read_yaml(a, c->x), *y = read_yaml(a, c->y);

    assert_int_equal(lpo_node_equal(x, y), c->equal);
    assert_int_equal(lpo_node_alike(x, y), c->alike);
    assert_int_equal(lpo_node_alike(y, x), c->alike);
    assert_true(lpo_node_equal(x, lpo_node_clone(a, x)));
}

static const struct json_case {
    const char *name, *yaml, *want;
} jsons[] = {
    { "floats keep a point", "[1, 1.0, 1e300]", "[1, 1.0, 1e+300]" },
    { "what JSON cannot say", "[.nan, .inf, -.inf]",
      "[{\"$float\": \"nan\"}, {\"$float\": \"inf\"}, {\"$float\": \"-inf\"}]" },
    { "bytes", "!!binary aGk=", "{\"$bytes\": \"aGk=\"}" },
    { "keys that are not text", "{1: a, b: c}", "{\"$map\": [[1, \"a\"], [\"b\", \"c\"]]}" },
    { "integers of any size", "123456789012345678901", "123456789012345678901" },
    { "text and null", "{a: 'x\"y', b: null, c: false}",
      "{\"a\": \"x\\\"y\", \"b\": null, \"c\": false}" },
};

static void check_json(void **state)
{
    const struct json_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 0);

    lpo_node_write_json(&w, NULL, read_yaml(a, c->yaml));
    while (out.len && out.at[out.len - 1] == '\n')
        out.at[--out.len] = '\0';
    assert_string_equal(lpo_str_text(&out), c->want);
}

/* 1, 1.0 and true are one key; the first spelling stays, the last value wins. */
static void keys_are_pythons(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *map = lpo_node_map(a);

    lpo_node_set_key(a, map, lpo_node_int(a, 1), lpo_node_string(a, "int"));
    lpo_node_set_key(a, map, lpo_node_string(a, "1"), lpo_node_string(a, "text"));
    lpo_node_set_key(a, map, lpo_node_float(a, 1.0), lpo_node_string(a, "float"));
    lpo_node_set_key(a, map, lpo_node_bool(a, true), lpo_node_string(a, "bool"));
    assert_int_equal(map->npairs, 2);
    assert_int_equal(map->pairs[0].key->kind, LPO_NODE_INT);
    assert_string_equal(map->pairs[0].value->text, "bool");
    assert_string_equal(lpo_node_get(map, "1")->text, "text");
    assert_null(lpo_node_get(map, "2"));
}

/* Past a few dozen keys a map has a hash index; adding, replacing and removing keep it right. */
static void a_large_map_behaves_as_a_small_one(void **state)
{
    enum { MANY = 2000 };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *map = lpo_node_map(a);

    for (int i = 0; i < MANY; i++)
        lpo_node_set(a, map, lpo_arena_printf(a, "key%d", i), lpo_node_int(a, i));
    for (int i = 0; i < MANY; i += 3)
        assert_true(lpo_node_remove(map, lpo_node_string(a, lpo_arena_printf(a, "key%d", i))));
    for (int i = 1; i < MANY; i += 3)
        lpo_node_set(a, map, lpo_arena_printf(a, "key%d", i), lpo_node_int(a, -i));
    for (int i = 0; i < MANY; i++) {
        const struct lpo_node *n = lpo_node_get(map, lpo_arena_printf(a, "key%d", i));

        if (i % 3 == 0)
            assert_null(n);
        else
            assert_int_equal(n->integer, i % 3 == 1 ? -i : i);
    }
    assert_int_equal(map->npairs, MANY - (MANY + 2) / 3);
    assert_false(lpo_node_remove(map, lpo_node_string(a, "key0")));
    for (size_t i = 1; i < map->npairs; i++) /* in the order of adding */
        assert_true(llabs(map->pairs[i - 1].value->integer) < llabs(map->pairs[i].value->integer));
}

static void values_by_path(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *root = read_yaml(a, "{t: text, i: 7, r: 1.5, n: null, m: {}}\n");

    assert_string_equal(lpo_node_text_at(root, "t"), "text");
    assert_null(lpo_node_text_at(root, "i"));
    assert_null(lpo_node_text_at(root, "none"));
    assert_int_equal(lpo_node_int_at(root, "i"), 7);
    assert_int_equal(lpo_node_int_at(root, "r"), 0);
    assert_true(lpo_node_real_at(root, "r") == 1.5 && lpo_node_real_at(root, "i") == 7);
    assert_true(lpo_node_real_at(root, "n") == 0 && lpo_node_real_at(NULL, "r") == 0);
    assert_true(lpo_node_is_container(lpo_node_at(root, "m")));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, paths, check_path);
    UNIT_ROWS(&u, equals, check_equal);
    UNIT_ROWS(&u, jsons, check_json);
    UNIT_TEST(&u, keys_are_pythons);
    UNIT_TEST(&u, a_large_map_behaves_as_a_small_one);
    UNIT_TEST(&u, values_by_path);
    return unit_run(&u);
}
