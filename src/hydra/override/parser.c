#include "hydra/override/parser.h"

#include <string.h>

#include "hydra/override/override.h"
#include "util/err.h"
#include "util/str.h"

struct lpo_token lpo_override_look(struct lpo_ov_parser *p, unsigned n)
{
    while (p->nahead <= n)
        p->ahead[p->nahead++] = lpo_override_lexer_next(&p->lexer);
    return p->ahead[n];
}

enum lpo_token_kind lpo_override_next(struct lpo_ov_parser *p)
{
    return lpo_override_look(p, 0).kind;
}

struct lpo_token lpo_override_take(struct lpo_ov_parser *p)
{
    struct lpo_token t = lpo_override_look(p, 0);
    p->ahead[0] = p->ahead[1];
    p->nahead--;
    return t;
}

static size_t column_of(struct lpo_ov_parser *p, const char *at)
{
    if (!p->mark || at < p->mark) {
        p->mark = p->ov->text;
        p->mark_column = 0;
    }
    for (; p->mark < at; p->mark_column++) {
        size_t n = lpo_str_utf8_len(p->mark, (size_t)(at - p->mark));
        p->mark += n ? n : 1;
    }
    return p->mark_column;
}

static int bad_character(struct lpo_ov_parser *p, struct lpo_token t)
{
    size_t room = strlen(t.at), n = lpo_str_utf8_len(t.at, room);

    p->ov->fault = LPO_FAULT_LEXER;
    p->ov->column = column_of(p, t.at);
    if (p->lexer.in_value && (*t.at == '\'' || *t.at == '"'))
        return lpo_fail(p->err, LPO_E_CONFIG,
                        "column %zu: the quote %c is never closed; escape it inside quotes of the "
                        "other kind, or close it",
                        p->ov->column + 1, *t.at);
    return lpo_fail(p->err, LPO_E_CONFIG, "column %zu: '%.*s' cannot stand here%s",
                    p->ov->column + 1, (int)(n ? n : 1), t.at,
                    p->lexer.in_value ? "; put the value in quotes: key='…'"
                                      : "; a key is made of letters, digits, '_', '-', '.', '/'");
}

static struct lpo_token first_bad(struct lpo_ov_parser *p, unsigned n, enum lpo_ov_peek peek)
{
    struct lpo_token t = lpo_override_look(p, n);

    if (peek == LPO_OV_PEEK_ONE && t.kind != LPO_TOK_BAD)
        return lpo_override_look(p, n + 1);
    while (peek == LPO_OV_PEEK_ALL && t.kind != LPO_TOK_BAD && t.kind != LPO_TOK_END)
        t = n < 1 ? lpo_override_look(p, ++n) : lpo_override_lexer_next(&p->lexer);
    return t;
}

/* The token `n` ahead (0 or 1) is not what may follow. */
int lpo_override_refuse_at(struct lpo_ov_parser *p, unsigned n, enum lpo_ov_peek peek,
                           const char *wanted)
{
    struct lpo_token t = lpo_override_look(p, n),
                     bad = first_bad(p, n, p->first ? LPO_OV_PEEK_ALL : peek);

    if (bad.kind == LPO_TOK_BAD)
        return bad_character(p, bad);
    p->ov->fault = LPO_FAULT_SYNTAX;
    if (t.kind == LPO_TOK_END)
        return lpo_fail(p->err, LPO_E_CONFIG, "it ends where %s is expected", wanted);
    return lpo_fail(p->err, LPO_E_CONFIG, "column %zu: '%.*s' where %s is expected",
                    column_of(p, t.at) + 1, (int)(t.len > 40 ? 40 : t.len), t.at, wanted);
}

int lpo_override_refuse(struct lpo_ov_parser *p, enum lpo_ov_peek peek, const char *wanted)
{
    return lpo_override_refuse_at(p, 0, peek, wanted);
}

int lpo_override_expect(struct lpo_ov_parser *p, enum lpo_token_kind kind)
{
    if (lpo_override_next(p) != kind)
        return lpo_override_refuse(p, LPO_OV_PEEK_ONE, lpo_override_token_name(kind));
    lpo_override_take(p);
    return 0;
}

size_t lpo_override_column(struct lpo_ov_parser *p)
{
    return column_of(p, lpo_override_look(p, 0).at);
}
