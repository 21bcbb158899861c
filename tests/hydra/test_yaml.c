/* SPDX-License-Identifier: Apache-2.0 */
/* YAML in and out: words and what they mean, quotes, anchors, and texts that are refused. The
 * expected texts are what PyYAML under OmegaConf reads and prints. */
#include "hydra/compose.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const struct yaml_case {
    const char *name, *text, *want; /* printed again; or, after "!", part of the error */
} cases[] = {
    { "booleans of YAML 1.1", "[yes, No, ON, true, y]\n",
      "- true\n- false\n- true\n- true\n- 'y'\n" },
    { "octal, hex, binary, sixties", "[017, 0x1F, 0b11, 1:30, -1:30:00]\n",
      "- 15\n- 31\n- 3\n- 90\n- -5400\n" },
    { "not numbers", "[0o17, 08, 0x, +.5, .5e3, 1:75]\n",
      "- 0o17\n- '08'\n- 0x\n- '+.5'\n- '.5e3'\n- 1:75\n" },
    { "floats", "[1e3, .5, 5., 1E-7, -.inf, .NaN, 1:30.5]\n",
      "- 1000.0\n- 0.5\n- 5.0\n- 1.0e-07\n- -.inf\n- .nan\n- 90.5\n" },
    { "integers of any size", "[12345678901234567890, 0xFFFFFFFFFFFFFFFFFF]\n",
      "- 12345678901234567890\n- 4722366482869645213695\n" },
    { "dates stay text", "2001-01-01\n", "'2001-01-01'\n" },
    { "quoted text keeps its type", "['1', \"yes\", 'null', '']\n",
      "- '1'\n- 'yes'\n- 'null'\n- ''\n" },
    { "escapes", "\"a\\tb\\u00e9\\x07\"\n", "\"a\\tb\u00e9\\a\"\n" },
    { "tags", "[!!str 5, !!int '7', !!float 2, ! 12, !!binary aGk=]\n",
      "- '5'\n- 7\n- 2.0\n- 12\n- !!binary |\n  aGk=\n" },
    { "anchors are copied", "a: &x {k: 1}\nb: *x\n", "a:\n  k: 1\nb:\n  k: 1\n" },
    { "merge keys come first", "a: &x {k: 1, m: 2}\nb: {<<: *x, k: 3}\n",
      "a:\n  k: 1\n  m: 2\nb:\n  k: 3\n  m: 2\n" },
    { "the first of merged maps wins", "b: {<<: [{k: 1}, {k: 2, m: 3}]}\n",
      "b:\n  k: 1\n  m: 3\n" },
    { "keys of any kind", "{1: a, true: b, 1.5: c}\n", "1: b\n1.5: c\n" },
    { "lists under keys and in lists", "a: [[1, 2], {b: []}]\nc: {}\n",
      "a:\n- - 1\n  - 2\n- b: []\nc: {}\n" },
    { "a newline in quotes", "\"a\\nb\"\n", "'a\n\n  b'\n" },
    { "long keys", "? 'x\n\n  y'\n: 1\n", "? 'x\n\n  y'\n: 1\n" },
    { "a byte order mark",
      "\xef\xbb\xbf"
      "a: 1\n",
      "a: 1\n" },
    { "nothing is null", "# only a comment\n", "null\n" },
    { "hex is no float", "a: !!float 0x1f\n", "!does not fit its tag" },
    { "a repeated key", "a: 1\nb: 2\na: 3\n", "!t.yaml:3:1: found duplicate key a" },
    { "an unknown alias", "a: *no\n", "!t.yaml:1:4: found undefined alias no" },
    { "an anchor twice", "a: &x 1\nb: &x 2\n", "!t.yaml:2:4: found duplicate anchor x" },
    { "an unknown tag", "a: !x 1\n", "!t.yaml:1:4: could not determine a constructor" },
    { "two documents", "a: 1\n---\nb: 2\n", "!t.yaml:2:1: expected a single document" },
    { "a list as key", "? [a]\n: 1\n", "!t.yaml:1:3: found unhashable key" },
    { "sets are no config values", "a: {b: !!set {x}}\n", "!Value 'set' is not a supported" },
    { "a bare interpolation in braces", "{a: ${b}}\n", "!needs quotes" },
    { "a tab between words", "a:\t1\n", "!t.yaml:1:3: a tab is not allowed here" },
    { "a tab in quotes", "a: 'x\ty'\n", "a: \"x\\ty\"\n" },
    { "not UTF-8", "a: 1\nb: \xff\n", "!t.yaml:2: byte 8 is not UTF-8" },
    { "a control character", "a: \x01\n", "!control characters are not allowed" },
    { "a mapping that merges itself", "a: &x {<<: *x}\n", "!leads back to its own mapping" },
    { "a list that holds itself", "a: &x [*x]\n", "!too many values, or to themselves" },
};

