/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/interp/private.h"

#include "hydra/node.h"
#include "hydra/tokens.h"

struct parsing {
    struct lpo_arena *arena;
    struct lpo_lexer lexer;
    struct lpo_token tok; /* the one being looked at */
    struct lpo_err *err;
};

static int advance(struct parsing *p)
{
    const struct lpo_lexer *lx = &p->lexer;
    size_t left;

    p->tok = lpo_hydra_lexer_next(&p->lexer);
    left = (size_t)(lx->end - lx->at);
    if (p->tok.kind == LPO_TOK_DEEP)
        return lpo_fail(p->err, LPO_E_LIMIT, "interpolation nested too deeply");
    if (p->tok.kind == LPO_TOK_BAD)
        return lpo_fail(p->err, LPO_E_CONFIG,
                        "interpolation '%.*s': nothing fits at column %td, '%.*s'",
                        (int)(lx->end - lx->from), lx->from, lx->at - lx->from + 1,
                        (int)(left < 24 ? left : 24), lx->at);
    return 0;
}

static int unexpected(const struct parsing *p, const char *wanted)
{
    const struct lpo_lexer *lx = &p->lexer;

    return lpo_fail(p->err, LPO_E_CONFIG, "interpolation '%.*s': expected %s at column %td",
                    (int)(lx->end - lx->from), lx->from, wanted, p->tok.at - lx->from + 1);
}

