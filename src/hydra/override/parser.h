/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/override/parser.h - what the parts of the override parser share: parse.c and value.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hydra/tokens.h"

struct lpo_arena;
struct lpo_err;
struct lpo_override;

/* The parser looks two tokens ahead at most. A fault of the tokens' order ends it at once; a fault
 * of a value (`late`) waits, because the rest of the text may hold a fault of the first kind, and
 * Hydra evaluates nothing before all of the text is read. */
struct lpo_ov_parser {
    struct lpo_arena *arena;
    struct lpo_lexer lexer;
    struct lpo_token ahead[2];
    unsigned nahead;
    bool first; /* inside the first element of the value */
    unsigned depth;
    bool late;
    bool nested;      /* a sweep is inside a value; reported last */
    const char *mark; /* columns are counted on from here */
    size_t mark_column;
    struct lpo_override *ov;
    struct lpo_err *err;
};

/* How much further Hydra's parser reads before it complains of a token: a bad character in what it
 * reads is what it reports instead. */
enum lpo_ov_peek {
    LPO_OV_PEEK_NONE,
    LPO_OV_PEEK_ONE, /* it tries to go on without the token */
    LPO_OV_PEEK_ALL, /* it found no way at all, and quotes the text up to there */
};

/* The token `n` ahead, 0 or 1. */
struct lpo_token lpo_override_look(struct lpo_ov_parser *p, unsigned n);
enum lpo_token_kind lpo_override_next(struct lpo_ov_parser *p); /* its kind */
struct lpo_token lpo_override_take(struct lpo_ov_parser *p);
int lpo_override_expect(struct lpo_ov_parser *p, enum lpo_token_kind kind);

/* In characters from 0, of the next token. */
size_t lpo_override_column(struct lpo_ov_parser *p);

/* The next token, or the one `n` ahead, is not what may follow. Returns the error. */
int lpo_override_refuse(struct lpo_ov_parser *p, enum lpo_ov_peek peek, const char *wanted);
int lpo_override_refuse_at(struct lpo_ov_parser *p, unsigned n, enum lpo_ov_peek peek,
                           const char *wanted);

/* All after the first '=' (value.c): sets value, sweep and value_type. */
int lpo_override_value(struct lpo_ov_parser *p);
