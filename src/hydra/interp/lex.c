/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/interp/lex.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "util/err.h"

void lpo_interp_lex_init(struct lpo_ilexer *lx, const char *text, size_t len, enum lpo_imode mode)
{
    *lx = (struct lpo_ilexer){ .from = text, .at = text, .end = text + len };
    lx->modes[0] = mode;
}

static size_t left(const struct lpo_ilexer *lx)
{
    return (size_t)(lx->end - lx->at);
}

/* The byte `n` ahead, or 0 at the end (a NUL inside is no match for any rule but text). */
static char ahead(const struct lpo_ilexer *lx, size_t n)
{
    return n < left(lx) ? lx->at[n] : '\0';
}

static size_t blanks(const struct lpo_ilexer *lx, size_t n)
{
    size_t from = n;

    while (ahead(lx, n) == ' ' || ahead(lx, n) == '\t')
        n++;
    return n - from;
}

static int unrecognized(const struct lpo_ilexer *lx, struct lpo_err *err)
{
    size_t show = left(lx) < 24 ? left(lx) : 24;

    return lpo_fail(err, LPO_E_CONFIG, "interpolation '%.*s': nothing fits at column %td, '%.*s'",
                    (int)(lx->end - lx->from), lx->from, lx->at - lx->from + 1, (int)show, lx->at);
}

static int emit(struct lpo_ilexer *lx, struct lpo_itok *out, enum lpo_itok_type type, size_t len)
{
    *out = (struct lpo_itok){ type, lx->at, len };
    lx->at += len;
    return 0;
}

static int push(struct lpo_ilexer *lx, enum lpo_imode mode, struct lpo_err *err)
{
    if (lx->depth + 1 >= LPO_INTERP_DEPTH)
        return lpo_fail(err, LPO_E_LIMIT, "interpolation nested too deeply");
    lx->modes[++lx->depth] = mode;
    return 0;
}

static int pop(struct lpo_ilexer *lx, struct lpo_err *err)
{
    if (lx->depth == 0)
        return unrecognized(lx, err);
    lx->depth--;
    return 0;
}

/* ${ and blanks */
static int open_inter(struct lpo_ilexer *lx, struct lpo_itok *out, struct lpo_err *err)
{
    int rc = push(lx, LPO_IM_INTER, err);

    return rc < 0 ? rc : emit(lx, out, LPO_IT_INTER_OPEN, 2 + blanks(lx, 2));
}

/* Text at top level (`quote` 0) or inside quotes. Backslashes count only right before ${ or the
 * quote: an odd number escapes it, an even number is halved. */
static int lex_text(struct lpo_ilexer *lx, char quote, struct lpo_itok *out, struct lpo_err *err)
{
    size_t run = 0, slashes = 0, n = left(lx);

    if (ahead(lx, 0) == '$' && ahead(lx, 1) == '{')
        return open_inter(lx, out, err);
    if (quote && ahead(lx, 0) == quote) {
        lx->depth--;
        return emit(lx, out, LPO_IT_QUOTE_CLOSE, 1);
    }
    while (run < n && lx->at[run] != '$' && (!quote || lx->at[run] != quote))
        run++;
    while (slashes < run && lx->at[run - 1 - slashes] == '\\')
        slashes++;
    if (run > slashes) /* up to the last character that is no backslash */
        return emit(lx, out, LPO_IT_STR, run - slashes);
    if (slashes % 2 && run + 1 < n && lx->at[run] == '$' && lx->at[run + 1] == '{')
        return emit(lx, out, LPO_IT_ESC_INTER, run + 2);
    if (slashes % 2 && quote && run < n && lx->at[run] == quote)
        return emit(lx, out, LPO_IT_ESC, run + 1);
    if (slashes)
        return emit(lx, out,
                    slashes % 2 ? LPO_IT_STR
                    : quote     ? LPO_IT_QUOTED_ESC
                                : LPO_IT_TOP_ESC,
                    slashes);
    return emit(lx, out, LPO_IT_STR, 1); /* a lone $ */
}

