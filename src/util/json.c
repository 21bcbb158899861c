/* SPDX-License-Identifier: Apache-2.0 */
#include "util/json.h"

#include <errno.h>

#include "util/file.h"
#include "util/json_pull.h"

/* The parser calls itself for each level: a file of brackets must not use up the stack. */
enum { MAX_DEPTH = 256 };

struct parser {
    struct lpo_arena *arena;
    const char *start;
    struct lpo_pull q;
    struct lpo_err *err;
    struct lpo_str scratch;
};

static int parse_value(struct parser *t, struct lpo_json *v, int depth);

static int fail_at(struct parser *t, const char *at, const char *what)
{
    size_t line = 1, column = 1;

    for (const char *c = t->start; c < at; c++) {
        column++;
        if (*c == '\n') {
            line++;
            column = 1;
        }
    }
    return lpo_fail(t->err, LPO_E_FORMAT, "line %zu, column %zu: %s", line, column, what);
}

/* What the pull reader says, as an error with its place. */
static int fail_pull(struct parser *t, int rc)
{
    if (rc == LPO_PULL_MORE)
        return fail_at(t, t->q.end, "the text ends too early");
    return fail_at(t, t->q.p, t->q.why);
}

static int keep_text(struct parser *t, const struct lpo_json_pull_text *raw, const char **text,
                     size_t *len)
{
    const char *bad;

    if (!raw->escaped) {
        *text = lpo_arena_strndup(t->arena, raw->at, raw->len);
        *len = raw->len;
        return 0;
    }
    lpo_str_clear(&t->scratch);
    if (lpo_json_pull_unescape(raw, t->q.mode, &t->scratch, &bad) < 0)
        return fail_at(t, bad, "unknown escape");
    *text = lpo_arena_strndup(t->arena, lpo_str_text(&t->scratch), t->scratch.len);
    *len = t->scratch.len;
    return 0;
}

static int parse_string(struct parser *t, struct lpo_json *v)
{
    struct lpo_json_pull_text raw;
    int rc = lpo_json_pull_string(&t->q, &raw);

    v->kind = LPO_JSON_STRING;
    return rc < 0 ? fail_pull(t, rc) : keep_text(t, &raw, &v->text, &v->len);
}

static int parse_number(struct parser *t, struct lpo_json *v)
{
    struct lpo_json_pull_text raw;
    bool whole;
    int rc = lpo_json_pull_number(&t->q, &raw, &whole);

    if (rc < 0)
        return fail_pull(t, rc);
    v->len = raw.len;
    /* the text is kept: a number of 20 digits is neither an integer nor exact as a double */
    v->text = lpo_arena_strndup(t->arena, raw.at, raw.len);
    v->kind = LPO_JSON_REAL;
    v->real = strtod(v->text, NULL);
    if (whole) {
        errno = 0;
        v->integer = strtoll(v->text, NULL, 10);
        if (errno == 0)
            v->kind = LPO_JSON_INT;
    }
    return 0;
}

static int parse_word(struct parser *t, struct lpo_json *v)
{
    struct lpo_json_pull_text raw;
    int rc = lpo_json_pull_word(&t->q, &raw);

    if (rc < 0)
        return fail_pull(t, rc);
    v->boolean = raw.at[0] == 't';
    v->kind = v->boolean || raw.at[0] == 'f' ? LPO_JSON_BOOL : LPO_JSON_NULL;
    return 0;
}

static int parse_children(struct parser *t, struct lpo_json *v, int depth)
{
    bool object = *t->q.p++ == '{', first = true;
    struct lpo_json **tail = &v->first;
    int rc;

    v->kind = object ? LPO_JSON_OBJECT : LPO_JSON_ARRAY;
    if (depth >= MAX_DEPTH)
        return fail_at(t, t->q.p, "nested too deeply");
    for (;;) {
        struct lpo_json_pull_text key = { 0 };
        struct lpo_json *child;

        rc = object ? lpo_json_pull_member(&t->q, &first, &key) : lpo_json_pull_item(&t->q, &first);
        if (rc <= 0)
            return rc < 0 ? fail_pull(t, rc) : 0;
        child = LPO_NEW(t->arena, struct lpo_json);
        rc = object ? keep_text(t, &key, &child->key, &child->key_len) : 0;
        if (rc == 0)
            rc = parse_value(t, child, depth + 1);
        if (rc < 0)
            return rc;
        *tail = child;
        tail = &child->next;
        v->count++;
    }
}

