/* SPDX-License-Identifier: Apache-2.0 */
/* One override from its text: the key, and all that follows the first '='. */

#include "hydra/node.h"
#include "hydra/override/override.h"
#include "hydra/tokens.h"

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

/* --- tokens, and refusing them -------------------------------------------------------------- */

static struct lpo_token look(struct lpo_ov_parser *p, unsigned n)
{
    while (p->nahead <= n)
        p->ahead[p->nahead++] = lpo_hydra_lexer_next(&p->lexer);
    return p->ahead[n];
}

static enum lpo_token_kind next_kind(struct lpo_ov_parser *p)
{
    return look(p, 0).kind;
}

static struct lpo_token take_token(struct lpo_ov_parser *p)
{
    struct lpo_token t = look(p, 0);
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
    struct lpo_token t = look(p, n);

    if (peek == LPO_OV_PEEK_ONE && t.kind != LPO_TOK_BAD)
        return look(p, n + 1);
    while (peek == LPO_OV_PEEK_ALL && t.kind != LPO_TOK_BAD && t.kind != LPO_TOK_END)
        t = n < 1 ? look(p, ++n) : lpo_hydra_lexer_next(&p->lexer);
    return t;
}

/* The token `n` ahead (0 or 1) is not what may follow. */
static int refuse_at(struct lpo_ov_parser *p, unsigned n, enum lpo_ov_peek peek, const char *wanted)
{
    struct lpo_token t = look(p, n), bad = first_bad(p, n, p->first ? LPO_OV_PEEK_ALL : peek);

    if (bad.kind == LPO_TOK_BAD)
        return bad_character(p, bad);
    p->ov->fault = LPO_FAULT_SYNTAX;
    if (t.kind == LPO_TOK_END)
        return lpo_fail(p->err, LPO_E_CONFIG, "unexpected end, expected %s", wanted);
    return lpo_fail(p->err, LPO_E_CONFIG, "column %zu: '%.*s', expected %s", column_of(p, t.at) + 1,
                    (int)(t.len > 40 ? 40 : t.len), t.at, wanted);
}

static int refuse(struct lpo_ov_parser *p, enum lpo_ov_peek peek, const char *wanted)
{
    return refuse_at(p, 0, peek, wanted);
}

static int expect(struct lpo_ov_parser *p, enum lpo_token_kind kind)
{
    if (next_kind(p) != kind)
        return refuse(p, LPO_OV_PEEK_ONE, lpo_hydra_token_name(kind));
    take_token(p);
    return 0;
}

static size_t column_here(struct lpo_ov_parser *p)
{
    return column_of(p, look(p, 0).at);
}

/* --- values: all after the first '=' ------------------------------------------------------------
 */

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
    size_t column = column_here(p);

    if (next_kind(p) == LPO_TOK_QUOTED) {
        lpo_vec_push(&tokens, take_token(p));
    } else {
        for (enum lpo_token_kind kind = next_kind(p);
             is_word(kind) && !(is_key && (kind == LPO_TOK_COLON || kind == LPO_TOK_INTERPOLATION));
             kind = next_kind(p))
            lpo_vec_push(&tokens, take_token(p));
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
    take_token(p);
    while (next_kind(p) != close || !first) {
        if (!starts(next_kind(p)))
            return refuse(p, LPO_OV_PEEK_ONE, first ? "a value or the closing bracket" : "a value");
        int rc = item(p, into);
        if (rc < 0)
            return rc;
        if (next_kind(p) == close)
            break;
        if (next_kind(p) != LPO_TOK_COMMA)
            return refuse(p, first ? LPO_OV_PEEK_ONE : LPO_OV_PEEK_NONE,
                          "',' or the closing bracket");
        take_token(p);
        first = false;
    }
    take_token(p);
    p->depth--;
    return 0;
}

static int list_item(struct lpo_ov_parser *p, void *into)
{
    struct lpo_override_value v = { 0 };
    int rc = element(p, &v);

    if (rc == 0)
        lpo_node_push(p->arena, into, plain(p, v));
    return rc;
}

static int list(struct lpo_ov_parser *p, struct lpo_override_value *out)
{
    *out = placed(p, lpo_node_list(p->arena), column_here(p));
    return items(p, LPO_TOK_BRACKET_CLOSE, starts_element, list_item, out->node);
}

static bool starts_key(enum lpo_token_kind kind)
{
    return is_word(kind) && kind != LPO_TOK_COLON && kind != LPO_TOK_INTERPOLATION;
}

static int map_item(struct lpo_ov_parser *p, void *into)
{
    struct lpo_override_value key = { 0 }, v = { 0 };
    int rc = primitive(p, true, &key);

    if (rc == 0)
        rc = expect(p, LPO_TOK_COLON);
    if (rc == 0)
        rc = element(p, &v);
    if (rc == 0)
        lpo_node_set_key(p->arena, into, key.node, plain(p, v));
    return rc;
}

static int map(struct lpo_ov_parser *p, struct lpo_override_value *out)
{
    *out = placed(p, lpo_node_map(p->arena), column_here(p));
    return items(p, LPO_TOK_BRACE_CLOSE, starts_key, map_item, out->node);
}

