/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "../unit.h"

#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/json_write.h"

static void rewrite(struct lpo_json_writer *w, const struct lpo_json *v)
{
    switch (v->kind) {
    case LPO_JSON_NULL:
        lpo_jw_put(w, LPO_KV(v->key, lpo_jv_null()));
        break;
    case LPO_JSON_BOOL:
        lpo_jw_put(w, LPO_KV(v->key, v->boolean));
        break;
    case LPO_JSON_INT:
        lpo_jw_put(w, LPO_KV(v->key, v->integer));
        break;
    case LPO_JSON_REAL:
        lpo_jw_put(w, LPO_KV(v->key, v->real));
        break;
    case LPO_JSON_STRING:
        lpo_jw_put(w, LPO_KV(v->key, lpo_jv_textn(v->text, v->len)));
        break;
    default:
        if (v->kind == LPO_JSON_ARRAY)
            lpo_jw_array(w, v->key);
        else
            lpo_jw_object(w, v->key);
        LPO_JSON_EACH(m, v)
        rewrite(w, m);
        lpo_jw_end(w);
    }
}

static const struct json_case {
    const char *name, *in, *out; /* out NULL: refused */
} cases[] = {
    { "object keeps order", "{\"b\": 1, \"a\": [true, null, -2.5e3]}",
      "{\"b\": 1, \"a\": [true, null, -2500.0]}\n" },
    { "exact integers", "[9223372036854775807, -9223372036854775808]",
      "[9223372036854775807, -9223372036854775808]\n" },
    { "beyond int64 becomes real", "[9223372036854775808]", "[9.223372036854776e+18]\n" },
    { "shortest digits", "[0.1, 3.0000000000000004]", "[0.1, 3.0000000000000004]\n" },
    { "escapes", "[\"\\u00e4\\ud83d\\ude00\\n\\\"\"]", "[\"\xc3\xa4\xf0\x9f\x98\x80\\n\\\"\"]\n" },
    { "lone surrogate is replaced", "[\"\\ud800\"]", "[\"\xef\xbf\xbd\"]\n" },
    { "empty containers", "[{}, []]", "[{}, []]\n" },
    { "leading zero", "[01]", NULL },
    { "trailing comma", "[1,]", NULL },
    { "bare word", "[nan]", NULL },
    { "open string", "[\"a", NULL },
    { "raw newline in string", "[\"a\n\"]", NULL },
    { "bad utf-8", "[\"\xff\"]", NULL },
    { "text after the end", "{} x", NULL },
    { "nothing", "", NULL },
};

static void check(void **state)
{
    const struct json_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *v = NULL;
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 0);
    int rc = lpo_json_parse(a, c->in, strlen(c->in), &v, &err);

    if (!c->out) {
        assert_int_equal(rc, LPO_E_FORMAT);
        return;
    }
    assert_int_equal(rc, 0);
    rewrite(&w, v);
    assert_string_equal(lpo_str_text(&out), c->out);
}

static const struct whole_case {
    const char *name;
    struct lpo_measure value;
    const char *out;
} wholes[] = {
    { "whole number without a point", { 151397597184.0, LPO_COMPUTED }, "151397597184" },
    { "rounded to the nearest", { 11617554.102779984, LPO_ESTIMATED }, "11617554" },
    { "no minus before zero", { -0.25, LPO_COMPUTED }, "0" },
    { "large stays digits", { 9.223372036854776e18, LPO_COMPUTED }, "9223372036854775808" },
    { "unknown is null", { 0, LPO_UNKNOWN }, "null" },
    { "beyond numbers is null", { INFINITY, LPO_MEASURED }, "null" },
};

static void check_whole(void **state)
{
    const struct whole_case *c = *state;
    LPO_STR out = { 0 };
    LPO_STR want = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 0);

    lpo_jw_array(&w, NULL);
    lpo_jw_put(&w, LPO_V(lpo_jv_whole(c->value)));
    lpo_jw_end(&w);
    lpo_str_addf(&want, "[%s]\n", c->out);
    assert_string_equal(lpo_str_text(&out), lpo_str_text(&want));
}

/* As few digits as give the same number again, and always a mark that it is not an integer. */
static const struct real_case {
    const char *name;
    double value;
    const char *out;
} reals[] = {
    { "a whole number", 23820160.0, "23820160.0" },
    { "below zero", -3.0, "-3.0" },
    { "nothing", 0.0, "0.0" },
    { "nothing, from below", -0.0, "-0.0" },
    { "the last with all its digits", 999999999999999.0, "999999999999999.0" },
    { "the first with a power", 1e15, "1e+15" },
    { "a fraction", 0.1, "0.1" },
    { "seventeen digits", 0.1 + 0.2, "0.30000000000000004" },
    { "not a number", NAN, "null" },
    { "beyond numbers", -INFINITY, "null" },
};

static void check_real(void **state)
{
    const struct real_case *c = *state;
    LPO_STR out = { 0 };

    lpo_json_add_real(&out, c->value);
    assert_string_equal(lpo_str_text(&out), c->out);
}

static void depth_is_bounded(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *v = NULL;
    char deep[5000];

    (void)state;
    memset(deep, '[', sizeof deep);
    assert_int_equal(lpo_json_parse(a, deep, sizeof deep, &v, NULL), LPO_E_FORMAT);
}

static void errors_name_the_place(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *v = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    lpo_json_parse(a, "{\n  \"a\": x}", 11, &v, &err);
    assert_non_null(strstr(lpo_err_cause(&err), "line 2, column 8"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_ROWS(&u, wholes, check_whole);
    UNIT_ROWS(&u, reals, check_real);
    UNIT_TEST(&u, depth_is_bounded);
    UNIT_TEST(&u, errors_name_the_place);
    return unit_run(&u);
}
