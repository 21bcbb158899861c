/* hydra/override/value.h - from tokens to a value. Inside override*.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hydra/override/lexer.h"

struct lpo_arena;
struct lpo_node;
struct lpo_str;

/* May the token be part of an unquoted value? */
bool lpo_override_is_primitive(enum lpo_token_kind kind);

/* Tokens that stand side by side: one keeps its type, several are a string. Blanks at both ends
 * are dropped; NULL when nothing is left. */
struct lpo_node *lpo_override_primitive(struct lpo_arena *a, const struct lpo_token *tokens,
                                        size_t count);

/* A string inside its quotes, so that the lexer gives it back. */
void lpo_override_add_quoted(struct lpo_str *s, const char *text, size_t len, char quote);
/* A string without quotes, special characters escaped. */
void lpo_override_add_escaped(struct lpo_str *s, const char *text, size_t len);