static size_t id_len(const struct lpo_ilexer *lx)
{
    size_t n = 0;

    if (!isalpha((unsigned char)ahead(lx, 0)) && ahead(lx, 0) != '_')
        return 0;
    while (isalnum((unsigned char)ahead(lx, n)) || ahead(lx, n) == '_' || ahead(lx, n) == '-')
        n++;
    return n;
}

/* DIGIT ('_'? DIGIT)* */
static size_t digit_run(const struct lpo_ilexer *lx, size_t at)
{
    size_t n = at;

    if (!isdigit((unsigned char)ahead(lx, n)))
        return 0;
    while (isdigit((unsigned char)ahead(lx, n)) ||
           (ahead(lx, n) == '_' && isdigit((unsigned char)ahead(lx, n + 1))))
        n++;
    return n - at;
}

/* '0' | [1-9] ('_'? DIGIT)* */
static size_t unsigned_len(const struct lpo_ilexer *lx, size_t at)
{
    return ahead(lx, at) == '0' ? 1 : digit_run(lx, at);
}

static size_t word_len(const struct lpo_ilexer *lx, size_t at, const char *word)
{
    size_t n = strlen(word);

    return left(lx) >= at + n && strncasecmp(lx->at + at, word, n) == 0 ? n : 0;
}

/* The longest number here, and whether it is a float. */
static size_t number_len(const struct lpo_ilexer *lx, bool *is_float)
{
    size_t sign = ahead(lx, 0) == '+' || ahead(lx, 0) == '-', whole, n, exp;

    *is_float = true;
    if (word_len(lx, sign, "inf") || word_len(lx, sign, "nan"))
        return sign + 3;
    whole = unsigned_len(lx, sign);
    n = sign + whole;
    *is_float = false;
    if (ahead(lx, n) == '.') {
        size_t part = digit_run(lx, n + 1);

        if (whole || part) {
            n += 1 + part;
            *is_float = true;
        }
    }
    if (n == sign)
        return 0;
    if (ahead(lx, n) == 'e' || ahead(lx, n) == 'E') {
        size_t at = n + 1 + (ahead(lx, n + 1) == '+' || ahead(lx, n + 1) == '-');

        exp = digit_run(lx, at);
        if (exp) {
            *is_float = true;
            return at + exp;
        }
    }
    return n;
}

static size_t escapes_len(const struct lpo_ilexer *lx)
{
    size_t n = 0;

    while (ahead(lx, n) == '\\' && ahead(lx, n + 1) && strchr("\\()[]{}:=, \t", ahead(lx, n + 1)))
        n += 2;
    return n;
}

static int lex_word(struct lpo_ilexer *lx, struct lpo_itok *out, struct lpo_err *err)
{
    size_t id = id_len(lx), number, esc = escapes_len(lx);
    bool is_float;

    number = number_len(lx, &is_float);
    /* the longest match wins: "inf" is a number, "info" is a name; on a tie the number's rule is
     * first */
    if (number && number >= id)
        return emit(lx, out, is_float ? LPO_IT_FLOAT : LPO_IT_INT, number);
    if (id == 4 && (word_len(lx, 0, "true") || word_len(lx, 0, "null")))
        return emit(lx, out, tolower((unsigned char)*lx->at) == 't' ? LPO_IT_BOOL : LPO_IT_NULL, 4);
    if (id == 5 && word_len(lx, 0, "false"))
        return emit(lx, out, LPO_IT_BOOL, 5);
    if (id)
        return emit(lx, out, LPO_IT_ID, id);
    if (esc)
        return emit(lx, out, LPO_IT_ESC, esc);
    if (ahead(lx, 0) && strchr("/-\\+.$%*@?|", ahead(lx, 0)))
        return emit(lx, out, LPO_IT_UNQUOTED_CHAR, 1);
    return unrecognized(lx, err);
}

