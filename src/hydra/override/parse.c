/* SPDX-License-Identifier: Apache-2.0 */
/* One override from its text: the tokens ahead, the key, then value.c for what follows '='. */
#include <string.h>

#include "hydra/override/override.h"
#include "hydra/override/parser.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

/* Tokens, and refusing them */

struct lpo_token lpo_override_look(struct lpo_ov_parser *p, unsigned n)
{
    while (p->nahead <= n)
        p->ahead[p->nahead++] = lpo_hydra_lexer_next(&p->lexer);
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
    bool in_value = p->lexer.modes[0] == LPO_MODE_AFTER;

    p->ov->fault = LPO_FAULT_LEXER;
    p->ov->column = column_of(p, t.at);
    if (in_value && (*t.at == '\'' || *t.at == '"'))
        return lpo_fail(p->err, LPO_E_CONFIG,
                        "column %zu: the quote %c is never closed; escape it inside quotes of the "
                        "other kind, or close it",
                        p->ov->column + 1, *t.at);
    return lpo_fail(p->err, LPO_E_CONFIG, "column %zu: '%.*s' is not allowed here%s",
                    p->ov->column + 1, (int)(n ? n : 1), t.at,
                    in_value ? "; put the value in quotes: key='…'"
                             : "; a key is made of letters, digits, '_', '-', '.', '/'");
}

static struct lpo_token first_bad(struct lpo_ov_parser *p, unsigned n, enum lpo_ov_peek peek)
{
    struct lpo_token t = lpo_override_look(p, n);

    if (peek == LPO_OV_PEEK_ONE && t.kind != LPO_TOK_BAD)
        return lpo_override_look(p, n + 1);
    while (peek == LPO_OV_PEEK_ALL && t.kind != LPO_TOK_BAD && t.kind != LPO_TOK_END)
        t = n < 1 ? lpo_override_look(p, ++n) : lpo_hydra_lexer_next(&p->lexer);
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
        return lpo_override_refuse(p, LPO_OV_PEEK_ONE, lpo_hydra_token_name(kind));
    lpo_override_take(p);
    return 0;
}

size_t lpo_override_column(struct lpo_ov_parser *p)
{
    return column_of(p, lpo_override_look(p, 0).at);
}

/* The key, and the whole */

#define MAX_TEXT   (1 << 20) /* bytes of one override */
#define MAX_LEVELS 256       /* of a key, as in YAML */

/* Empty, a name or a dotted name. */
static int package(struct lpo_ov_parser *p)
{
    enum lpo_token_kind kind = lpo_override_next(p);

    if (kind == LPO_TOK_ID || kind == LPO_TOK_KEY_SPECIAL || kind == LPO_TOK_DOT_PATH)
        lpo_override_take(p);
    else if (kind != LPO_TOK_END && kind != LPO_TOK_EQUAL && kind != LPO_TOK_AT)
        return lpo_override_refuse(p, LPO_OV_PEEK_ALL, "a key");
    return 0;
}

static const char *text_between(struct lpo_ov_parser *p, const char *from)
{
    return lpo_arena_strndup(p->arena, from, (size_t)(lpo_override_look(p, 0).at - from));
}

static int key(struct lpo_ov_parser *p)
{
    const char *from = lpo_override_look(p, 0).at;
    int rc = 0;

    if (lpo_override_next(p) == LPO_TOK_ID && lpo_override_look(p, 1).kind == LPO_TOK_SLASH) {
        lpo_override_take(p);
        while (rc == 0 && lpo_override_next(p) == LPO_TOK_SLASH) {
            lpo_override_take(p);
            rc = lpo_override_expect(p, LPO_TOK_ID);
        }
    } else {
        rc = package(p);
    }
    if (rc < 0)
        return rc;
    p->ov->key = text_between(p, from);
    if (lpo_override_next(p) != LPO_TOK_AT)
        return 0;
    lpo_override_take(p);
    from = lpo_override_look(p, 0).at;
    rc = package(p);
    if (rc == 0)
        p->ov->package = text_between(p, from);
    return rc;
}