static void check_case(void **state)
{
    const struct yaml_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_node *root, *back;
    LPO_STR out = { 0 };
    int rc = lpo_yaml_parse(a, c->text, strlen(c->text), "t.yaml", &root, &err);

    if (*c->want == '!') {
        assert_true(rc < 0);
        if (!strstr(lpo_err_cause(&err), c->want + 1))
            assert_string_equal(lpo_err_cause(&err), c->want + 1);
        return;
    }
    assert_int_equal(rc, 0);
    lpo_yaml_add(&out, root);
    assert_string_equal(out.at, c->want);
    assert_int_equal(lpo_yaml_parse(a, out.at, out.len, "again", &back, &err), 0);
    assert_true(lpo_node_equal(root, back));
}

/* Inputs made to cost much: refused or read quickly, never a crash. */

static void a_bomb_of_aliases(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_node *root;
    LPO_STR text = { 0 };

    lpo_str_add(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        lpo_str_addf(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++)
            lpo_str_addf(&text, "%s*a%d", k ? ", " : "", i - 1);
        lpo_str_add(&text, "]\n");
    }
    assert_int_equal(lpo_yaml_parse(a, text.at, text.len, "bomb", &root, &err), LPO_E_LIMIT);
}

static void a_deep_nest(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_node *root;
    LPO_STR text = { 0 };

    for (int i = 0; i < 100000; i++)
        lpo_str_addc(&text, '[');
    assert_true(lpo_yaml_parse(a, text.at, text.len, "deep", &root, &err) < 0);
    assert_non_null(strstr(lpo_err_cause(&err), "nested too deeply"));
}

static void a_map_of_many_keys(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_node *root;
    LPO_STR text = { 0 };

    for (int i = 0; i < 200000; i++)
        lpo_str_addf(&text, "key_number_%d: %d\n", i, i);
    assert_int_equal(lpo_yaml_parse(a, text.at, text.len, "many", &root, &err), 0);
    assert_int_equal(root->npairs, 200000);
    assert_int_equal(lpo_node_int_at(root, "key_number_199999"), 199999);
    lpo_node_remove(root, root->pairs[0].key);
    assert_null(lpo_node_get(root, "key_number_0"));
    assert_non_null(lpo_node_get(root, "key_number_77"));
}

static void a_number_of_a_million_digits(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_node *root;
    LPO_STR text = { 0 };

    for (int i = 0; i < 1000000; i++)
        lpo_str_addc(&text, '7');
    assert_true(lpo_yaml_parse(a, text.at, text.len, "digits", &root, &err) < 0);
}

static void a_long_text_is_folded(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *map = lpo_node_map(a);
    LPO_STR text = { 0 }, out = { 0 };

    for (int i = 0; i < 20; i++)
        lpo_str_add(&text, i ? " words" : "words");
    lpo_node_set(a, map, "k", lpo_node_string(a, text.at));
    lpo_yaml_add(&out, map);
    assert_string_equal(out.at, "k: words words words words words words words words words words "
                                "words words words words\n"
                                "  words words words words words words\n");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_case);
    UNIT_TEST(&u, a_long_text_is_folded);
    UNIT_TEST(&u, a_bomb_of_aliases);
    UNIT_TEST(&u, a_deep_nest);
    UNIT_TEST(&u, a_map_of_many_keys);
    UNIT_TEST(&u, a_number_of_a_million_digits);
    return unit_run(&u);
}
