/* SPDX-License-Identifier: Apache-2.0 */
/* ${…}: one value resolved against a small config, and the text that Python would print of it. */
#include "hydra/compose.h"
#include "unit.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

static const char config[] = "a: 1\n"
                             "text: word\n"
                             "map: {k: v, inner: {n: 2}}\n"
                             "list: [10, 20]\n"
                             "name: k\n"
                             "chain: ${a}\n"
                             "gone: ???\n"
                             "circle: ${circle2}\n"
                             "circle2: ${circle}\n"
                             "'with space': 5\n";

static const struct interp_case {
    const char *name, *value, *want; /* repr() of the result; or, after "!", part of the error */
} cases[] = {
    { "a key keeps its type", "${a}", "1" },
    { "inside text it is text", "x${a}y", "'x1y'" },
    { "two side by side", "${a}${text}", "'1word'" },
    { "a path", "${map.inner.n}", "2" },
    { "brackets", "${map[k]}", "'v'" },
    { "an item", "${list[1]}", "20" },
    { "an item by its dot", "${list.0}", "10" },
    { "a whole map", "${map.inner}", "{'n': 2}" },
    { "a key inside a key", "${map.${name}}", "'v'" },
    { "through another one", "${chain}", "1" },
    { "a key with a blank in it", "${oc.select:'with space'}", "5" },
    { "escaped", "\\${a}", "'${a}'" },
    { "a backslash before", "\\\\${a}", "'\\\\1'" },
    { "a lone dollar", "5$", "'5$'" },
    { "a variable with a default", "${oc.env:LPO_NO_SUCH_VARIABLE,none}", "'none'" },
    { "a default is text", "${oc.env:LPO_NO_SUCH_VARIABLE,5}", "'5'" },
    { "but null stays null", "${oc.env:LPO_NO_SUCH_VARIABLE,null}", "None" },
    { "decoded", "${oc.decode:'[1, 2.5, x]'}", "[1, 2.5, 'x']" },
    { "keys of a map", "${oc.dict.keys:map}", "['k', 'inner']" },
    { "a choice that is not there", "${oc.select:nothing,7}", "7" },
    { "lists and maps as arguments", "${oc.select:nothing,{a: [1, b]}}", "{'a': [1, 'b']}" },
    { "what leads to a missing value is missing", "${gone}", "'?\?\?'" },

    { "an unknown key", "${nothing}", "!'nothing' not found" },
    { "an item that is not there", "${list[2]}", "!not found" },
    { "below a value", "${a.b}", "!is not a container" },
    { "a circle", "${circle}", "!Recursive interpolation" },
    { "an unknown function", "${no.such:1}", "!no.such" },
    { "never closed", "${a", "!" },
    { "nothing inside", "${}", "!" },
    { "a variable that is not set", "${oc.env:LPO_NO_SUCH_VARIABLE}", "!not found" },
    { "too few arguments", "${oc.env:}", "!" },
    { "a name that is a number", "${map.${a}}", "!must be a string" },
};

static void check_case(void **state)
{
    const struct interp_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_node *root, *out = NULL;
    LPO_STR all = { 0 }, shown = { 0 };
    int rc;

    assert_int_equal(lpo_yaml_parse(a, config, strlen(config), "config", &root, &err), 0);
    rc = lpo_compose_resolve_value(a, root, lpo_node_string(a, c->value), &out, &err);
    for (unsigned i = 0; i < err.lines; i++)
        lpo_str_addf(&all, "%s\n", err.text + err.at[i]);
    if (*c->want == '!') {
        assert_int_equal(rc, LPO_E_CONFIG);
        if (!strstr(lpo_str_text(&all), c->want + 1))
            assert_string_equal(lpo_str_text(&all), c->want + 1);
        return;
    }
    if (rc < 0)
        fail_msg("%s", lpo_str_text(&all));
    lpo_yaml_py_add_repr(&shown, out);
    assert_string_equal(lpo_str_text(&shown), c->want);
}

/* What Python prints: these texts become folder names, so each digit counts. */
static const struct text_case {
    const char *name, *yaml, *str, *repr;
} texts[] = {
    { "a short float", "0.1", "0.1", "0.1" },
    { "a float that is whole", "100.0", "100.0", "100.0" },
    { "a small float", "0.00001", "1e-05", "1e-05" },
    { "the largest without exponent", "1e15", "1000000000000000.0", "1000000000000000.0" },
    { "the first with exponent", "1e16", "1e+16", "1e+16" },
    { "minus zero", "-0.0", "-0.0", "-0.0" },
    { "seventeen digits", "0.30000000000000004", "0.30000000000000004", "0.30000000000000004" },
    { "not a number", ".nan", "nan", "nan" },
    { "booleans and null", "[true, false, null]", "[True, False, None]", "[True, False, None]" },
    { "text", "ab", "ab", "'ab'" },
    { "a quote inside", "\"it's\"", "it's", "\"it's\"" },
    { "both quotes inside", "\"it's \\\"\"", "it's \"", "'it\\'s \"'" },
    { "control characters", "\"a\\nb\\x01\"", "a\nb\x01", "'a\\nb\\x01'" },
    { "a map", "{a: [x, 1]}", "{'a': ['x', 1]}", "{'a': ['x', 1]}" },
};

static void check_text(void **state)
{
    const struct text_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_err err = { 0 };
    struct lpo_node *n;
    LPO_STR str = { 0 }, repr = { 0 };

    assert_int_equal(lpo_yaml_parse(a, c->yaml, strlen(c->yaml), "case", &n, &err), 0);
    lpo_yaml_py_add_str(&str, n);
    lpo_yaml_py_add_repr(&repr, n);
    assert_string_equal(lpo_str_text(&str), c->str);
    assert_string_equal(lpo_str_text(&repr), c->repr);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_case);
    UNIT_ROWS(&u, texts, check_text);
    return unit_run(&u);
}
