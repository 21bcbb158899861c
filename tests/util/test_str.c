/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/str.h"

static const struct shell_case {
    const char *name, *word, *want;
} shell_cases[] = {
    { "plain words stay bare", "--set=full", "--set=full" },
    { "empty is quoted", "", "''" },
    { "space", "a b", "'a b'" },
    { "quote", "it's", "'it'\\''s'" },
    { "dollar and newline", "$x\n", "'$x\n'" },
};

static void check_shell(void **state)
{
    const struct shell_case *c = *state;
    LPO_STR s = { 0 };

    lpo_str_add_shell(&s, c->word);
    assert_string_equal(lpo_str_text(&s), c->want);
}

static const struct nearest_case {
    const char *name, *word, *want;
} nearest_cases[] = {
    { "swapped letters", "sectoins", "sections" },
    { "one missing", "sectons", "sections" },
    { "case", "Metrics", "metrics" },
    { "far away", "zebra", NULL },
    { "more than half of a short word", "xml", NULL },
    { "half of a short word", "mt", "md" },
    { "the beginning of one", "sector", "sector_promotion" },
    { "of two", "exp", NULL },
};

static void check_nearest(void **state)
{
    static const char *const words[] = { "sections", "metrics",          "set",    "export",
                                         "md",       "sector_promotion", "exposed" };
    const struct nearest_case *c = *state;
    const char *got = lpo_str_nearest(c->word, words, sizeof words / sizeof *words);

    if (c->want)
        assert_string_equal(got, c->want);
    else
        assert_null(got);
}

static const struct utf8_case {
    const char *name, *bytes;
    size_t len;
    int valid;
} utf8_cases[] = {
    { "ascii", "abc", 3, 1 },
    { "two to four bytes", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, 1 },
    { "overlong slash", "\xc0\xaf", 2, 0 },
    { "overlong three", "\xe0\x80\xaf", 3, 0 },
    { "surrogate", "\xed\xa0\x80", 3, 0 },
    { "past the last plane", "\xf4\x90\x80\x80", 4, 0 },
    { "cut short", "\xe2\x82", 2, 0 },
    { "stray continuation", "\x80", 1, 0 },
    { "nine ASCII bytes", "abcdefghi", 9, 1 },
    { "damage behind eight ASCII bytes", "abcdefgh\x80", 9, 0 },
    { "a character across eight bytes", "abcdefg\xc3\xa9h", 10, 1 },
};

static void check_utf8(void **state)
{
    const struct utf8_case *c = *state;

    assert_int_equal(lpo_str_utf8_valid(c->bytes, c->len, NULL), c->valid);
}

static const struct base64_case {
    const char *name, *bytes;
    size_t len, line;
    const char *want;
} base64_cases[] = {
    { "nothing", "", 0, 0, "" },
    { "nothing in lines", "", 0, 57, "" },
    { "one byte", "f", 1, 0, "Zg==" },
    { "two bytes", "fo", 2, 0, "Zm8=" },
    { "three bytes", "foo", 3, 0, "Zm9v" },
    { "high bits", "\xff\xfe\x00\xfb", 4, 0, "//4A+w==" },
    { "a line that is full", "foobar", 6, 6, "Zm9vYmFy\n" },
    { "two lines", "foobar!", 7, 6, "Zm9vYmFy\nIQ==\n" },
};

static void check_base64(void **state)
{
    const struct base64_case *c = *state;
    LPO_STR got = { 0 };

    lpo_str_add_base64(&got, c->bytes, c->len, c->line);
    assert_string_equal(lpo_str_text(&got), c->want);
}

static const struct number_case {
    const char *name;
    int64_t v;
    const char *want;
} numbers[] = {
    { "zero", 0, "0" },
    { "one digit", 7, "7" },
    { "a power of ten", 1000, "1000" },
    { "below zero", -123456, "-123456" },
    { "the largest", INT64_MAX, "9223372036854775807" },
    { "the smallest", INT64_MIN, "-9223372036854775808" },
};

static void check_number(void **state)
{
    const struct number_case *c = *state;
    LPO_STR s = { 0 };

    lpo_str_add_int(&s, c->v);
    assert_string_equal(lpo_str_text(&s), c->want);
}

static void room_is_filled_by_the_caller(void **state)
{
    LPO_STR s = { 0 };

    (void)state;
    assert_string_equal(lpo_str_room(&s, 100), "");
    lpo_str_add(&s, "ab");
    memcpy(lpo_str_room(&s, 3), "cde", 3);
    s.len += 3;
    assert_string_equal(lpo_str_text(&s), "abcde");
    lpo_str_add_uint(&s, UINT64_MAX);
    assert_string_equal(lpo_str_text(&s), "abcde18446744073709551615");
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, shell_cases, check_shell);
    UNIT_ROWS(&u, nearest_cases, check_nearest);
    UNIT_ROWS(&u, utf8_cases, check_utf8);
    UNIT_ROWS(&u, base64_cases, check_base64);
    UNIT_ROWS(&u, numbers, check_number);
    UNIT_TEST(&u, room_is_filled_by_the_caller);
    return unit_run(&u);
}
