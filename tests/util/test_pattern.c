/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/err.h"
#include "util/pattern.h"

static const struct pattern_case {
    const char *name, *pattern;
    enum lpo_pattern_kind kind;
    const char *text;
    int match; /* -1: the pattern is refused */
} cases[] = {
    { "plain", "gemm", LPO_PATTERN_TEXT, "gemm", 1 },
    { "plain is the whole name", "gemm", LPO_PATTERN_TEXT, "sgemm", 0 },
    { "star", "*gemm*", LPO_PATTERN_TEXT, "void cutlass::gemm<float>(int)", 1 },
    { "star crosses slashes in text", "a*c", LPO_PATTERN_TEXT, "a/b/c", 1 },
    { "question mark", "layer?", LPO_PATTERN_TEXT, "layer7", 1 },
    { "question mark is one", "layer?", LPO_PATTERN_TEXT, "layer17", 0 },
    { "question mark takes an umlaut", "?", LPO_PATTERN_TEXT, "\xc3\xa4", 1 },
    { "set", "layer[0-3]", LPO_PATTERN_TEXT, "layer2", 1 },
    { "negated set", "layer[!0-3]", LPO_PATTERN_TEXT, "layer2", 0 },
    { "open bracket alone", "a[b", LPO_PATTERN_TEXT, "a[b", 1 },
    { "escaped star", "a\\*", LPO_PATTERN_TEXT, "a*", 1 },
    { "escaped star is plain", "a\\*", LPO_PATTERN_TEXT, "ab", 0 },
    { "regex characters are plain", "a.b(c)", LPO_PATTERN_TEXT, "a.b(c)", 1 },
    { "a dot is no wildcard", "a.b", LPO_PATTERN_TEXT, "axb", 0 },
    { "newline in a name", "a*b", LPO_PATTERN_TEXT, "a\nb", 1 },
    { "star stays in its part", "decode/*", LPO_PATTERN_PATH, "decode/layer0", 1 },
    { "star does not cross", "decode/*", LPO_PATTERN_PATH, "decode/layer0/attn", 0 },
    { "two stars cross", "decode/**", LPO_PATTERN_PATH, "decode/layer0/attn", 1 },
    { "two stars between", "decode/**/attn", LPO_PATTERN_PATH, "decode/layer0/attn", 1 },
    { "two stars may be nothing", "decode/**/attn", LPO_PATTERN_PATH, "decode/attn", 1 },
    { "two stars at the front", "**/attn", LPO_PATTERN_PATH, "attn", 1 },
    { "a slash in a name is no border", "a*", LPO_PATTERN_PATH, "a\\/b", 1 },
    { "a slash in a name cannot end a part", "*/b", LPO_PATTERN_PATH, "a\\/b", 0 },
    { "a slash in a name, written", "a\\/b", LPO_PATTERN_PATH, "a\\/b", 1 },
    { "domain", "LLM@dec*", LPO_PATTERN_PATH, "LLM@decode", 1 },
    { "regex finds a part", "regex:gemm|conv", LPO_PATTERN_TEXT, "sgemm_tn", 1 },
    { "regex anchors", "regex:^gemm", LPO_PATTERN_TEXT, "sgemm_tn", 0 },
    { "broken regex", "regex:(", LPO_PATTERN_TEXT, "", -1 },
};

static void check(void **state)
{
    const struct pattern_case *c = *state;
    LPO_AUTO(lpo_pattern) p = NULL;
    struct lpo_err err = { 0 };
    int rc = lpo_pattern_create(c->pattern, c->kind, &p, &err);

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
    assert_int_equal(lpo_pattern_create("regex:^(a+)+[bc]", LPO_PATTERN_TEXT, &p, NULL), 0);
    assert_false(lpo_pattern_matches(p, text, 40));
    assert_true(lpo_pattern_gave_up(p));
}

static void errors_give_the_place(void **state)
{
    LPO_AUTO(lpo_pattern) p = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_pattern_create("regex:a(b", LPO_PATTERN_TEXT, &p, &err), LPO_E_CONFIG);
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