/* "-Infinity"; peek has seen the first byte. */
static bool is_word(const struct parser *t)
{
    return t->q.mode == LPO_PULL_LENIENT && t->q.end - t->q.p > 1 && t->q.p[1] > '9';
}

static int parse_value(struct parser *t, struct lpo_json *v, int depth)
{
    int c = lpo_json_pull_peek(&t->q);

    if (c < 0)
        return fail_pull(t, c);
    if (c == '{' || c == '[')
        return parse_children(t, v, depth);
    if (c == '"')
        return parse_string(t, v);
    if (c == '-' ? !is_word(t) : c >= '0' && c <= '9')
        return parse_number(t, v);
    return parse_word(t, v);
}

static int parse(struct lpo_arena *a, const char *text, size_t len, enum lpo_pull_mode mode,
                 const struct lpo_json **out, struct lpo_err *err)
{
    struct parser t = { a, text, { text, text + len, mode, NULL }, err, { 0 } };
    struct lpo_json *v = LPO_NEW(a, struct lpo_json);
    size_t bad;
    int rc;

    if (!lpo_str_utf8_valid(text, len, &bad))
        return fail_at(&t, text + bad, "not valid UTF-8");
    rc = parse_value(&t, v, 0);
    if (rc == 0 && lpo_json_pull_peek(&t.q) >= 0)
        rc = fail_at(&t, t.q.p, "text after the end of the value");
    lpo_str_free(&t.scratch);
    if (rc == 0)
        *out = v;
    return rc;
}

int lpo_json_parse(struct lpo_arena *a, const char *text, size_t len, const struct lpo_json **out,
                   struct lpo_err *err)
{
    return parse(a, text, len, LPO_PULL_STRICT, out, err);
}

int lpo_json_parse_python(struct lpo_arena *a, const char *text, size_t len,
                          const struct lpo_json **out, struct lpo_err *err)
{
    return parse(a, text, len, LPO_PULL_LENIENT, out, err);
}

int lpo_json_read_file(struct lpo_arena *a, const char *path, const struct lpo_json **out,
                       struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;

    if (lpo_file_text_read(path, &text, err) < 0)
        return err ? err->code : LPO_E_IO;
    if (lpo_json_parse(a, text->at, text->len, out, err) < 0)
        return lpo_ctx(err, "'%s'", path);
    return 0;
}

/* Of members with the same name the last counts, as in Python. */
const struct lpo_json *lpo_json_get(const struct lpo_json *v, const char *key)
{
    const struct lpo_json *found = NULL;

    if (v && v->kind == LPO_JSON_OBJECT)
        LPO_JSON_EACH(m, v)
    if (strcmp(m->key, key) == 0)
        found = m;
    return found;
}

const struct lpo_json *lpo_json_at(const struct lpo_json *v, const char *dotted)
{
    char part[128];

    while (v && *dotted) {
        size_t n = strcspn(dotted, ".");

        if (n >= sizeof part)
            return NULL;
        memcpy(part, dotted, n);
        part[n] = '\0';
        v = lpo_json_get(v, part);
        dotted += n + (dotted[n] == '.');
    }
    return v;
}

const char *lpo_json_text(const struct lpo_json *v, const char *fallback)
{
    return v && v->kind == LPO_JSON_STRING ? v->text : fallback;
}

int64_t lpo_json_int(const struct lpo_json *v, int64_t fallback)
{
    if (v && v->kind == LPO_JSON_INT)
        return v->integer;
    if (v && v->kind == LPO_JSON_REAL && v->real == floor(v->real) && fabs(v->real) < 9e15)
        return (int64_t)v->real;
    return fallback;
}

double lpo_json_real(const struct lpo_json *v, double fallback)
{
    if (v && v->kind == LPO_JSON_INT)
        return (double)v->integer;
    return v && v->kind == LPO_JSON_REAL ? v->real : fallback;
}

bool lpo_json_bool(const struct lpo_json *v, bool fallback)
{
    return v && v->kind == LPO_JSON_BOOL ? v->boolean : fallback;
}
