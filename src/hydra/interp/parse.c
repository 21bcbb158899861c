/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/interp/parse.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hydra/interp/lex.h"
#include "hydra/node.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

struct parsing {
    struct lpo_arena *arena;
    struct lpo_ilexer lexer;
    struct lpo_itok tok; /* the one being looked at */
    struct lpo_err *err;
};

static int advance(struct parsing *p)
{
    return lpo_interp_lex_next(&p->lexer, &p->tok, p->err);
}

static int unexpected(const struct parsing *p, const char *wanted)
{
    const struct lpo_ilexer *lx = &p->lexer;

    return lpo_fail(p->err, LPO_E_CONFIG, "interpolation '%.*s': expected %s at column %td",
                    (int)(lx->end - lx->from), lx->from, wanted, p->tok.at - lx->from + 1);
}

static int expect(struct parsing *p, enum lpo_itok_type type, const char *wanted)
{
    return p->tok.type == type ? advance(p) : unexpected(p, wanted);
}

static struct lpo_iexpr *fresh(struct parsing *p, enum lpo_iexpr_kind kind)
{
    struct lpo_iexpr *e = LPO_NEW(p->arena, struct lpo_iexpr);

    e->kind = kind;
    e->source = p->tok.at;
    return e;
}

static void add(struct parsing *p, struct lpo_iexpr *to, struct lpo_iexpr *kid)
{
    if (to->count == to->cap) {
        size_t cap = to->cap ? to->cap * 2 : 4;
        struct lpo_iexpr **kids = lpo_arena_array(p->arena, cap, sizeof(*kids));

        if (to->count)
            memcpy(kids, to->kids, to->count * sizeof(*kids));
        to->kids = kids;
        to->cap = cap;
    }
    to->kids[to->count++] = kid;
}

static void add_value(struct parsing *p, struct lpo_iexpr *to, struct lpo_node *value)
{
    struct lpo_iexpr *lit = fresh(p, LPO_I_LITERAL);

    lit->value = value;
    add(p, to, lit);
}

static void add_text(struct parsing *p, struct lpo_iexpr *to, const char *text, size_t len)
{
    add_value(p, to, lpo_node_stringn(p->arena, text, len));
}

/* Every second character: the escapes without their backslashes. */
static void add_halved(struct parsing *p, struct lpo_iexpr *to, const char *text, size_t len)
{
    char *half = lpo_arena_alloc(p->arena, len / 2 + 1);

    for (size_t i = 0; i < len / 2; i++)
        half[i] = text[2 * i + 1];
    add_text(p, to, half, len / 2);
}

static int parse_interpolation(struct parsing *p, struct lpo_iexpr **out);

static int add_interpolation(struct parsing *p, struct lpo_iexpr *to)
{
    struct lpo_iexpr *kid;
    int rc = parse_interpolation(p, &kid);

    if (rc == 0)
        add(p, to, kid);
    return rc;
}

/* A stretch of text up to the end or the closing quote. */
static int parse_text(struct parsing *p, struct lpo_iexpr *to)
{
    while (p->tok.type != LPO_IT_EOF && p->tok.type != LPO_IT_QUOTE_CLOSE) {
        struct lpo_itok t = p->tok;
        int rc;

        if (t.type == LPO_IT_INTER_OPEN) {
            rc = add_interpolation(p, to);
            if (rc < 0)
                return rc;
            continue;
        }
        rc = advance(p);
        if (rc < 0)
            return rc;
        if (t.type == LPO_IT_ESC_INTER) /* half of the backslashes, then ${ */
            add_text(p, to, t.at + t.len - (t.len / 2 + 1), t.len / 2 + 1);
        else if (t.type == LPO_IT_ESC ||
                 (t.type == LPO_IT_TOP_ESC && p->tok.type == LPO_IT_INTER_OPEN) ||
                 (t.type == LPO_IT_QUOTED_ESC &&
                  (p->tok.type == LPO_IT_INTER_OPEN || p->tok.type == LPO_IT_QUOTE_CLOSE)))
            add_halved(p, to, t.at, t.len);
        else
            add_text(p, to, t.at, t.len);
    }
    return 0;
}

static int parse_quoted(struct parsing *p, struct lpo_iexpr **out)
{
    int rc = advance(p);

    *out = fresh(p, LPO_I_QUOTED);
    if (rc == 0)
        rc = parse_text(p, *out);
    return rc < 0 ? rc : expect(p, LPO_IT_QUOTE_CLOSE, "the closing quote");
}