static int lex_value(struct lpo_ilexer *lx, struct lpo_itok *out, struct lpo_err *err)
{
    size_t ws = blanks(lx, 0);
    char c = ahead(lx, ws);
    int rc;

    if (c == ',' || c == ':')
        return emit(lx, out, c == ',' ? LPO_IT_COMMA : LPO_IT_COLON, ws + 1 + blanks(lx, ws + 1));
    if (c == ']')
        return emit(lx, out, LPO_IT_BRACKET_CLOSE, ws + 1);
    if (c == '}') {
        rc = pop(lx, err);
        return rc < 0 ? rc : emit(lx, out, LPO_IT_BRACE_CLOSE, ws + 1);
    }
    if (ws)
        return emit(lx, out, LPO_IT_WS, ws);
    if (c == '$' && ahead(lx, 1) == '{')
        return open_inter(lx, out, err);
    if (c == '[')
        return emit(lx, out, LPO_IT_BRACKET_OPEN, 1 + blanks(lx, 1));
    if (c == '{') {
        rc = push(lx, LPO_IM_VALUE, err);
        return rc < 0 ? rc : emit(lx, out, LPO_IT_BRACE_OPEN, 1 + blanks(lx, 1));
    }
    if (c == '\'' || c == '"') {
        rc = push(lx, c == '"' ? LPO_IM_DOUBLE : LPO_IM_SINGLE, err);
        return rc < 0 ? rc : emit(lx, out, LPO_IT_QUOTE_OPEN, 1);
    }
    return lex_word(lx, out, err);
}

static size_t inter_key_len(const struct lpo_ilexer *lx)
{
    size_t n = 0;

    while (n < left(lx) && !strchr("\\{}()[]:. \t'\"", lx->at[n]))
        n++;
    return n;
}

static int lex_inter(struct lpo_ilexer *lx, struct lpo_itok *out, struct lpo_err *err)
{
    size_t ws = blanks(lx, 0), key, id;
    char c = ahead(lx, ws);

    if (c == ':') {
        /* what follows the colon are arguments; the closing brace is the same */
        lx->modes[lx->depth] = LPO_IM_VALUE;
        return emit(lx, out, LPO_IT_COLON, ws + 1 + blanks(lx, ws + 1));
    }
    if (c == '}') {
        lx->depth--;
        return emit(lx, out, LPO_IT_INTER_CLOSE, ws + 1);
    }
    if (ws)
        return unrecognized(lx, err);
    if (c == '$' && ahead(lx, 1) == '{')
        return open_inter(lx, out, err);
    if (c == '.')
        return emit(lx, out, LPO_IT_DOT, 1);
    if (c == '[' || c == ']')
        return emit(lx, out, c == '[' ? LPO_IT_BRACKET_OPEN : LPO_IT_BRACKET_CLOSE, 1);
    key = inter_key_len(lx);
    id = id_len(lx);
    if (key == 0)
        return unrecognized(lx, err);
    return emit(lx, out, id >= key ? LPO_IT_ID : LPO_IT_INTER_KEY, key);
}

int lpo_interp_lex_next(struct lpo_ilexer *lx, struct lpo_itok *out, struct lpo_err *err)
{
    if (lx->at == lx->end)
        return emit(lx, out, LPO_IT_EOF, 0);
    switch (lx->modes[lx->depth]) {
    case LPO_IM_TEXT:
        return lex_text(lx, 0, out, err);
    case LPO_IM_SINGLE:
        return lex_text(lx, '\'', out, err);
    case LPO_IM_DOUBLE:
        return lex_text(lx, '"', out, err);
    case LPO_IM_VALUE:
        return lex_value(lx, out, err);
    case LPO_IM_INTER:
        return lex_inter(lx, out, err);
    }
    return unrecognized(lx, err);
}
