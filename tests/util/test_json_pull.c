/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/err.h"
#include "util/json_pull.h"
#include "util/str.h"

/* Walks any value and writes its tokens, so that one line shows what was understood. */
static int walk(struct lpo_pull *q, struct lpo_str *out)
{
    struct lpo_json_pull_text text;
    bool first = true, whole;
    int c = lpo_json_pull_peek(q), rc;

    if (c < 0)
        return c;
    if (c == '{' || c == '[') {
        lpo_str_addc(out, (char)c);
        q->p++;
        while ((rc = c == '{' ? lpo_json_pull_member(q, &first, &text)
                              : lpo_json_pull_item(q, &first)) > 0) {
            if (c == '{') {
                lpo_str_addn(out, text.at, text.len);
                lpo_str_addc(out, '=');
            }
            rc = walk(q, out);
            if (rc < 0)
                return rc;
        }
        lpo_str_addc(out, c == '{' ? '}' : ']');
        return rc;
    }
    if (c == '"') {
        rc = lpo_json_pull_string(q, &text);
        lpo_str_addc(out, '\'');
        if (rc == 0)
            rc = lpo_json_pull_unescape(&text, q->mode, out, NULL);
        lpo_str_addc(out, '\'');
        return rc;
    }
    rc = c == '-' || (c >= '0' && c <= '9') ? lpo_json_pull_number(q, &text, &whole)
                                            : lpo_json_pull_word(q, &text);
    if (rc < 0 && c == '-') /* -inf */
        rc = lpo_json_pull_word(q, &text);
    if (rc == 0)
        lpo_str_addn(out, text.at, text.len);
    lpo_str_addc(out, ' ');
    return rc;
}

static const struct pull_case {
    const char *name;
    enum lpo_pull_mode mode;
    int code;
    const char *in, *out;
} cases[] = {
    { "nested", LPO_PULL_STRICT, 0, "{\"a\": [1, 2.5, {\"b\":null}], \"c\" : true}",
      "{a=[1 2.5 {b=null }]c=true }" },
    { "indented", LPO_PULL_STRICT, 0, "\n {\n\t\"a\"\n:\r\n 1\n,\n      \"b\": 2\n}",
      "{a=1 b=2 }" },
    { "long keys and texts", LPO_PULL_LENIENT, 0,
      "{\"x\":0, \"0123456789012345678901234567890123456789012345678901234567890123456789\": "
      "\"0123456789012345678901234567890123456789\\n\"}",
      "{x=0 0123456789012345678901234567890123456789012345678901234567890123456789="
      "'0123456789012345678901234567890123456789\n'}" },
    { "escapes", LPO_PULL_STRICT, 0, "\"\\u00e4\\ud83d\\ude00\\\\\\\"\\/\"",
      "'\xc3\xa4\xf0\x9f\x98\x80\\\"/'" },
    { "unknown escape", LPO_PULL_STRICT, LPO_E_FORMAT, "\"C:\\Users\"", NULL },
    { "Windows path", LPO_PULL_LENIENT, 0, "\"C:\\Users\\x\"", "'C:\\Users\\x'" },
    { "bad \\u is kept", LPO_PULL_LENIENT, 0, "\"\\u12\"", "'\\u12'" },
    { "raw newline", LPO_PULL_STRICT, LPO_E_FORMAT, "\"a\nb\"", NULL },
    { "raw newline, lenient", LPO_PULL_LENIENT, 0, "\"a\nb\"", "'a\nb'" },
    { "bare nan", LPO_PULL_STRICT, LPO_E_FORMAT, "[nan]", NULL },
    { "bare nan and inf, lenient", LPO_PULL_LENIENT, 0, "[nan, -inf, Infinity, NaN]",
      "[nan -inf Infinity NaN ]" },
    { "comma at the end", LPO_PULL_STRICT, LPO_E_FORMAT, "[1,]", NULL },
    { "comma at the end, lenient", LPO_PULL_LENIENT, 0, "[1,]", "[1 ]" },
    { "quotes inside", LPO_PULL_LENIENT, LPO_E_FORMAT, "{\"a\": \"x \"y\" z\", \"b\": 1}", NULL },
    { "quotes inside, repaired", LPO_PULL_REPAIR, 0, "{\"a\": \"x \"y\" z\", \"b\": 1}",
      "{a='x \"y\" z'b=1 }" },
    { "control character as space", LPO_PULL_STRICT, LPO_E_FORMAT,
      "{\"a\":1,\x01\"b\":2                                                                  }",
      NULL },
    { "no colon", LPO_PULL_STRICT, LPO_E_FORMAT, "{\"a\" 1}", NULL },
    { "no comma", LPO_PULL_STRICT, LPO_E_FORMAT, "[1 2]", NULL },
    { "wrong bracket", LPO_PULL_STRICT, LPO_E_FORMAT, "[1}", NULL },
    { "open object", LPO_PULL_STRICT, LPO_PULL_MORE, "{\"a\": 1", NULL },
    { "open string", LPO_PULL_STRICT, LPO_PULL_MORE, "\"abc", NULL },
    { "ends in an escape", LPO_PULL_STRICT, LPO_PULL_MORE, "\"abc\\", NULL },
    { "half a word", LPO_PULL_STRICT, LPO_PULL_MORE, "[tr", NULL },
    { "half a number", LPO_PULL_STRICT, LPO_PULL_MORE, "[1.", NULL },
    { "nothing", LPO_PULL_STRICT, LPO_PULL_MORE, "", NULL },
};

