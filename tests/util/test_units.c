/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/err.h"
#include "util/str.h"
#include "util/units.h"

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
    { "just shown", 0.05, "0.1 %" }, { "a share", 12.34, "12.3 %" },
    { "all of it", 100, "100.0 %" }, { "less than before", -0.01, "-0.0 %" },
};

static void check_percent(void **state)
{
    const struct percent_case *c = *state;
    LPO_STR s = { 0 };

    lpo_units_add_percent(&s, c->percent);
    assert_string_equal(lpo_str_text(&s), c->want);
}

static const struct bytes_case {
    const char *name;
    double bytes;
    const char *want;
} byte_cases[] = {
    { "bytes", 312, "312 B" },
    { "kibibytes", 1536, "1.500 KiB" },
    { "gibibytes", 1.5 * (1 << 30), "1.500 GiB" },
    { "none", 0, "0 B" },
};

static void check_bytes(void **state)
{
    const struct bytes_case *c = *state;
    LPO_STR s = { 0 };

    lpo_units_add_bytes(&s, c->bytes);
    assert_string_equal(lpo_str_text(&s), c->want);
}

static const struct count_case {
    const char *name;
    uint64_t n;
    const char *want;
} count_cases[] = {
    { "none", 0, "0" },
    { "three digits", 999, "999" },
    { "four digits", 1000, "1,000" },
    { "seven digits", 1234567, "1,234,567" },
    { "the largest", UINT64_MAX, "18,446,744,073,709,551,615" },
};

static void check_count(void **state)
{
    const struct count_case *c = *state;
    LPO_STR s = { 0 };

    lpo_units_add_count(&s, c->n);
    assert_string_equal(lpo_str_text(&s), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, percents, check_percent);
    UNIT_ROWS(&u, duration_cases, check_duration);
    UNIT_ROWS(&u, print_cases, check_print);
    UNIT_ROWS(&u, byte_cases, check_bytes);
    UNIT_ROWS(&u, count_cases, check_count);
    return unit_run(&u);
}
