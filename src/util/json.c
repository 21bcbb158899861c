#include "util/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"

enum { MAX_DEPTH = 256 };

struct parser {
    struct lpo_arena *arena;
    const char *start, *p, *end;
    struct lpo_err *err;
    struct lpo_str scratch;
};

static int parse_value(struct parser *q, struct lpo_json *v, int depth);

static int fail_at(struct parser *q, const char *at, const char *what)
{
    size_t line = 1, column = 1;

    for (const char *c = q->start; c < at; c++) {
        column++;
        if (*c == '\n') {
            line++;
            column = 1;
        }
    }
    return lpo_fail(q->err, LPO_E_FORMAT, "line %zu, column %zu: %s", line, column, what);
}

static void skip_space(struct parser *q)
{
    while (q->p < q->end && (*q->p == ' ' || *q->p == '\n' || *q->p == '\t' || *q->p == '\r'))
        q->p++;
}

static int hex4(struct parser *q, uint32_t *cp)
{
    *cp = 0;
    if (q->end - q->p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = *q->p++;
        uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                            : 16;

        if (d == 16)
            return -1;
        *cp = *cp << 4 | d;
    }
    return 0;
}

static int parse_unicode_escape(struct parser *q)
{
    uint32_t cp, low;

    if (hex4(q, &cp) < 0)
        return fail_at(q, q->p, "bad \\u escape");
    if (cp >= 0xd800 && cp < 0xdc00 && q->end - q->p >= 6 && q->p[0] == '\\' && q->p[1] == 'u') {
        const char *back = q->p;

        q->p += 2;
        if (hex4(q, &low) == 0 && low >= 0xdc00 && low < 0xe000)
            cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
        else
            q->p = back;
    }
    lpo_str_add_utf8(&q->scratch, cp);
    return 0;
}

static int parse_escape(struct parser *q)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *hit;

    if (q->p == q->end)
        return fail_at(q, q->p, "text ends inside a string");
    if (*q->p == 'u') {
        q->p++;
        return parse_unicode_escape(q);
    }
    hit = *q->p ? strchr(from, *q->p) : NULL;
    if (!hit)
        return fail_at(q, q->p, "unknown escape");
    q->p++;
    lpo_str_addc(&q->scratch, to[hit - from]);
    return 0;
}

static int parse_string(struct parser *q, const char **text, size_t *len)
{
    const char *run = ++q->p;

    lpo_str_clear(&q->scratch);
    for (;;) {
        if (q->p == q->end)
            return fail_at(q, run, "string is not closed");
        if ((unsigned char)*q->p < 0x20)
            return fail_at(q, q->p, "control character in a string");
        if (*q->p == '"' || *q->p == '\\') {
            lpo_str_addn(&q->scratch, run, (size_t)(q->p - run));
            if (*q->p++ == '"')
                break;
            if (parse_escape(q) < 0)
                return q->err ? q->err->code : LPO_E_FORMAT;
            run = q->p;
            continue;
        }
        q->p++;
    }
    *text = lpo_arena_strndup(q->arena, lpo_str_text(&q->scratch), q->scratch.len);
    *len = q->scratch.len;
    return 0;
}

static bool digits(struct parser *q)
{
    const char *from = q->p;

    while (q->p < q->end && *q->p >= '0' && *q->p <= '9')
        q->p++;
    return q->p > from;
}