static void check_walk(void **state)
{
    const struct pull_case *c = *state;
    struct lpo_pull q = { .p = c->in, .end = c->in + strlen(c->in), .mode = c->mode };
    LPO_STR out = { 0 };

    assert_int_equal(walk(&q, &out), c->code);
    if (c->out)
        assert_string_equal(lpo_str_text(&out), c->out);
}

/* Skipping must end exactly where walking does, and ask for more wherever walking would. */
static void check_skip(void **state)
{
    const struct pull_case *c = *state;
    size_t len = strlen(c->in);
    struct lpo_pull q = { .p = c->in, .end = c->in + len, .mode = c->mode }, s = q;
    LPO_STR out = { 0 };

    if (walk(&q, &out) != 0)
        return;
    assert_int_equal(lpo_json_pull_skip(&s), 0);
    assert_ptr_equal(s.p, q.p);
    for (size_t n = 0; n + 1 < len; n++) {
        struct lpo_pull cut = { .p = c->in, .end = c->in + n, .mode = c->mode };

        assert_int_equal(lpo_json_pull_skip(&cut), LPO_PULL_MORE);
    }
}

/* Brackets, quotes and backslashes at every offset of the 64-byte blocks. */
static void skip_at_every_offset(void **state)
{
    static const char body[] = "{\"a}\\\"]\": [{}, \"\\\\\", [\"{[\"]], \"\\\\\\\"\": \"}\"}";

    (void)state;
    for (size_t pad = 0; pad < 200; pad++) {
        LPO_STR text = { 0 };
        struct lpo_pull q = { .mode = LPO_PULL_LENIENT };

        lpo_str_addc(&text, '[');
        lpo_str_addc(&text, '"');
        for (size_t i = 0; i < pad; i++)
            lpo_str_addc(&text, 'x');
        lpo_str_addf(&text, "\", %s]", body);
        q.p = text.at;
        lpo_str_add(&text, " tail ]}\"");
        q.p = text.at;
        q.end = text.at + text.len;
        assert_int_equal(lpo_json_pull_skip(&q), 0);
        assert_memory_equal(q.p, " tail", 5);
    }
}

static int sum_items(struct lpo_pull *q, void *ctx)
{
    struct lpo_json_pull_text text;
    size_t *longest = ctx;
    bool first = true, whole;
    int rc = lpo_json_pull_open(q, '[');

    if (rc < 0)
        return rc;
    rc = lpo_json_pull_item(q, &first);
    if (rc <= 0)
        return rc;
    rc = lpo_json_pull_number(q, &text, &whole);
    if (rc < 0)
        return rc;
    rc = lpo_json_pull_item(q, &first);
    if (rc <= 0)
        return rc;
    rc = lpo_json_pull_string(q, &text);
    if (rc < 0)
        return rc;
    rc = lpo_json_pull_item(q, &first);
    if (rc == 0 && text.len > *longest)
        *longest = text.len;
    return rc == 0 ? 1 : rc;
}

static int take_comma(struct lpo_pull *q, void *ctx)
{
    int c = lpo_json_pull_peek(q);

    (void)ctx;
    if (c == ',')
        q->p++;
    return c;
}

static const struct stream_case {
    const char *name;
    size_t values, size; /* how many values of how many bytes */
    size_t limit;
    int code;
} stream_cases[] = {
    { "small values over many blocks", 40000, 50, 1 << 20, 0 },
    { "values larger than a front", 40, 150000, 1 << 20, 0 },
    { "values larger than all blocks", 3, 5000000, 16 << 20, 0 },
    { "a value over the limit", 1, 5000000, 1 << 20, LPO_E_LIMIT },
};