static bool starts_key_or_equal(enum lpo_token_kind kind)
{
    return kind == LPO_TOK_EQUAL || kind == LPO_TOK_AT || kind == LPO_TOK_ID ||
           kind == LPO_TOK_KEY_SPECIAL || kind == LPO_TOK_DOT_PATH;
}

/* The sign before the key. */
static int prefix(struct lpo_ov_parser *p)
{
    enum lpo_token_kind kind = lpo_override_next(p);

    if (kind == LPO_TOK_TILDE) {
        lpo_override_take(p);
        p->ov->type = LPO_OV_DEL;
        return 0;
    }
    if (kind == LPO_TOK_PLUS) {
        lpo_override_take(p);
        p->ov->type = LPO_OV_ADD;
        if (lpo_override_next(p) == LPO_TOK_PLUS) {
            lpo_override_take(p);
            p->ov->type = LPO_OV_FORCE_ADD;
            return 0;
        }
    }
    return starts_key_or_equal(lpo_override_next(p))
               ? 0
               : lpo_override_refuse(p, LPO_OV_PEEK_ONE, "a key");
}

static int override(struct lpo_ov_parser *p)
{
    int rc = prefix(p);

    if (rc == 0)
        rc = key(p);
    if (rc < 0)
        return rc;
    if (p->ov->type == LPO_OV_DEL && lpo_override_next(p) == LPO_TOK_END)
        return 0;
    rc = lpo_override_expect(p, LPO_TOK_EQUAL);
    if (rc == 0)
        rc = lpo_override_value(p);
    if (rc == 0 && lpo_override_next(p) != LPO_TOK_END)
        rc = lpo_override_refuse(p, LPO_OV_PEEK_ONE, "',' or the end");
    return rc;
}

static size_t levels(const char *key)
{
    size_t n = 1;

    for (; *key; key++)
        n += *key == '.' || *key == '/';
    return n;
}

int lpo_override_parse(struct lpo_arena *a, const char *text, struct lpo_override *out,
                       struct lpo_err *err)
{
    size_t len = strlen(text);
    *out = (struct lpo_override){ .text = lpo_arena_strndup(a, text, len), .key = "" };
    struct lpo_ov_parser p = {
        .arena = a, .lexer = lpo_hydra_lexer(out->text, len, LPO_MODE_KEY), .ov = out, .err = err
    };
    int rc;

    if (len > MAX_TEXT) {
        out->fault = LPO_FAULT_SYNTAX;
        rc = lpo_fail(err, LPO_E_LIMIT, "%zu bytes are more than an override may have", len);
    } else {
        rc = override(&p);
        if (rc == 0 && levels(out->key) > MAX_LEVELS) {
            out->fault = LPO_FAULT_VALUE;
            rc = lpo_fail(err, LPO_E_CONFIG, "a key of %zu levels; %d are the most",
                          levels(out->key), MAX_LEVELS);
        } else if (rc == 0 && p.late) {
            rc = LPO_E_CONFIG;
        } else if (rc == 0 && p.nested) {
            out->fault = LPO_FAULT_VALUE;
            rc = lpo_fail(err, LPO_E_CONFIG, "a sweep cannot be inside another value");
        }
    }
    if (rc < 0)
        return lpo_ctx(err, "override '%.200s'", out->text);
    return 0;
}

int lpo_override_parse_all(struct lpo_arena *a, const char *const *texts, size_t count,
                           struct lpo_override **out, struct lpo_err *err)
{
    struct lpo_override *all = lpo_arena_array(a, count, sizeof *all);

    for (size_t i = 0; i < count; i++)
        if (lpo_override_parse(a, texts[i], &all[i], err) < 0)
            return err ? err->code : LPO_E_CONFIG;
    *out = all;
    return 0;
}
