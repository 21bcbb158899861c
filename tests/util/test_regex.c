/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <stdlib.h>

#include "hydra/tokens.h"
#include "util/regex.h"

enum { NONE = 99 };

static struct regex_case {
    const char *name;
    struct lpo_regex regex;
    const char *text;
    size_t len, length;
} cases[] = {
    { "the beginning", LPO_REGEX("[a-z]++"), "abc1", 4, 3 },
    { "only the beginning", LPO_REGEX("[a-z]++"), "1abc", 4, NONE },
    { "nothing at all can match", LPO_REGEX("[a-z]*+"), "1", 1, 0 },
    { "the first alternative that fits", LPO_REGEX("a|ab"), "ab", 2, 1 },
    { "the end is the given one", LPO_REGEX("ab?"), "ab", 1, 1 },
    { "a newline is a character", LPO_REGEX("a.b"), "a\nb", 3, 3 },
    { "and no end", LPO_REGEX("a$"), "a\n", 2, NONE },
    { "a zero byte", LPO_REGEX("[^b]++"), "a\0c", 3, 3 },
};

static void check(void **state)
{
    struct regex_case *c = *state;

    assert_int_equal(lpo_regex_length(&c->regex, c->text, c->len, NONE), c->length);
    assert_int_equal(lpo_regex_is(&c->regex, c->text, c->len), c->length == c->len);
}

/* The quoted text and the escapes of 4 MiB: no memory for each character, no end of the stack. */
static void long_texts_match(void **state)
{
    enum { LONG = 4 << 20 };
    char *text = malloc(LONG);
    struct lpo_lexer lx;

    (void)state;
    for (size_t i = 0; i < LONG; i++)
        text[i] = i % 2 ? 'x' : '\\';
    text[LONG - 2] = 'x'; /* else it is an escaped quote */
    text[0] = text[LONG - 1] = '\'';
    lx = lpo_hydra_lexer(text, LONG, LPO_MODE_AFTER);
    assert_int_equal(lpo_hydra_lexer_next(&lx).len, LONG);
    lx = lpo_hydra_lexer(text + 1, LONG - 2, LPO_MODE_TEXT);
    assert_int_equal(lpo_hydra_lexer_next(&lx).len, LONG - 2);
    memset(text, '7', LONG);
    lx = lpo_hydra_lexer(text, LONG, LPO_MODE_AFTER);
    assert_int_equal(lpo_hydra_lexer_next(&lx).kind, LPO_TOK_INT);
    assert_true(lx.at == lx.end);
    free(text);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, long_texts_match);
    return unit_run(&u);
}
