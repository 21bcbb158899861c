/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/override/lexer.h"

#include <string.h>
#include <strings.h>

/* A rule returns how many bytes of [at, end) it matches; 0: none. */
typedef size_t rule_fn(const char *at, const char *end);

struct rule {
    enum lpo_token_kind kind;
    rule_fn *match;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t blanks(const char *at, const char *end)
{
    const char *p = at;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return (size_t)(p - at);
}

/* One character with blanks allowed before and after it. */
static size_t spaced(const char *at, const char *end, char c, bool before, bool after)
{
    const char *p = at + (before ? blanks(at, end) : 0);
    if (p == end || *p != c)
        return 0;
    p++;
    if (after)
        p += blanks(p, end);
    return (size_t)(p - at);
}

static size_t one(const char *at, const char *end, char c)
{
    return at < end && *at == c;
}

#define RULE_ONE(name, c)                                                                          \
    static size_t name(const char *at, const char *end)                                            \
    {                                                                                              \
        return one(at, end, c);                                                                    \
    }
#define RULE_SPACED(name, c, before, after)                                                        \
    static size_t name(const char *at, const char *end)                                            \
    {                                                                                              \
        return spaced(at, end, c, before, after);                                                  \
    }

RULE_ONE(tilde, '~')
RULE_ONE(plus, '+')
RULE_ONE(at_sign, '@')
RULE_ONE(colon, ':')
RULE_ONE(slash, '/')
RULE_SPACED(key_equal, '=', false, true)
RULE_SPACED(value_equal, '=', true, true)
RULE_SPACED(value_colon, ':', true, true)
RULE_SPACED(comma, ',', true, true)
RULE_SPACED(popen_, '(', true, true)
RULE_SPACED(pclose_, ')', true, false)
RULE_SPACED(bracket_open, '[', false, true)
RULE_SPACED(bracket_close, ']', true, false)
RULE_SPACED(brace_open, '{', false, true)
RULE_SPACED(brace_close, '}', true, false)

static size_t id(const char *at, const char *end)
{
    const char *p = at;
    if (p == end || !(is_alpha(*p) || *p == '_'))
        return 0;
    while (p < end && (is_alpha(*p) || is_digit(*p) || *p == '_' || *p == '-'))
        p++;
    return (size_t)(p - at);
}

static size_t key_special(const char *at, const char *end)
{
    const char *p = at;
    if (p == end || !(is_alpha(*p) || *p == '_' || *p == '$'))
        return 0;
    while (p < end && (is_alpha(*p) || is_digit(*p) || strchr("_-$", *p)))
        p++;
    return (size_t)(p - at);
}

/* digit (_? digit)* */
static size_t digits(const char *at, const char *end)
{
    const char *p = at;
    while (p < end) {
        if (is_digit(*p))
            p++;
        else if (p > at && *p == '_' && p + 1 < end && is_digit(p[1]))
            p += 2;
        else
            break;
    }
    return (size_t)(p - at);
}

/* 0, or digits that do not start with 0 */
static size_t int_unsigned(const char *at, const char *end)
{
    return one(at, end, '0') ? 1 : digits(at, end);
}

static size_t path_part(const char *at, const char *end)
{
    size_t n = key_special(at, end);
    return n ? n : int_unsigned(at, end);
}

static size_t dot_path(const char *at, const char *end)
{
    size_t n = path_part(at, end), dots = 0;
    while (n && at + n < end && at[n] == '.') {
        size_t part = path_part(at + n + 1, end);
        if (!part)
            break;
        n += 1 + part;
        dots++;
    }
    return dots ? n : 0;
}

static size_t sign(const char *at, const char *end)
{
    return at < end && (*at == '+' || *at == '-');
}

static size_t integer(const char *at, const char *end)
{
    size_t s = sign(at, end), n = int_unsigned(at + s, end);
    return n ? s + n : 0;
}

static size_t word(const char *at, const char *end, const char *want)
{
    size_t n = strlen(want);
    return (size_t)(end - at) >= n && strncasecmp(at, want, n) == 0 ? n : 0;
}

static size_t exponent(const char *at, const char *end)
{
    if (at == end || (*at != 'e' && *at != 'E'))
        return 0;
    size_t s = 1 + sign(at + 1, end), n = digits(at + s, end);
    return n ? s + n : 0;
}

static size_t real(const char *at, const char *end)
{
    size_t s = sign(at, end);
    const char *p = at + s;
    if (word(p, end, "inf") || word(p, end, "nan"))
        return s + 3;

    size_t whole = int_unsigned(p, end), n = whole, fraction = 0;
    bool point = p + n < end && p[n] == '.';
    if (point) {
        fraction = digits(p + n + 1, end);
        if (!whole && !fraction)
            return 0;
        n += 1 + fraction;
    }
    if (!n)
        return 0;
    size_t e = exponent(p + n, end);
    return point || e ? s + n + e : 0;
}

static size_t boolean(const char *at, const char *end)
{
    size_t n = word(at, end, "true");
    return n ? n : word(at, end, "false");
}

static size_t null(const char *at, const char *end)
{
    return word(at, end, "null");
}

static size_t unquoted(const char *at, const char *end)
{
    return at < end && *at && strchr("/-\\+.$%*@?|", *at);
}

static size_t escapes(const char *at, const char *end)
{
    const char *p = at;
    while (end - p >= 2 && *p == '\\' && p[1] && strchr("\\()[]{}:=, \t", p[1]))
        p += 2;
    return (size_t)(p - at);
}

/* Ends at the first quote with an even number of backslashes right before it. */
static size_t quoted(const char *at, const char *end)
{
    if (at == end || (*at != '\'' && *at != '"'))
        return 0;
    size_t slashes = 0;
    for (const char *p = at + 1; p < end; p++) {
        if (*p == *at && slashes % 2 == 0)
            return (size_t)(p + 1 - at);
        slashes = *p == '\\' ? slashes + 1 : 0;
    }
    return 0;
}

static size_t interpolation(const char *at, const char *end)
{
    if (end - at < 4 || at[0] != '$' || at[1] != '{' || at[2] == '}')
        return 0;
    const char *close = memchr(at + 2, '}', (size_t)(end - at - 2));
    return close ? (size_t)(close + 1 - at) : 0;
}

static const struct rule key_rules[] = {
    { LPO_TOK_EQUAL, key_equal },
    { LPO_TOK_TILDE, tilde },
    { LPO_TOK_PLUS, plus },
    { LPO_TOK_AT, at_sign },
    { LPO_TOK_COLON, colon },
    { LPO_TOK_SLASH, slash },
    { LPO_TOK_ID, id },
    { LPO_TOK_KEY_SPECIAL, key_special },
    { LPO_TOK_DOT_PATH, dot_path },
};

static const struct rule value_rules[] = {
    { LPO_TOK_POPEN, popen_ },
    { LPO_TOK_COMMA, comma },
    { LPO_TOK_PCLOSE, pclose_ },
    { LPO_TOK_BRACKET_OPEN, bracket_open },
    { LPO_TOK_BRACKET_CLOSE, bracket_close },
    { LPO_TOK_BRACE_OPEN, brace_open },
    { LPO_TOK_BRACE_CLOSE, brace_close },
    { LPO_TOK_COLON, value_colon },
    { LPO_TOK_EQUAL, value_equal },
    { LPO_TOK_FLOAT, real },
    { LPO_TOK_INT, integer },
    { LPO_TOK_BOOL, boolean },
    { LPO_TOK_NULL, null },
    { LPO_TOK_UNQUOTED, unquoted },
    { LPO_TOK_ID, id },
    { LPO_TOK_ESC, escapes },
    { LPO_TOK_BLANKS, blanks },
    { LPO_TOK_QUOTED, quoted },
    { LPO_TOK_INTERPOLATION, interpolation },
};

static const char *const names[] = {
    [LPO_TOK_END] = "the end",
    [LPO_TOK_BAD] = "a character that is not allowed here",
    [LPO_TOK_EQUAL] = "'='",
    [LPO_TOK_TILDE] = "'~'",
    [LPO_TOK_PLUS] = "'+'",
    [LPO_TOK_AT] = "'@'",
    [LPO_TOK_COLON] = "':'",
    [LPO_TOK_SLASH] = "'/'",
    [LPO_TOK_ID] = "a name",
    [LPO_TOK_KEY_SPECIAL] = "a name with '$'",
    [LPO_TOK_DOT_PATH] = "a dotted name",
    [LPO_TOK_POPEN] = "'('",
    [LPO_TOK_COMMA] = "','",
    [LPO_TOK_PCLOSE] = "')'",
    [LPO_TOK_BRACKET_OPEN] = "'['",
    [LPO_TOK_BRACKET_CLOSE] = "']'",
    [LPO_TOK_BRACE_OPEN] = "'{'",
    [LPO_TOK_BRACE_CLOSE] = "'}'",
    [LPO_TOK_FLOAT] = "a number",
    [LPO_TOK_INT] = "an integer",
    [LPO_TOK_BOOL] = "true or false",
    [LPO_TOK_NULL] = "null",
    [LPO_TOK_UNQUOTED] = "a character",
    [LPO_TOK_ESC] = "an escaped character",
    [LPO_TOK_BLANKS] = "blanks",
    [LPO_TOK_QUOTED] = "a quoted text",
    [LPO_TOK_INTERPOLATION] = "an interpolation",
};

struct lpo_override_lexer lpo_override_lexer(const char *text, size_t len)
{
    return (struct lpo_override_lexer){ .at = text, .end = text + len };
}

struct lpo_token lpo_override_lexer_next(struct lpo_override_lexer *lx)
{
    struct lpo_token best = { LPO_TOK_BAD, lx->at, 0 };
    if (lx->at == lx->end)
        best.kind = LPO_TOK_END;

    const struct rule *rules = lx->in_value ? value_rules : key_rules;
    size_t count = lx->in_value ? sizeof value_rules / sizeof *value_rules
                                : sizeof key_rules / sizeof *key_rules;
    for (size_t i = 0; best.kind != LPO_TOK_END && i < count; i++) {
        size_t len = rules[i].match(lx->at, lx->end);
        if (len > best.len) {
            best.kind = rules[i].kind;
            best.len = len;
        }
    }
    lx->at += best.len;
    if (best.kind == LPO_TOK_EQUAL)
        lx->in_value = true;
    return best;
}

const char *lpo_override_token_name(enum lpo_token_kind kind)
{
    return names[kind];
}