static int parse_number(struct parser *q, struct lpo_json *v)
{
    const char *from = q->p;
    bool whole = true;

    if (*q->p == '-')
        q->p++;
    if (q->p < q->end && *q->p == '0')
        q->p++;
    else if (!digits(q))
        return fail_at(q, from, "expected a value");
    if (q->p < q->end && *q->p == '.') {
        whole = false;
        q->p++;
        if (!digits(q))
            return fail_at(q, from, "digits are missing after '.'");
    }
    if (q->p < q->end && (*q->p == 'e' || *q->p == 'E')) {
        whole = false;
        q->p++;
        if (q->p < q->end && (*q->p == '+' || *q->p == '-'))
            q->p++;
        if (!digits(q))
            return fail_at(q, from, "digits are missing in the exponent");
    }
    v->len = (size_t)(q->p - from);
    v->text = lpo_arena_strndup(q->arena, from, v->len);
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

static int parse_children(struct parser *q, struct lpo_json *v, int depth)
{
    bool object = *q->p++ == '{';
    char close = object ? '}' : ']';
    struct lpo_json **tail = &v->first;

    v->kind = object ? LPO_JSON_OBJECT : LPO_JSON_ARRAY;
    if (depth >= MAX_DEPTH)
        return fail_at(q, q->p, "nested too deeply");
    skip_space(q);
    if (q->p < q->end && *q->p == close) {
        q->p++;
        return 0;
    }
    for (;;) {
        struct lpo_json *child = LPO_NEW(q->arena, struct lpo_json);
        int rc;

        skip_space(q);
        if (object) {
            if (q->p == q->end || *q->p != '"')
                return fail_at(q, q->p, "expected a key in quotes");
            rc = parse_string(q, &child->key, &child->key_len);
            if (rc < 0)
                return rc;
            skip_space(q);
            if (q->p == q->end || *q->p++ != ':')
                return fail_at(q, q->p, "expected ':' after the key");
        }
        rc = parse_value(q, child, depth + 1);
        if (rc < 0)
            return rc;
        *tail = child;
        tail = &child->next;
        v->count++;
        skip_space(q);
        if (q->p < q->end && *q->p == close) {
            q->p++;
            return 0;
        }
        if (q->p == q->end || *q->p++ != ',')
            return fail_at(q, q->p, object ? "expected ',' or '}'" : "expected ',' or ']'");
    }
}

static bool word(struct parser *q, const char *w)
{
    size_t n = strlen(w);

    if ((size_t)(q->end - q->p) < n || memcmp(q->p, w, n) != 0)
        return false;
    q->p += n;
    return true;
}

static int parse_value(struct parser *q, struct lpo_json *v, int depth)
{
    skip_space(q);
    if (q->p == q->end)
        return fail_at(q, q->p, "expected a value, found the end");
    switch (*q->p) {
    case '{':
    case '[':
        return parse_children(q, v, depth);
    case '"':
        v->kind = LPO_JSON_STRING;
        return parse_string(q, &v->text, &v->len);
    default:
        break;
    }
    if (word(q, "null"))
        return 0;
    v->kind = LPO_JSON_BOOL;
    v->boolean = word(q, "true");
    if (v->boolean || word(q, "false"))
        return 0;
    return parse_number(q, v);
}

int lpo_json_parse(struct lpo_arena *a, const char *text, size_t len, const struct lpo_json **out,
                   struct lpo_err *err)
{
    struct parser q = { a, text, text, text + len, err, { 0 } };
    struct lpo_json *v = LPO_NEW(a, struct lpo_json);
    size_t bad;
    int rc;

    if (!lpo_utf8_valid(text, len, &bad))
        return fail_at(&q, text + bad, "not valid UTF-8");
    rc = parse_value(&q, v, 0);
    if (rc == 0) {
        skip_space(&q);
        if (q.p != q.end)
            rc = fail_at(&q, q.p, "text after the end of the value");
    }
    lpo_str_free(&q.scratch);
    if (rc == 0)
        *out = v;
    return rc;
}

int lpo_json_read_file(struct lpo_arena *a, const char *path, const struct lpo_json **out,
                       struct lpo_err *err)
{
    LPO_AUTO(lpo_text) text = NULL;

    if (lpo_text_read(path, &text, err) < 0)
        return err ? err->code : LPO_E_IO;
    if (lpo_json_parse(a, text->at, text->len, out, err) < 0)
        return lpo_ctx(err, "'%s'", path);
    return 0;
}

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