static char *bare_number(struct parsing *p)
{
    char *text = lpo_arena_alloc(p->arena, p->tok.len + 1), *to = text;

    for (size_t i = 0; i < p->tok.len; i++)
        if (p->tok.at[i] != '_' && !(i == 0 && p->tok.at[i] == '+'))
            *to++ = p->tok.at[i];
    return text;
}

/* The value of a single token. */
static struct lpo_node *lone_value(struct parsing *p)
{
    switch (p->tok.type) {
    case LPO_IT_NULL:
        return lpo_node_null(p->arena);
    case LPO_IT_INT: {
        char *digits = bare_number(p);

        return lpo_node_bigint(p->arena, digits, strlen(digits));
    }
    case LPO_IT_FLOAT:
        return lpo_node_float(p->arena, strtod(bare_number(p), NULL));
    case LPO_IT_BOOL:
        return lpo_node_bool(p->arena, tolower((unsigned char)*p->tok.at) == 't');
    default:
        return lpo_node_stringn(p->arena, p->tok.at, p->tok.len);
    }
}

static bool is_primitive(enum lpo_itok_type type, bool as_key)
{
    switch (type) {
    case LPO_IT_ID:
    case LPO_IT_NULL:
    case LPO_IT_INT:
    case LPO_IT_FLOAT:
    case LPO_IT_BOOL:
    case LPO_IT_UNQUOTED_CHAR:
    case LPO_IT_ESC:
    case LPO_IT_WS:
        return true;
    case LPO_IT_COLON:
    case LPO_IT_INTER_OPEN:
        return !as_key;
    default:
        return false;
    }
}

/* Words, numbers and interpolations in a row; one alone keeps its type. */
static int parse_primitive(struct parsing *p, bool as_key, struct lpo_iexpr **out)
{
    struct lpo_iexpr *e = fresh(p, LPO_I_TEXT);
    struct lpo_node *first = NULL;
    int rc = 0;

    if (!is_primitive(p->tok.type, as_key))
        return unexpected(p, as_key ? "a key" : "a value");
    while (rc == 0 && is_primitive(p->tok.type, as_key)) {
        if (p->tok.type == LPO_IT_INTER_OPEN) {
            rc = add_interpolation(p, e);
            continue;
        }
        if (e->count == 0 && p->tok.type != LPO_IT_ESC)
            first = lone_value(p);
        if (p->tok.type == LPO_IT_ESC)
            add_halved(p, e, p->tok.at, p->tok.len);
        else
            add_text(p, e, p->tok.at, p->tok.len);
        rc = advance(p);
    }
    if (rc == 0 && e->count == 1 && first) {
        e->kind = LPO_I_LITERAL;
        e->value = first;
    }
    *out = e;
    return rc;
}

static int parse_element(struct parsing *p, struct lpo_iexpr **out);

/* element (, element?)* up to a closing sign; what is left out is "". */
static int parse_sequence(struct parsing *p, enum lpo_itok_type close, struct lpo_iexpr *to)
{
    bool wants_element = true;

    if (p->tok.type == close)
        return 0;
    while (p->tok.type != close) {
        struct lpo_iexpr *kid;
        int rc;

        if (p->tok.type == LPO_IT_COMMA) {
            if (wants_element)
                add_text(p, to, "", 0);
            wants_element = true;
            rc = advance(p);
        } else if (!wants_element) {
            return unexpected(p, "',' or the closing bracket");
        } else {
            rc = parse_element(p, &kid);
            if (rc == 0)
                add(p, to, kid);
            wants_element = false;
        }
        if (rc < 0)
            return rc;
    }
    if (wants_element)
        add_text(p, to, "", 0);
    return 0;
}

static int parse_list(struct parsing *p, struct lpo_iexpr **out)
{
    int rc = advance(p);

    *out = fresh(p, LPO_I_LIST);
    if (rc == 0)
        rc = parse_sequence(p, LPO_IT_BRACKET_CLOSE, *out);
    return rc < 0 ? rc : expect(p, LPO_IT_BRACKET_CLOSE, "']'");
}

static int parse_dict(struct parsing *p, struct lpo_iexpr **out)
{
    struct lpo_iexpr *e = fresh(p, LPO_I_DICT), *key, *value;
    int rc = advance(p);

    *out = e;
    if (rc < 0 || p->tok.type == LPO_IT_BRACE_CLOSE)
        return rc < 0 ? rc : advance(p);
    for (;;) {
        rc = parse_primitive(p, true, &key);
        if (rc == 0)
            rc = expect(p, LPO_IT_COLON, "':'");
        if (rc == 0)
            rc = parse_element(p, &value);
        if (rc < 0)
            return rc;
        add(p, e, key);
        add(p, e, value);
        if (p->tok.type != LPO_IT_COMMA)
            return expect(p, LPO_IT_BRACE_CLOSE, "'}'");
        rc = advance(p);
        if (rc < 0)
            return rc;
    }
}

