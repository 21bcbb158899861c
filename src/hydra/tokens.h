/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/tokens.h - the words of Hydra's two grammars: of overrides, and of what stands in ${…}.
 *
 * Both lexers have modes, as those of Hydra and OmegaConf, and a rule for each token in each mode.
 * The longest match wins; of equal ones the rule that comes first. Tokens are cut one by one on
 * demand, because an error of the grammar before a bad character is reported first. */
#pragma once

#include "util/base.h"

struct lpo_node;

enum lpo_token_kind {
    LPO_TOK_END,
    LPO_TOK_BAD,  /* no token begins here */
    LPO_TOK_DEEP, /* too many brackets and quotes inside each other */
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
    LPO_TOK_ESC,      /* one or more "\," "\ " …, to be halved */
    LPO_TOK_BLANKS,
    LPO_TOK_QUOTED,        /* overrides: with both quotes */
    LPO_TOK_INTERPOLATION, /* overrides: ${…} without '}' inside */
    LPO_TOK_TEXT,
    LPO_TOK_ESC_INTER, /* \${ after an even number of backslashes */
    LPO_TOK_TOP_ESC,   /* an even number of backslashes, in text */
    LPO_TOK_QUOTED_ESC,
    LPO_TOK_INTER_OPEN,
    LPO_TOK_INTER_CLOSE,
    LPO_TOK_QUOTE_OPEN,
    LPO_TOK_QUOTE_CLOSE,
    LPO_TOK_DOT,
    LPO_TOK_INTER_KEY,
};

struct lpo_token {
    enum lpo_token_kind kind;
    const char *at; /* into the text */
    size_t len;
};

enum lpo_token_mode {
    LPO_MODE_KEY,   /* an override, before its first '=' */
    LPO_MODE_AFTER, /* and after it */
    LPO_MODE_TEXT,  /* of a config, with interpolations in it */
    LPO_MODE_SINGLE,
    LPO_MODE_DOUBLE, /* inside quotes */
    LPO_MODE_INTER,  /* inside ${…}, before a colon */
    LPO_MODE_VALUE,  /* and after it */
};

enum { LPO_LEXER_DEPTH = 64 };

struct lpo_lexer {
    const char *from, *at, *end;
    unsigned char modes[LPO_LEXER_DEPTH];
    size_t depth; /* modes below the current one */
};

struct lpo_lexer lpo_hydra_lexer(const char *text, size_t len, enum lpo_token_mode mode);
/* At the end, LPO_TOK_END again and again; after a bad character, LPO_TOK_BAD again and again. */
struct lpo_token lpo_hydra_lexer_next(struct lpo_lexer *lx);

const char *lpo_hydra_token_name(enum lpo_token_kind kind); /* "'='", "a name", "the end" */
/* The value of a number, a boolean or null; NULL: it is text. */
struct lpo_node *lpo_hydra_token_value(struct lpo_arena *a, struct lpo_token t);