static int expect(struct parsing *p, enum lpo_token_kind kind, const char *wanted)
{
    return p->tok.kind == kind ? advance(p) : unexpected(p, wanted);
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
    while (p->tok.kind != LPO_TOK_END && p->tok.kind != LPO_TOK_QUOTE_CLOSE) {
        struct lpo_token t = p->tok;
        int rc;

        if (t.kind == LPO_TOK_INTER_OPEN) {
            rc = add_interpolation(p, to);
            if (rc < 0)
                return rc;
            continue;
        }
        rc = advance(p);
        if (rc < 0)
            return rc;
        if (t.kind == LPO_TOK_ESC_INTER) /* half of the backslashes, then ${ */
            add_text(p, to, t.at + t.len - (t.len / 2 + 1), t.len / 2 + 1);
        else if (t.kind == LPO_TOK_ESC ||
                 (t.kind == LPO_TOK_TOP_ESC && p->tok.kind == LPO_TOK_INTER_OPEN) ||
                 (t.kind == LPO_TOK_QUOTED_ESC &&
                  (p->tok.kind == LPO_TOK_INTER_OPEN || p->tok.kind == LPO_TOK_QUOTE_CLOSE)))
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
    return rc < 0 ? rc : expect(p, LPO_TOK_QUOTE_CLOSE, "the closing quote");
}

/* The value of a single token. */
static struct lpo_node *lone_value(struct parsing *p)
{
    struct lpo_node *value = lpo_hydra_token_value(p->arena, p->tok);

    return value ? value : lpo_node_stringn(p->arena, p->tok.at, p->tok.len);
}

static bool is_primitive(enum lpo_token_kind kind, bool as_key)
{
    switch (kind) {
    case LPO_TOK_ID:
    case LPO_TOK_NULL:
    case LPO_TOK_INT:
    case LPO_TOK_FLOAT:
    case LPO_TOK_BOOL:
    case LPO_TOK_UNQUOTED:
    case LPO_TOK_ESC:
    case LPO_TOK_BLANKS:
        return true;
    case LPO_TOK_COLON:
    case LPO_TOK_INTER_OPEN:
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

    if (!is_primitive(p->tok.kind, as_key))
        return unexpected(p, as_key ? "a key" : "a value");
    while (rc == 0 && is_primitive(p->tok.kind, as_key)) {
        if (p->tok.kind == LPO_TOK_INTER_OPEN) {
            rc = add_interpolation(p, e);
            continue;
        }
        if (e->count == 0 && p->tok.kind != LPO_TOK_ESC)
            first = lone_value(p);
        if (p->tok.kind == LPO_TOK_ESC)
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
static int parse_sequence(struct parsing *p, enum lpo_token_kind close, struct lpo_iexpr *to)
{
    bool wants_element = true;

    if (p->tok.kind == close)
        return 0;
    while (p->tok.kind != close) {
        struct lpo_iexpr *kid;
        int rc;

        if (p->tok.kind == LPO_TOK_COMMA) {
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
        rc = parse_sequence(p, LPO_TOK_BRACKET_CLOSE, *out);
    return rc < 0 ? rc : expect(p, LPO_TOK_BRACKET_CLOSE, "']'");
}

static int parse_dict(struct parsing *p, struct lpo_iexpr **out)
{
    struct lpo_iexpr *e = fresh(p, LPO_I_DICT), *key = NULL, *value = NULL;
    int rc = advance(p);

    *out = e;
    if (rc < 0 || p->tok.kind == LPO_TOK_BRACE_CLOSE)
        return rc < 0 ? rc : advance(p);
    for (;;) {
        rc = parse_primitive(p, true, &key);
        if (rc == 0)
            rc = expect(p, LPO_TOK_COLON, "':'");
        if (rc == 0)
            rc = parse_element(p, &value);
        if (rc < 0)
            return rc;
        add(p, e, key);
        add(p, e, value);
        if (p->tok.kind != LPO_TOK_COMMA)
            return expect(p, LPO_TOK_BRACE_CLOSE, "'}'");
        rc = advance(p);
        if (rc < 0)
            return rc;
    }
}

static int parse_element(struct parsing *p, struct lpo_iexpr **out)
{
    switch (p->tok.kind) {
    case LPO_TOK_QUOTE_OPEN:
        return parse_quoted(p, out);
    case LPO_TOK_BRACKET_OPEN:
        return parse_list(p, out);
    case LPO_TOK_BRACE_OPEN:
        return parse_dict(p, out);
    default:
        return parse_primitive(p, false, out);
    }
}

/* A key of a path: an interpolation or a name. */
static int parse_key(struct parsing *p, struct lpo_iexpr *to)
{
    if (p->tok.kind == LPO_TOK_INTER_OPEN)
        return add_interpolation(p, to);
    if (p->tok.kind != LPO_TOK_ID && p->tok.kind != LPO_TOK_INTER_KEY)
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
    if (rc == 0 && p->tok.kind != LPO_TOK_BRACKET_CLOSE)
        return unexpected(p, "']'");
    return rc < 0 ? rc : take(p, to);
}

/* The path or the resolver's name; *named says that it can be a resolver's. */
static int parse_path(struct parsing *p, struct lpo_iexpr *path, bool *named)
{
    int rc = 0;

    *named = true;
    while (rc == 0 && p->tok.kind == LPO_TOK_DOT) {
        *named = false;
        rc = take(p, path);
    }
    for (bool first = true; rc == 0; first = false) {
        if (p->tok.kind == LPO_TOK_BRACKET_OPEN) {
            *named = false;
            rc = parse_bracketed(p, path);
        } else if (first || p->tok.kind == LPO_TOK_DOT) {
            if (!first)
                rc = take(p, path);
            if (p->tok.kind == LPO_TOK_INTER_KEY)
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
    if (p->tok.kind == LPO_TOK_COLON && named) {
        e->kind = LPO_I_RESOLVER;
        e->name = path;
        rc = advance(p);
        if (rc == 0)
            rc = parse_sequence(p, LPO_TOK_BRACE_CLOSE, e);
    } else if (p->tok.kind == LPO_TOK_INTER_CLOSE) {
        e->kids = path->kids;
        e->count = path->count;
    } else {
        rc = unexpected(p, "'}'");
    }
    e->source_len = (size_t)(p->tok.at + p->tok.len - e->source);
    return rc < 0 ? rc : advance(p);
}

static void start(struct parsing *p, struct lpo_arena *a, const char *text, size_t len,
                  enum lpo_token_mode mode, struct lpo_err *err)
{
    *p = (struct parsing){ .arena = a, .lexer = lpo_hydra_lexer(text, len, mode), .err = err };
}

int lpo_interp_parse(struct lpo_arena *a, const char *text, size_t len, struct lpo_iexpr **out,
                     struct lpo_err *err)
{
    struct parsing p;
    int rc;

    start(&p, a, text, len, LPO_MODE_TEXT, err);
    rc = advance(&p);
    *out = fresh(&p, LPO_I_TEXT);
    if (rc == 0)
        rc = parse_text(&p, *out);
    return rc < 0 ? rc : expect(&p, LPO_TOK_END, "the end");
}

int lpo_interp_parse_element(struct lpo_arena *a, const char *text, size_t len,
                             struct lpo_iexpr **out, struct lpo_err *err)
{
    struct parsing p;
    int rc;

    start(&p, a, text, len, LPO_MODE_VALUE, err);
    rc = advance(&p);
    if (rc == 0)
        rc = parse_element(&p, out);
    return rc < 0 ? rc : expect(&p, LPO_TOK_END, "the end");
}