static int parse_element(struct parsing *p, struct lpo_iexpr **out)
{
    switch (p->tok.type) {
    case LPO_IT_QUOTE_OPEN:
        return parse_quoted(p, out);
    case LPO_IT_BRACKET_OPEN:
        return parse_list(p, out);
    case LPO_IT_BRACE_OPEN:
        return parse_dict(p, out);
    default:
        return parse_primitive(p, false, out);
    }
}

/* A key of a path: an interpolation or a name. */
static int parse_key(struct parsing *p, struct lpo_iexpr *to)
{
    if (p->tok.type == LPO_IT_INTER_OPEN)
        return add_interpolation(p, to);
    if (p->tok.type != LPO_IT_ID && p->tok.type != LPO_IT_INTER_KEY)
        return unexpected(p, "a key");
    add_text(p, to, p->tok.at, p->tok.len);
    return advance(p);
}

static int take(struct parsing *p, struct lpo_iexpr *to)
{
    add_text(p, to, p->tok.at, p->tok.len);
    return advance(p);
}

static int parse_bracketed(struct parsing *p, struct lpo_iexpr *to)
{
    int rc = take(p, to);

    if (rc == 0)
        rc = parse_key(p, to);
    if (rc == 0 && p->tok.type != LPO_IT_BRACKET_CLOSE)
        return unexpected(p, "']'");
    return rc < 0 ? rc : take(p, to);
}

/* The path or the resolver's name; *named says that it can be a resolver's. */
static int parse_path(struct parsing *p, struct lpo_iexpr *path, bool *named)
{
    int rc = 0;

    *named = true;
    while (rc == 0 && p->tok.type == LPO_IT_DOT) {
        *named = false;
        rc = take(p, path);
    }
    for (bool first = true; rc == 0; first = false) {
        if (p->tok.type == LPO_IT_BRACKET_OPEN) {
            *named = false;
            rc = parse_bracketed(p, path);
        } else if (first || p->tok.type == LPO_IT_DOT) {
            if (!first)
                rc = take(p, path);
            if (p->tok.type == LPO_IT_INTER_KEY)
                *named = false;
            if (rc == 0)
                rc = parse_key(p, path);
        } else {
            break;
        }
    }
    return rc;
}

static int parse_interpolation(struct parsing *p, struct lpo_iexpr **out)
{
    struct lpo_iexpr *e = fresh(p, LPO_I_NODE), *path;
    bool named = false;
    int rc = advance(p);

    *out = e;
    path = fresh(p, LPO_I_TEXT);
    if (rc == 0)
        rc = parse_path(p, path, &named);
    if (rc < 0)
        return rc;
    if (p->tok.type == LPO_IT_COLON && named) {
        e->kind = LPO_I_RESOLVER;
        e->name = path;
        rc = advance(p);
        if (rc == 0)
            rc = parse_sequence(p, LPO_IT_BRACE_CLOSE, e);
    } else if (p->tok.type == LPO_IT_INTER_CLOSE) {
        e->kids = path->kids;
        e->count = path->count;
    } else {
        rc = unexpected(p, "'}'");
    }
    e->source_len = (size_t)(p->tok.at + p->tok.len - e->source);
    return rc < 0 ? rc : advance(p);
}

static void start(struct parsing *p, struct lpo_arena *a, const char *text, size_t len,
                  enum lpo_imode mode, struct lpo_err *err)
{
    *p = (struct parsing){ .arena = a, .err = err };
    lpo_interp_lex_init(&p->lexer, text, len, mode);
}

int lpo_interp_parse(struct lpo_arena *a, const char *text, size_t len, struct lpo_iexpr **out,
                     struct lpo_err *err)
{
    struct parsing p;
    int rc;

    start(&p, a, text, len, LPO_IM_TEXT, err);
    rc = advance(&p);
    *out = fresh(&p, LPO_I_TEXT);
    if (rc == 0)
        rc = parse_text(&p, *out);
    return rc < 0 ? rc : expect(&p, LPO_IT_EOF, "the end");
}

int lpo_interp_parse_element(struct lpo_arena *a, const char *text, size_t len,
                             struct lpo_iexpr **out, struct lpo_err *err)
{
    struct parsing p;
    int rc;

    start(&p, a, text, len, LPO_IM_VALUE, err);
    rc = advance(&p);
    if (rc == 0)
        rc = parse_element(&p, out);
    return rc < 0 ? rc : expect(&p, LPO_IT_EOF, "the end");
}
