#include "../unit.h"

#include "util/err.h"
#include "util/path.h"
#include "util/str.h"
#include "util/units.h"

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

static const struct safe_case {
    const char *name, *text;
    const char *starts;
    int same;
} safe_cases[] = {
    { "plain", "layer.3_a-b", "layer.3_a-b", 1 },
    { "parent folder", "../../x", "_._.._x-", 0 },
    { "dot", ".", "_-", 0 },
    { "empty", "", "-", 0 },
    { "slash and space", "a/b c", "a_b_c-", 0 },
};

static void check_safe(void **state)
{
    const struct safe_case *c = *state;
    LPO_STR s = { 0 };

    lpo_path_add_safe(&s, c->text, strlen(c->text));
    assert_int_equal(strcmp(lpo_str_text(&s), c->text) == 0, c->same);
    assert_null(strchr(lpo_str_text(&s), '/'));
    assert_true(s.len <= 80 && s.len > 0);
    if (c->same)
        assert_string_equal(lpo_str_text(&s), c->starts);
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
};

static void check_nearest(void **state)
{
    static const char *const words[] = { "sections", "metrics", "set", "export", "md" };
    const struct nearest_case *c = *state;
    const char *got = lpo_str_nearest(c->word, words, 5);

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
};

static void check_utf8(void **state)
{
    const struct utf8_case *c = *state;

    assert_int_equal(lpo_str_utf8_valid(c->bytes, c->len, NULL), c->valid);
}

static const struct duration_case {
    const char *name, *text;
    int code;
    int64_t want_ns;
} duration_cases[] = {
    { "plain seconds", "2s", 0, 2000000000 },
    { "half a minute", "0.5m", 0, 30000000000 },
    { "no unit is refused", "15", LPO_E_FORMAT, 0 },
    { "negative is refused", "-1s", LPO_E_FORMAT, 0 },
    { "overflow is refused", "99999999999s", LPO_E_RANGE, 0 },
};

static void check_duration(void **state)
{
    const struct duration_case *c = *state;
    struct lpo_err err = { 0 };
    int64_t ns = 0;

    assert_int_equal(lpo_units_parse_duration(c->text, &ns, &err), c->code);
    assert_int_equal(ns, c->want_ns);
}

static const struct print_case {
    const char *name;
    int64_t ns;
    const char *want;
} print_cases[] = {
    { "nanoseconds", 56, "56 ns" },
    { "microseconds", 1234, "1.234 us" },
    { "milliseconds", 12345678, "12.35 ms" },
    { "seconds", 61000000000, "61 s" },
};

static void check_print(void **state)
{
    const struct print_case *c = *state;
    LPO_STR s = { 0 };

    lpo_units_add_duration(&s, c->ns);
    assert_string_equal(lpo_str_text(&s), c->want);
}

static const struct percent_case {
    const char *name;
    double percent;
    const char *want;
} percents[] = {
    { "nothing", 0, "0.0 %" },       { "next to nothing", 0.00704, "<0.1 %" },
    { "just told", 0.05, "0.1 %" },  { "a share", 12.34, "12.3 %" },
    { "all of it", 100, "100.0 %" }, { "less than before", -0.01, "-0.0 %" },
};

static void check_percent(void **state)
{
    const struct percent_case *c = *state;
    LPO_STR s = { 0 };

    lpo_units_add_percent(&s, c->percent);
    assert_string_equal(lpo_str_text(&s), c->want);
}

static void error_gathers_context(void **state)
{
    struct lpo_err err = { 0 };
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    assert_int_equal(lpo_fail(&err, LPO_E_FORMAT, "line %d is bad", 3), LPO_E_FORMAT);
    assert_int_equal(lpo_ctx(&err, "manifest '%s'", "x"), LPO_E_FORMAT);
    lpo_err_print(f, "lpo report", &err);
    fclose(f);
    assert_string_equal(text, "lpo report: manifest 'x'\n  because: line 3 is bad\n");
    free(text);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, percents, check_percent);
    UNIT_ROWS(&u, shell_cases, check_shell);
    UNIT_ROWS(&u, safe_cases, check_safe);
    UNIT_ROWS(&u, nearest_cases, check_nearest);
    UNIT_ROWS(&u, utf8_cases, check_utf8);
    UNIT_ROWS(&u, duration_cases, check_duration);
    UNIT_ROWS(&u, print_cases, check_print);
    UNIT_TEST(&u, error_gathers_context);
    return unit_run(&u);
}
