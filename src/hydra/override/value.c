/* SPDX-License-Identifier: Apache-2.0 */
/* All that follows the first '=': words, lists, maps, calls, and choices between commas. */
#include <stdlib.h>
#include <string.h>

#include "hydra/node.h"
#include "hydra/override/call.h"
#include "hydra/override/override.h"
#include "hydra/override/parser.h"
#include "hydra/override/sweep.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"
#include "util/vec.h"

/* Unquoted and quoted words */

/* May the token be part of an unquoted value? */
static bool is_word(enum lpo_token_kind kind)
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

/* Tokens side by side: one keeps its type, several are a string. Blanks at both ends are dropped;
 * NULL when nothing is left. */
static struct lpo_node *word_of(struct lpo_arena *a, const struct lpo_token *tokens, size_t count)
{
    if (count && tokens[0].kind == LPO_TOK_BLANKS) {
        tokens++;
        count--;
    }
    if (count && tokens[count - 1].kind == LPO_TOK_BLANKS)
        count--;
    if (!count)
        return NULL;

    struct lpo_node *node = count != 1 ? NULL
                            : tokens[0].kind == LPO_TOK_QUOTED
                                ? unquote(a, tokens[0])
                                : lpo_hydra_token_value(a, tokens[0]);
    if (node)
        return node;
    LPO_STR s = { 0 };
    for (size_t i = 0; i < count; i++)
        add_token(&s, tokens[i]);
    return lpo_node_stringn(a, lpo_str_text(&s), s.len);
}

/* Lists, maps, calls, and values between commas */

#define MAX_DEPTH 100 /* of lists, maps and calls inside each other */

typedef LPO_VEC(struct lpo_ov_arg) arg_vec;

/* Remembers the first fault of a value and lets the parser go on. */
static struct lpo_override_value late_fault(struct lpo_ov_parser *p, enum lpo_override_fault fault)
{
    if (!p->late)
        p->ov->fault = fault;
    p->late = true;
    return (struct lpo_override_value){ .node = lpo_node_null(p->arena) };
}

static struct lpo_override_value placed(struct lpo_ov_parser *p, struct lpo_node *node,
                                        size_t column)
{
    node->where.file = p->ov->text;
    node->where.column = (unsigned)column + 1;
    return (struct lpo_override_value){ .node = node };
}

/* Values inside a list, a map or a,b,c: there a sweep has no meaning. */
static struct lpo_node *plain(struct lpo_ov_parser *p, struct lpo_override_value v)
{
    if (v.node)
        return v.node;
    p->nested = true;
    return lpo_node_null(p->arena);
}

static int element(struct lpo_ov_parser *p, struct lpo_override_value *out);

static bool starts_element(enum lpo_token_kind kind)
{
    return kind == LPO_TOK_QUOTED || kind == LPO_TOK_BRACKET_OPEN || kind == LPO_TOK_BRACE_OPEN ||
           is_word(kind);
}

static int primitive(struct lpo_ov_parser *p, bool is_key, struct lpo_override_value *out)
{
    LPO_VEC(struct lpo_token) tokens = { 0 };
    size_t column = lpo_override_column(p);

    if (lpo_override_next(p) == LPO_TOK_QUOTED) {
        lpo_vec_push(&tokens, lpo_override_take(p));
    } else {
        for (enum lpo_token_kind kind = lpo_override_next(p);
             is_word(kind) && !(is_key && (kind == LPO_TOK_COLON || kind == LPO_TOK_INTERPOLATION));
             kind = lpo_override_next(p))
            lpo_vec_push(&tokens, lpo_override_take(p));
    }
    struct lpo_node *node = word_of(p->arena, tokens.at, tokens.len);
    lpo_vec_free(&tokens);
    if (node) {
        *out = placed(p, node, column);
        return 0;
    }
    if (!p->late)
        lpo_fail(p->err, LPO_E_CONFIG, "a value cannot be made of blanks alone");
    *out = late_fault(p, LPO_FAULT_VALUE);
    return 0;
}

/* What the three bracketed forms share: items between commas up to `close`. The parser of Hydra
 * peeks after the first item, not after later ones. */
static int items(struct lpo_ov_parser *p, enum lpo_token_kind close,
                 bool (*starts)(enum lpo_token_kind),
                 int (*item)(struct lpo_ov_parser *p, void *into), void *into)
{
    bool first = true;

    if (++p->depth > MAX_DEPTH) {
        p->ov->fault = LPO_FAULT_SYNTAX;
        return lpo_fail(p->err, LPO_E_LIMIT, "more than %d brackets inside each other", MAX_DEPTH);
    }
    lpo_override_take(p);
    while (lpo_override_next(p) != close || !first) {
        if (!starts(lpo_override_next(p)))
            return lpo_override_refuse(p, LPO_OV_PEEK_ONE,
                                       first ? "a value or the closing bracket" : "a value");
        int rc = item(p, into);
        if (rc < 0)
            return rc;
        if (lpo_override_next(p) == close)
            break;
        if (lpo_override_next(p) != LPO_TOK_COMMA)
            return lpo_override_refuse(p, first ? LPO_OV_PEEK_ONE : LPO_OV_PEEK_NONE,
                                       "',' or the closing bracket");
        lpo_override_take(p);
        first = false;
    }
    lpo_override_take(p);
    p->depth--;
    return 0;
}

