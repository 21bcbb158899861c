/* SPDX-License-Identifier: Apache-2.0 */
/* A config's fields as its class sees them: defaults, spellings, null. */
#include "../unit.h"
#include "model/family/fields.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

static const struct lpo_json *parse(struct lpo_arena *a, const char *text)
{
    const struct lpo_json *root = NULL;
    struct lpo_err err = { 0 };

    if (lpo_json_parse(a, text, strlen(text), &root, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    return root;
}

static const struct field_case {
    const char *name, *config, *defaults, *keys;
    bool has;
    int64_t want; /* as an integer; the fallback is -1 */
} fields[] = {
    { "given", "{\"a\": 3}", "a=5", "a", true, 3 },
    { "absent: the default", "{}", "a=5", "a", true, 5 },
    { "null is not absent", "{\"a\": null}", "a=5", "a", false, -1 },
    { "absent without a default", "{}", NULL, "a", false, -1 },
    { "a default of null", "{}", "a=null", "a", false, -1 },
    { "another spelling", "{\"b\": 4}", NULL, "a|b", true, 4 },
    { "the first spelling wins", "{\"b\": 4, \"a\": 3}", NULL, "a|b", true, 3 },
    { "the config's other spelling beats a default", "{\"b\": 4}", "a=5", "a|b", true, 4 },
    { "a list gives its first item", "{\"a\": [224, 336]}", NULL, "a", true, 224 },
    { "the last of two equal keys, as Python's json", "{\"a\": 1, \"a\": 2}", NULL, "a", true, 2 },
    { "a key is not a prefix of another", "{\"ab\": 1}", "abc=2", "a", false, -1 },
    { "a default among others", "{}", "x=1 a=7 y=2", "a", true, 7 },
    { "text is no number", "{\"a\": \"many\"}", NULL, "a", true, -1 },
};

static void check_field(void **state)
{
    const struct field_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_fields f = { parse(a, c->config), c->defaults };

    assert_int_equal(lpo_model_field_has(&f, c->keys), c->has);
    assert_int_equal(lpo_model_field_int(&f, c->keys, -1), c->want);
}

static const struct match_case {
    const char *name, *config, *terms;
    bool want;
} matches[] = {
    { "no terms hold always", "{}", NULL, true },
    { "true", "{\"a\": true}", "a=true", true },
    { "absent is false", "{}", "a=false", true },
    { "a number", "{\"n\": 2}", "n=2", true },
    { "another number", "{\"n\": 3}", "n=2", false },
    { "null holds for absent", "{}", "n=null", true },
    { "null does not hold for a value", "{\"n\": 1}", "n=null", false },
    { "all terms must hold", "{\"a\": true, \"n\": 3}", "a=true n=2", false },
    { "a term without a value never holds", "{\"a\": true}", "a", false },
};

static void check_match(void **state)
{
    const struct match_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_fields f = { parse(a, c->config), NULL };

    assert_int_equal(lpo_model_field_match(&f, c->terms), c->want);
}

static const struct size_case {
    const char *name, *config;
    int64_t fallback;
    int code;
    uint64_t want;
    const char *says; /* of the error */
} sizes[] = {
    { "in range", "{\"n\": 8}", 0, 0, 8, NULL },
    { "absent with a fallback", "{}", 4, 0, 4, NULL },
    { "absent without one", "{}", 0, LPO_E_FORMAT, 0, "the config has no 'n'" },
    { "too large", "{\"n\": 17}", 0, LPO_E_RANGE, 0, "'n' is 17; expected 1 to 16" },
    { "negative", "{\"n\": -1}", 4, LPO_E_RANGE, 0, "'n' is -1; expected 1 to 16" },
};

static void check_size(void **state)
{
    const struct size_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_fields f = { parse(a, c->config), NULL };
    struct lpo_err err = { 0 };
    uint64_t got = 0;

    assert_int_equal(lpo_model_size(&f, "n|other", c->fallback, 1, 16, &got, &err), c->code);
    assert_int_equal(got, c->want);
    if (c->says)
        assert_string_equal(lpo_err_cause(&err), c->says);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, fields, check_field);
    UNIT_ROWS(&u, matches, check_match);
    UNIT_ROWS(&u, sizes, check_size);
    return unit_run(&u);
}
