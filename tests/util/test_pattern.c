/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/err.h"
#include "util/pattern.h"

static const struct pattern_case {
    const char *name, *pattern, *text;
    int match; /* -1: the pattern is refused */
} cases[] = {
    { "plain", "gemm", "gemm", 1 },
    { "plain is the whole name", "gemm", "sgemm", 0 },
    { "star", "*gemm*", "void cutlass::gemm<float>(int)", 1 },
    { "star crosses slashes in text", "a*c", "a/b/c", 1 },
    { "question mark", "layer?", "layer7", 1 },
    { "question mark is one", "layer?", "layer17", 0 },
    { "question mark takes an umlaut", "?", "\xc3\xa4", 1 },
    { "set", "layer[0-3]", "layer2", 1 },
    { "negated set", "layer[!0-3]", "layer2", 0 },
    { "open bracket alone", "a[b", "a[b", 1 },
    { "escaped star", "a\\*", "a*", 1 },
    { "escaped star is plain", "a\\*", "ab", 0 },
    { "regex characters are plain", "a.b(c)", "a.b(c)", 1 },
    { "a dot is no wildcard", "a.b", "axb", 0 },
    { "newline in a name", "a*b", "a\nb", 1 },
    { "regex finds a part", "regex:gemm|conv", "sgemm_tn", 1 },
    { "regex anchors", "regex:^gemm", "sgemm_tn", 0 },
    { "broken regex", "regex:(", "", -1 },
};

static void check(void **state)
{
    const struct pattern_case *c = *state;
    LPO_AUTO(lpo_pattern) p = NULL;
    struct lpo_err err = { 0 };
    int rc = lpo_pattern_create(c->pattern, &p, &err);

    if (c->match < 0) {
        assert_int_equal(rc, LPO_E_CONFIG);
        return;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(lpo_pattern_matches(p, c->text, strlen(c->text)), c->match);
}

static void explosions_are_stopped(void **state)
{
    LPO_AUTO(lpo_pattern) p = NULL;
    char text[41];

    (void)state;
    memset(text, 'a', 40);
    text[40] = '\0';
    assert_int_equal(lpo_pattern_create("regex:^(a+)+[bc]", &p, NULL), 0);
    assert_false(lpo_pattern_matches(p, text, 40));
    assert_true(lpo_pattern_gave_up(p));
}

static void errors_give_the_place(void **state)
{
    LPO_AUTO(lpo_pattern) p = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_pattern_create("regex:a(b", &p, &err), LPO_E_CONFIG);
    assert_non_null(strstr(lpo_err_cause(&err), "at character 10"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, explosions_are_stopped);
    UNIT_TEST(&u, errors_give_the_place);
    return unit_run(&u);
}