static void check_stream(void **state)
{
    const struct stream_case *c = *state;
    LPO_AUTO(lpo_json_stream) s = NULL;
    LPO_STR text = { 0 };
    char path[UNIT_PATH];
    size_t longest = 0, seen = 0;
    int rc;

    for (size_t i = 0; i < c->values; i++)
        lpo_str_addf(&text, "[%zu, \"%*s\"],\n", i, (int)(c->size - i % 7), "x");
    unit_file(text.at, text.len, path);
    assert_int_equal(lpo_json_stream_open(path, LPO_PULL_LENIENT, c->limit, &s, NULL), 0);
    while ((rc = lpo_json_stream_read(s, sum_items, &longest, NULL)) > 0) {
        seen++;
        if (lpo_json_stream_read(s, take_comma, NULL, NULL) < 0)
            break;
    }
    unlink(path);
    if (c->code) {
        assert_int_equal(rc, c->code);
        return;
    }
    assert_int_equal(rc, LPO_PULL_MORE); /* after the last comma nothing comes */
    assert_int_equal(seen, c->values);
    assert_int_equal(longest, c->size);
}

static int take_number(struct lpo_pull *q, void *ctx)
{
    struct lpo_json_pull_text text;
    bool whole;
    int rc = lpo_json_pull_number(q, &text, &whole);

    *(char *)ctx = rc == 0 ? text.at[0] : '?';
    return rc;
}

/* Passed over piece by piece, with escapes and brackets across the seams. */
static void skips_values_over_the_limit(void **state)
{
    LPO_AUTO(lpo_json_stream) s = NULL;
    LPO_STR text = { 0 };
    char path[UNIT_PATH], got = '?';

    (void)state;
    lpo_str_add(&text, "[[");
    for (int i = 0; i < 200000; i++)
        lpo_str_addf(&text, "{\"k%d\\\\\\\"}\": [\"]%*s\"]},", i, i % 40, "\\\\");
    lpo_str_add(&text, "{}]] 7 ");
    unit_file(text.at, text.len, path);
    assert_int_equal(lpo_json_stream_open(path, LPO_PULL_LENIENT, 1 << 20, &s, NULL), 0);
    assert_int_equal(lpo_json_stream_skip(s, NULL), 0);
    assert_int_equal(lpo_json_stream_read(s, take_number, &got, NULL), 0);
    assert_int_equal(got, '7');
    unlink(path);
}

#define PAD "                                                                "

/* A member that is written like the one of the object before: taken to the letter or not at all. */
static const struct likely_case {
    const char *name, *before, *text;
    enum lpo_pull_mode mode;
    bool taken;
} likely_cases[] = {
    { "a member", ", \"name\": 1" PAD, ", \"name\": 1" PAD, LPO_PULL_LENIENT, true },
    { "on a line of its own", ",\n    \"name\" :1" PAD, ",\n    \"name\" :1" PAD, LPO_PULL_LENIENT,
      true },
    { "strict text", ", \"name\": 1" PAD, ", \"name\": 1" PAD, LPO_PULL_STRICT, true },
    { "other space", ", \"name\": 1" PAD, ",\"name\": 1" PAD, LPO_PULL_LENIENT, false },
    { "another key", ", \"name\": 1" PAD, ", \"nama\": 1" PAD, LPO_PULL_LENIENT, false },
    { "a longer key", ", \"name\": 1" PAD, ", \"names\": 1" PAD, LPO_PULL_LENIENT, false },
    { "the object is closed", ", \"name\": 1" PAD, "}, {\"name\": 1" PAD, LPO_PULL_LENIENT, false },
    { "the text ends soon", ", \"name\": 1" PAD, ", \"name\": 1}", LPO_PULL_LENIENT, false },
    { "quotes are not trusted", ", \"name\": 1" PAD, ", \"name\": 1" PAD, LPO_PULL_REPAIR, false },
    { "32 bytes", ", \"a key of twenty-six characters\":1" PAD,
      ", \"a key of twenty-six characters\":1" PAD, LPO_PULL_LENIENT, false },
    { "up to 32 bytes", ",\"a key of twenty-eight chars.\":1" PAD,
      ",\"a key of twenty-eight chars.\":1" PAD, LPO_PULL_LENIENT, true },
};

static void check_likely(void **state)
{
    const struct likely_case *c = *state;
    struct lpo_pull before = { c->before, c->before + strlen(c->before), c->mode, NULL };
    struct lpo_pull q = { c->text, c->text + strlen(c->text), c->mode, NULL };
    struct lpo_json_pull_text key;
    struct lpo_pull_likely known;
    bool first = false;

    assert_int_equal(lpo_json_pull_member(&before, &first, &key), 1);
    lpo_json_pull_learn(&before, c->before, &known);
    assert_int_equal(lpo_json_pull_likely(&q, &known), c->taken);
    if (c->taken)
        assert_int_equal(lpo_json_pull_peek(&q), '1');
    else
        assert_ptr_equal(q.p, c->text);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_walk);
    UNIT_ROWS(&u, cases, check_skip);
    UNIT_TEST(&u, skip_at_every_offset);
    UNIT_ROWS(&u, stream_cases, check_stream);
    UNIT_TEST(&u, skips_values_over_the_limit);
    UNIT_ROWS(&u, likely_cases, check_likely);
    return unit_run(&u);
}