static int list_item(struct lpo_ov_parser *p, void *into)
{
    struct lpo_override_value v;
    int rc = element(p, &v);

    if (rc == 0)
        lpo_node_push(p->arena, into, plain(p, v));
    return rc;
}

static int list(struct lpo_ov_parser *p, struct lpo_override_value *out)
{
    *out = placed(p, lpo_node_list(p->arena), lpo_override_column(p));
    return items(p, LPO_TOK_BRACKET_CLOSE, starts_element, list_item, out->node);
}

static bool starts_key(enum lpo_token_kind kind)
{
    return is_word(kind) && kind != LPO_TOK_COLON && kind != LPO_TOK_INTERPOLATION;
}

static int map_item(struct lpo_ov_parser *p, void *into)
{
    struct lpo_override_value key, v;
    int rc = primitive(p, true, &key);

    if (rc == 0)
        rc = lpo_override_expect(p, LPO_TOK_COLON);
    if (rc == 0)
        rc = element(p, &v);
    if (rc == 0)
        lpo_node_set_key(p->arena, into, key.node, plain(p, v));
    return rc;
}

static int map(struct lpo_ov_parser *p, struct lpo_override_value *out)
{
    *out = placed(p, lpo_node_map(p->arena), lpo_override_column(p));
    return items(p, LPO_TOK_BRACE_CLOSE, starts_key, map_item, out->node);
}

static int argument(struct lpo_ov_parser *p, void *into)
{
    arg_vec *args = into;
    struct lpo_ov_arg arg = { 0 };

    if (lpo_override_next(p) == LPO_TOK_ID) {
        enum lpo_token_kind after = lpo_override_look(p, 1).kind;
        if (after == LPO_TOK_EQUAL) {
            struct lpo_token name = lpo_override_take(p);
            arg.name = lpo_arena_strndup(p->arena, name.at, name.len);
            lpo_override_take(p);
        } else if (!is_word(after) && after != LPO_TOK_POPEN && after != LPO_TOK_COMMA &&
                   after != LPO_TOK_PCLOSE) {
            return lpo_override_refuse_at(p, 1, LPO_OV_PEEK_ALL, "',' or ')'");
        }
    }
    if (!arg.name && args->len && args->at[args->len - 1].name) {
        if (!p->late)
            lpo_fail(p->err, LPO_E_CONFIG, "a positional argument follows a named one");
        late_fault(p, LPO_FAULT_VALUE);
    }
    int rc = element(p, &arg.value);
    if (rc == 0)
        lpo_vec_push(args, arg);
    return rc;
}

static int function(struct lpo_ov_parser *p, struct lpo_override_value *out)
{
    size_t column = lpo_override_column(p);
    struct lpo_token name = lpo_override_take(p);
    arg_vec args = { 0 };

    int rc = items(p, LPO_TOK_PCLOSE, starts_element, argument, &args);
    if (rc == 0 && (p->late || lpo_override_call(p->arena, name.at, name.len, args.at, args.len,
                                                 out, p->err) < 0))
        *out = late_fault(p, LPO_FAULT_FUNCTION);
    if (rc == 0 && out->node && !out->node->where.file)
        placed(p, out->node, column);
    lpo_vec_free(&args);
    return rc;
}

static int element(struct lpo_ov_parser *p, struct lpo_override_value *out)
{
    enum lpo_token_kind kind = lpo_override_next(p);

    if (!starts_element(kind))
        return lpo_override_refuse(p, LPO_OV_PEEK_ONE, "a value");
    if (kind == LPO_TOK_BRACKET_OPEN)
        return list(p, out);
    if (kind == LPO_TOK_BRACE_OPEN)
        return map(p, out);
    if (kind == LPO_TOK_ID && lpo_override_look(p, 1).kind == LPO_TOK_POPEN)
        return function(p, out);
    return primitive(p, false, out);
}

static int simple_choice(struct lpo_ov_parser *p, struct lpo_override_value *value)
{
    struct lpo_node *values = lpo_node_list(p->arena);

    lpo_node_push(p->arena, values, plain(p, *value));
    while (lpo_override_next(p) == LPO_TOK_COMMA) {
        lpo_override_take(p);
        int rc = list_item(p, values);
        if (rc < 0)
            return rc;
    }
    value->node = NULL;
    value->sweep = LPO_NEW(p->arena, struct lpo_sweep);
    value->sweep->type = LPO_VALUE_SIMPLE_CHOICE;
    value->sweep->values = values;
    return 0;
}

int lpo_override_value(struct lpo_ov_parser *p)
{
    struct lpo_override_value v = { 0 };
    int rc = 0;

    if (lpo_override_next(p) == LPO_TOK_END) {
        v = placed(p, lpo_node_string(p->arena, ""), lpo_override_column(p));
    } else if (!starts_element(lpo_override_next(p))) {
        return lpo_override_refuse(p, LPO_OV_PEEK_ONE, "a value");
    } else {
        p->first = true; /* here Hydra's parser scans ahead without any repair */
        rc = element(p, &v);
        p->first = false;
        if (rc == 0 && lpo_override_next(p) == LPO_TOK_COMMA)
            rc = simple_choice(p, &v);
    }
    p->ov->value = v.node;
    p->ov->sweep = v.sweep;
    p->ov->value_type = v.sweep ? v.sweep->type : LPO_VALUE_ELEMENT;
    return rc;
}