static int argument(struct lpo_ov_parser *p, void *into)
{
    arg_vec *args = into;
    struct lpo_ov_arg arg = { 0 };

    if (next_kind(p) == LPO_TOK_ID) {
        enum lpo_token_kind after = look(p, 1).kind;
        if (after == LPO_TOK_EQUAL) {
            struct lpo_token name = take_token(p);
            arg.name = lpo_arena_strndup(p->arena, name.at, name.len);
            take_token(p);
        } else if (!is_word(after) && after != LPO_TOK_POPEN && after != LPO_TOK_COMMA &&
                   after != LPO_TOK_PCLOSE) {
            return refuse_at(p, 1, LPO_OV_PEEK_ALL, "',' or ')'");
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
    size_t column = column_here(p);
    struct lpo_token name = take_token(p);
    LPO_FREED arg_vec args = { 0 };

    int rc = items(p, LPO_TOK_PCLOSE, starts_element, argument, &args);
    if (rc == 0 && (p->late || lpo_override_call(p->arena, name.at, name.len, args.at, args.len,
                                                 out, p->err) < 0))
        *out = late_fault(p, LPO_FAULT_FUNCTION);
    if (rc == 0 && out->node && !out->node->where.file)
        placed(p, out->node, column);
    return rc;
}

static int element(struct lpo_ov_parser *p, struct lpo_override_value *out)
{
    enum lpo_token_kind kind = next_kind(p);

    if (!starts_element(kind))
        return refuse(p, LPO_OV_PEEK_ONE, "a value");
    if (kind == LPO_TOK_BRACKET_OPEN)
        return list(p, out);
    if (kind == LPO_TOK_BRACE_OPEN)
        return map(p, out);
    if (kind == LPO_TOK_ID && look(p, 1).kind == LPO_TOK_POPEN)
        return function(p, out);
    return primitive(p, false, out);
}

static int simple_choice(struct lpo_ov_parser *p, struct lpo_override_value *value)
{
    struct lpo_node *values = lpo_node_list(p->arena);

    lpo_node_push(p->arena, values, plain(p, *value));
    while (next_kind(p) == LPO_TOK_COMMA) {
        take_token(p);
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

static int read_value(struct lpo_ov_parser *p)
{
    struct lpo_override_value v = { 0 };
    int rc = 0;

    if (next_kind(p) == LPO_TOK_END) {
        v = placed(p, lpo_node_string(p->arena, ""), column_here(p));
    } else if (!starts_element(next_kind(p))) {
        return refuse(p, LPO_OV_PEEK_ONE, "a value");
    } else {
        p->first = true; /* here Hydra's parser scans ahead without any repair */
        rc = element(p, &v);
        p->first = false;
        if (rc == 0 && next_kind(p) == LPO_TOK_COMMA)
            rc = simple_choice(p, &v);
    }
    p->ov->value = v.node;
    p->ov->sweep = v.sweep;
    p->ov->value_type = v.sweep ? v.sweep->type : LPO_VALUE_ELEMENT;
    return rc;
}

/* --- the key, and the whole ---------------------------------------------------------------- */

#define MAX_TEXT   (1 << 20) /* bytes of one override */
#define MAX_LEVELS 256       /* of a key, as in YAML */

/* Empty, a name or a dotted name. */
static int package(struct lpo_ov_parser *p)
{
    enum lpo_token_kind kind = next_kind(p);

    if (kind == LPO_TOK_ID || kind == LPO_TOK_KEY_SPECIAL || kind == LPO_TOK_DOT_PATH)
        take_token(p);
    else if (kind != LPO_TOK_END && kind != LPO_TOK_EQUAL && kind != LPO_TOK_AT)
        return refuse(p, LPO_OV_PEEK_ALL, "a key");
    return 0;
}

static const char *text_between(struct lpo_ov_parser *p, const char *from)
{
    return lpo_arena_strndup(p->arena, from, (size_t)(look(p, 0).at - from));
}

static int key(struct lpo_ov_parser *p)
{
    const char *from = look(p, 0).at;
    int rc = 0;

    if (next_kind(p) == LPO_TOK_ID && look(p, 1).kind == LPO_TOK_SLASH) {
        take_token(p);
        while (rc == 0 && next_kind(p) == LPO_TOK_SLASH) {
            take_token(p);
            rc = expect(p, LPO_TOK_ID);
        }
    } else {
        rc = package(p);
    }
    if (rc < 0)
        return rc;
    p->ov->key = text_between(p, from);
    if (next_kind(p) != LPO_TOK_AT)
        return 0;
    take_token(p);
    from = look(p, 0).at;
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
    enum lpo_token_kind kind = next_kind(p);

    if (kind == LPO_TOK_TILDE) {
        take_token(p);
        p->ov->type = LPO_OV_DEL;
        return 0;
    }
    if (kind == LPO_TOK_PLUS) {
        take_token(p);
        p->ov->type = LPO_OV_ADD;
        if (next_kind(p) == LPO_TOK_PLUS) {
            take_token(p);
            p->ov->type = LPO_OV_FORCE_ADD;
            return 0;
        }
    }
    return starts_key_or_equal(next_kind(p)) ? 0 : refuse(p, LPO_OV_PEEK_ONE, "a key");
}

static int override(struct lpo_ov_parser *p)
{
    int rc = prefix(p);

    if (rc == 0)
        rc = key(p);
    if (rc < 0)
        return rc;
    if (p->ov->type == LPO_OV_DEL && next_kind(p) == LPO_TOK_END)
        return 0;
    rc = expect(p, LPO_TOK_EQUAL);
    if (rc == 0)
        rc = read_value(p);
    if (rc == 0 && next_kind(p) != LPO_TOK_END)
        rc = refuse(p, LPO_OV_PEEK_ONE, "',' or the end");
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
