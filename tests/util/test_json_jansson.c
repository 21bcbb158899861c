/* SPDX-License-Identifier: Apache-2.0 */
/* Two readers of JSON, one opinion: documents made at random and then damaged at random must be
 * taken or refused by both, and mean the same to both. */
#include "../unit.h"

#include <jansson.h>

#include "util/arena.h"
#include "util/json.h"
#include "util/str.h"

static uint32_t roll(uint32_t *x, uint32_t below)
{
    *x = *x * 1664525 + 1013904223;
    return (*x >> 8) % below;
}

static void make_text(struct lpo_str *s, uint32_t *x)
{
    static const char *const parts[] = { "a",
                                         "key",
                                         " ",
                                         "\\n",
                                         "\\\"",
                                         "\\\\",
                                         "\\/",
                                         "{",
                                         "]",
                                         ",",
                                         "\\u00e4",
                                         "\\ud83d\\ude00",
                                         "\xc3\xa4",
                                         "0",
                                         "\\t",
                                         "\\u0041",
                                         "long enough to cross" };

    lpo_str_addc(s, '"');
    for (uint32_t n = roll(x, 6); n > 0; n--)
        lpo_str_add(s, parts[roll(x, sizeof parts / sizeof *parts)]);
    lpo_str_addc(s, '"');
}

static void make_value(struct lpo_str *s, uint32_t *x, int depth)
{
    static const char *const scalars[] = { "null", "true",        "false", "0",
                                           "-1",   "12345678901", "1.5",   "-2e10",
                                           "3E-3", "0.000125",    "1e22",  "9007199254740993" };
    static const char *const spaces[] = { "", " ", "\n   ", "\t", "\r\n" };
    uint32_t kind = roll(x, depth > 4 ? 2 : 4);
    uint32_t n = roll(x, 5);

    lpo_str_add(s, spaces[roll(x, 5)]);
    if (kind == 0) {
        lpo_str_add(s, scalars[roll(x, sizeof scalars / sizeof *scalars)]);
    } else if (kind == 1) {
        make_text(s, x);
    } else {
        lpo_str_addc(s, kind == 2 ? '{' : '[');
        for (uint32_t i = 0; i < n; i++) {
            if (i)
                lpo_str_addc(s, ',');
            if (kind == 2) {
                lpo_str_addf(s, "%s\"k%u\"%s:", spaces[roll(x, 5)], i, spaces[roll(x, 5)]);
            }
            make_value(s, x, depth + 1);
        }
        lpo_str_add(s, spaces[roll(x, 5)]);
        lpo_str_addc(s, kind == 2 ? '}' : ']');
    }
}

static void damage(struct lpo_str *s, uint32_t *x)
{
    static const char bytes[] = "{}[]\",:\\0-.eE \n\x01\x7f\xc3ntf";
    size_t at = roll(x, (uint32_t)s->len);

    switch (roll(x, 3)) {
    case 0:
        s->at[at] = bytes[roll(x, sizeof bytes - 1)];
        break;
    case 1:
        s->len = at;
        break;
    default:
        memmove(s->at + at, s->at + at + 1, s->len - at - 1);
        s->len--;
    }
}

static void same(const struct lpo_json *a, const json_t *b)
{
    size_t i = 0;

    switch (json_typeof(b)) {
    case JSON_NULL:
        assert_int_equal(a->kind, LPO_JSON_NULL);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        assert_int_equal(a->kind, LPO_JSON_BOOL);
        assert_int_equal(a->boolean, json_is_true(b));
        break;
    case JSON_INTEGER:
        assert_int_equal(a->kind, LPO_JSON_INT);
        assert_int_equal(a->integer, json_integer_value(b));
        break;
    case JSON_REAL:
        assert_int_equal(a->kind, LPO_JSON_REAL);
        assert_true(a->real == json_real_value(b));
        break;
    case JSON_STRING:
        assert_int_equal(a->kind, LPO_JSON_STRING);
        assert_int_equal(a->len, json_string_length(b));
        assert_memory_equal(a->text, json_string_value(b), a->len);
        break;
    case JSON_ARRAY:
        assert_int_equal(a->count, json_array_size(b));
        LPO_JSON_EACH(m, a)
        same(m, json_array_get(b, i++));
        break;
    case JSON_OBJECT:
        assert_int_equal(a->kind, LPO_JSON_OBJECT);
        LPO_JSON_EACH(m, a)
        same(lpo_json_get(a, m->key), json_object_get(b, m->key));
        break;
    }
}

/* What jansson refuses and we take on purpose: lone surrogates, NUL, numbers beyond its types. */
static int by_choice(const json_error_t *why)
{
    return strstr(why->text, "invalid Unicode") || strstr(why->text, "\\u0000") ||
           strstr(why->text, "too big") || strstr(why->text, "overflow");
}

static const struct seed_case {
    const char *name;
    uint32_t seed;
    int damages;
} cases[] = {
    { "whole documents", 1, 0 },     { "whole documents again", 77, 0 },
    { "one wrong byte", 2, 1 },      { "one wrong byte again", 78, 1 },
    { "several wrong bytes", 3, 4 },
};

static void check(void **state)
{
    const struct seed_case *c = *state;
    uint32_t x = c->seed;
    int taken = 0;

    for (int n = 0; n < 4000; n++) {
        LPO_AUTO(lpo_arena) a = lpo_arena_create();
        LPO_STR s = { 0 };
        const struct lpo_json *ours = NULL;
        json_error_t why;
        json_t *theirs;
        int rc;

        make_value(&s, &x, 0);
        for (int i = 0; i < c->damages && s.len > 1; i++)
            damage(&s, &x);
        theirs = json_loadb(s.at, s.len, JSON_DECODE_ANY, &why);
        rc = lpo_json_parse(a, s.at, s.len, &ours, NULL);
        if ((rc == 0) != (theirs != NULL) && !(rc == 0 && by_choice(&why)))
            fail_msg("%s by us, %s by jansson: %.*s", rc == 0 ? "taken" : "refused",
                     theirs ? "taken" : "refused", (int)s.len, s.at);
        if (theirs) {
            same(ours, theirs);
            taken++;
        }
        json_decref(theirs);
    }
    assert_true(taken > 100);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    return unit_run(&u);
}
