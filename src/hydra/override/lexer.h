/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/override/lexer.h - the tokens of an override.
 *
 * Two modes, as in Hydra's lexer grammar: names and operators before the first '=', values after
 * it. The longest match wins; of equal ones the rule that comes first. Tokens are cut one by one
 * on demand, because an error of the grammar before a bad character is reported first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum lpo_token_kind {
    LPO_TOK_END,
    LPO_TOK_BAD, /* no token begins here */
    LPO_TOK_EQUAL,
    LPO_TOK_TILDE,
    LPO_TOK_PLUS,
    LPO_TOK_AT,
    LPO_TOK_COLON,
    LPO_TOK_SLASH,
    LPO_TOK_ID,
    LPO_TOK_KEY_SPECIAL, /* a name with '$' in it */
    LPO_TOK_DOT_PATH,
    LPO_TOK_POPEN,
    LPO_TOK_COMMA,
    LPO_TOK_PCLOSE,
    LPO_TOK_BRACKET_OPEN,
    LPO_TOK_BRACKET_CLOSE,
    LPO_TOK_BRACE_OPEN,
    LPO_TOK_BRACE_CLOSE,
    LPO_TOK_FLOAT,
    LPO_TOK_INT,
    LPO_TOK_BOOL,
    LPO_TOK_NULL,
    LPO_TOK_UNQUOTED, /* one of the characters that need no quotes */
    LPO_TOK_ESC,      /* one or more "\," "\ " … */
    LPO_TOK_BLANKS,
    LPO_TOK_QUOTED,
    LPO_TOK_INTERPOLATION, /* ${…} without '}' inside */
};

struct lpo_token {
    enum lpo_token_kind kind;
    const char *at; /* into the text */
    size_t len;
};

struct lpo_override_lexer {
    const char *at, *end;
    bool in_value;
};

struct lpo_override_lexer lpo_override_lexer(const char *text, size_t len);

/* At the end, LPO_TOK_END again and again; after a bad character, LPO_TOK_BAD again and again. */
struct lpo_token lpo_override_lexer_next(struct lpo_override_lexer *lx);

const char *lpo_override_token_name(enum lpo_token_kind kind); /* "'='", "a name", "the end" */
