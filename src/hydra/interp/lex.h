/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/interp/lex.h - words of the interpolation grammar. Only parse.c uses this.
 *
 * The lexer has modes, as OmegaConf's: plain text, quoted text, the inside of ${…} before a colon
 * (names) and after it (values). In each the longest match wins, the earlier rule on a tie. */
#pragma once

#include <stddef.h>

struct lpo_err;

enum lpo_itok_type {
    LPO_IT_EOF,
    LPO_IT_STR,       /* ANY_STR */
    LPO_IT_ESC_INTER, /* \${ after an even number of backslashes */
    LPO_IT_TOP_ESC,   /* an even number of backslashes, in text */
    LPO_IT_QUOTED_ESC,
    LPO_IT_ESC, /* escapes to be halved: \, \( … */
    LPO_IT_INTER_OPEN,
    LPO_IT_INTER_CLOSE,
    LPO_IT_BRACE_OPEN,
    LPO_IT_BRACE_CLOSE,
    LPO_IT_BRACKET_OPEN,
    LPO_IT_BRACKET_CLOSE,
    LPO_IT_QUOTE_OPEN,
    LPO_IT_QUOTE_CLOSE,
    LPO_IT_COMMA,
    LPO_IT_COLON,
    LPO_IT_DOT,
    LPO_IT_FLOAT,
    LPO_IT_INT,
    LPO_IT_BOOL,
    LPO_IT_NULL,
    LPO_IT_UNQUOTED_CHAR,
    LPO_IT_ID,
    LPO_IT_INTER_KEY,
    LPO_IT_WS,
};

struct lpo_itok {
    enum lpo_itok_type type;
    const char *at;
    size_t len;
};

enum lpo_imode { LPO_IM_TEXT, LPO_IM_VALUE, LPO_IM_INTER, LPO_IM_SINGLE, LPO_IM_DOUBLE };

enum { LPO_INTERP_DEPTH = 64 };

struct lpo_ilexer {
    const char *from, *at, *end;
    enum lpo_imode modes[LPO_INTERP_DEPTH];
    size_t depth; /* modes below the current one */
};

void lpo_interp_lex_init(struct lpo_ilexer *lx, const char *text, size_t len, enum lpo_imode mode);
int lpo_interp_lex_next(struct lpo_ilexer *lx, struct lpo_itok *out, struct lpo_err *err);
