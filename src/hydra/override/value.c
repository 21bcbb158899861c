#include "hydra/override/value.h"

#include <stdlib.h>
#include <string.h>

#include "hydra/node.h"
#include "util/arena.h"
#include "util/str.h"

bool lpo_override_is_primitive(enum lpo_token_kind kind)
{
    switch (kind) {
    case LPO_TOK_ID:
    case LPO_TOK_NULL:
    case LPO_TOK_INT:
    case LPO_TOK_FLOAT:
    case LPO_TOK_BOOL:
    case LPO_TOK_INTERPOLATION:
    case LPO_TOK_UNQUOTED:
    case LPO_TOK_COLON:
    case LPO_TOK_ESC:
    case LPO_TOK_BLANKS:
        return true;
    default:
        return false;
    }
}

/* Only backslashes right before a quote are escapes; of n such, every second one is dropped. */
static struct lpo_node *unquote(struct lpo_arena *a, struct lpo_token t)
{
    LPO_STR s = { 0 };
    char quote = *t.at;
    const char *p = t.at + 1, *end = t.at + t.len - 1; /* at the closing quote */

    while (p < end) {
        size_t run = 0;
        while (p + run < end && p[run] == '\\')
            run++;
        bool before_quote = p[run] == quote; /* the closing one counts */
        for (size_t i = 0; i < (before_quote ? run / 2 : run); i++)
            lpo_str_addc(&s, '\\');
        p += run;
        if (p < end)
            lpo_str_addc(&s, *p++);
    }
    struct lpo_node *node = lpo_node_stringn(a, lpo_str_text(&s), s.len);
    node->quote = quote;
    return node;
}

static void add_token(struct lpo_str *s, struct lpo_token t)
{
    if (t.kind != LPO_TOK_ESC) {
        lpo_str_addn(s, t.at, t.len);
        return;
    }
    for (size_t i = 1; i < t.len; i += 2)
        lpo_str_addc(s, t.at[i]);
}

static struct lpo_node *number(struct lpo_arena *a, struct lpo_token t)
{
    LPO_STR s = { 0 };

    for (size_t i = 0; i < t.len; i++)
        if (t.at[i] != '_' && !(i == 0 && t.at[i] == '+'))
            lpo_str_addc(&s, t.at[i]);
    if (t.kind == LPO_TOK_INT)
        return lpo_node_bigint(a, s.at, s.len);
    return lpo_node_float(a, strtod(s.at, NULL));
}

static struct lpo_node *single(struct lpo_arena *a, struct lpo_token t)
{
    switch (t.kind) {
    case LPO_TOK_QUOTED:
        return unquote(a, t);
    case LPO_TOK_INT:
    case LPO_TOK_FLOAT:
        return number(a, t);
    case LPO_TOK_NULL:
        return lpo_node_null(a);
    case LPO_TOK_BOOL:
        return lpo_node_bool(a, t.len == strlen("true"));
    default:
        return NULL;
    }
}

struct lpo_node *lpo_override_primitive(struct lpo_arena *a, const struct lpo_token *tokens,
                                        size_t count)
{
    if (count && tokens[0].kind == LPO_TOK_BLANKS) {
        tokens++;
        count--;
    }
    if (count && tokens[count - 1].kind == LPO_TOK_BLANKS)
        count--;
    if (!count)
        return NULL;

    struct lpo_node *node = count == 1 ? single(a, tokens[0]) : NULL;
    if (node)
        return node;
    LPO_STR s = { 0 };
    for (size_t i = 0; i < count; i++)
        add_token(&s, tokens[i]);
    return lpo_node_stringn(a, lpo_str_text(&s), s.len);
}

void lpo_override_add_quoted(struct lpo_str *s, const char *text, size_t len, char quote)
{
    size_t run = 0; /* backslashes just written: doubled when a quote follows */

    lpo_str_addc(s, quote);
    for (size_t i = 0; i <= len; i++) {
        char c = i < len ? text[i] : quote;
        if (c == quote) {
            for (; run; run--)
                lpo_str_addc(s, '\\');
            if (i < len)
                lpo_str_addc(s, '\\');
        }
        run = c == '\\' ? run + 1 : 0;
        lpo_str_addc(s, c);
    }
}

void lpo_override_add_escaped(struct lpo_str *s, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] && strchr("\\()[]{}:=, \t", text[i]))
            lpo_str_addc(s, '\\');
        lpo_str_addc(s, text[i]);
    }
}
