/* SPDX-License-Identifier: Apache-2.0 */
#include "util/json_pull.h"

#include "util/json_scan.h"

static int bad(struct lpo_pull *q, const char *at, const char *why)
{
    q->p = at;
    q->why = why;
    return LPO_E_FORMAT;
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

int lpo_json_pull_peek_far(struct lpo_pull *q)
{
    if (q->mode != LPO_PULL_STRICT)
        q->p = scan_space(q->p, q->end); /* indentation comes in long runs */
    while (q->p < q->end && is_space(*q->p))
        q->p++;
    return q->p < q->end ? (unsigned char)*q->p : LPO_PULL_MORE;
}

int lpo_json_pull_open(struct lpo_pull *q, char which)
{
    int c = lpo_json_pull_peek(q);

    if (c < 0)
        return c;
    if (c != which)
        return bad(q, q->p, which == '{' ? "expected '{'" : "expected '['");
    q->p++;
    return 0;
}

/* The comma before all but the first entry, or the closing bracket: 1, 0. */
static int next_entry(struct lpo_pull *q, bool *first, char close)
{
    int c = lpo_json_pull_peek(q);

    if (c < 0)
        return c;
    if (c == close) {
        q->p++;
        return 0;
    }
    if (*first) {
        *first = false;
        return 1;
    }
    if (c != ',')
        return bad(q, q->p, close == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    q->p++;
    c = lpo_json_pull_peek(q);
    if (c < 0)
        return c;
    if (c == close) {
        if (q->mode == LPO_PULL_STRICT)
            return bad(q, q->p, "nothing follows the ','");
        q->p++;
        return 0;
    }
    return 1;
}

int lpo_json_pull_item(struct lpo_pull *q, bool *first)
{
    return next_entry(q, first, ']');
}

/* The place behind up to one space: where the next token is, but for indentation. */
static inline const char *near(const char *p)
{
    return p + (*p == ' ');
}

/* `, "key":` in its usual spelling, with the place in a register all the way. false: look closer,
 * nothing was taken. */
static inline bool plain_member(struct lpo_pull *q, bool *first, struct lpo_json_pull_text *key)
{
    enum { ROOM = 64 }; /* what is looked at without asking for the end again */
    const char *p = q->p, *stop;

    if (q->end - p < ROOM || q->mode == LPO_PULL_REPAIR)
        return false;
    p = near(p);
    if (!*first) {
        if (*p != ',')
            return false;
        p = near(p + 1);
    }
    if ((unsigned char)*p <= ' ' && q->mode != LPO_PULL_STRICT)
        p = scan_space(p, q->end);
    if (q->end - p < ROOM || *p != '"')
        return false;
    stop = scan_string(p + 1, p + ROOM - 4, 0x20);
    if (*stop != '"')
        return false;
    *key = (struct lpo_json_pull_text){ p + 1, (size_t)(stop - p) - 1, false };
    p = near(stop + 1);
    if (*p != ':')
        return false;
    *first = false;
    q->p = p + 1;
    return true;
}

int lpo_json_pull_member(struct lpo_pull *q, bool *first, struct lpo_json_pull_text *key)
{
    int rc;

    if (plain_member(q, first, key))
        return 1;
    rc = next_entry(q, first, '}');
    if (rc <= 0)
        return rc;
    if (*q->p != '"')
        return bad(q, q->p, "expected a key in quotes");
    rc = lpo_json_pull_string(q, key);
    if (rc < 0)
        return rc;
    rc = lpo_json_pull_peek(q);
    if (rc < 0)
        return rc;
    if (rc != ':')
        return bad(q, q->p, "expected ':' after the key");
    q->p++;
    return 1;
}

bool lpo_json_pull_likely(struct lpo_pull *q, const struct lpo_pull_likely *member)
{
    if (!member->len || q->end - q->p < (ptrdiff_t)sizeof member->text ||
        q->mode == LPO_PULL_REPAIR || !scan_same(q->p, member->text, member->len))
        return false;
    q->p += member->len;
    return true;
}

void lpo_json_pull_learn(const struct lpo_pull *q, const char *from, struct lpo_pull_likely *out)
{
    size_t len = (size_t)(q->p - from);

    out->len = 0;
    if (len > sizeof out->text || q->mode == LPO_PULL_REPAIR)
        return;
    out->len = (uint8_t)len;
    memcpy(out->text, from, len);
}

/* Does the quote at `p` close its string? In a broken file only one before structure does. */
static int closes(const struct lpo_pull *q, const char *p)
{
    if (q->mode != LPO_PULL_REPAIR)
        return 1;
    p = scan_space(p + 1, q->end);
    if (p == q->end)
        return LPO_PULL_MORE;
    return *p == ',' || *p == ':' || *p == ']' || *p == '}';
}

int lpo_json_pull_string(struct lpo_pull *q, struct lpo_json_pull_text *out)
{
    unsigned char low = q->mode == LPO_PULL_STRICT ? 0x20 : 0;
    int rc = lpo_json_pull_peek(q);
    const char *p;

    if (rc < 0)
        return rc;
    if (rc != '"')
        return bad(q, q->p, "expected a string");
    out->at = p = q->p + 1;
    out->escaped = false;
    for (;;) {
        p = scan_string(p, q->end, low);
        if (p == q->end)
            return LPO_PULL_MORE;
        if (*p == '"') {
            rc = closes(q, p);
            if (rc < 0)
                return rc;
            if (rc)
                break;
            p++;
        } else if (*p == '\\') {
            out->escaped = true;
            if (q->end - p < 2)
                return LPO_PULL_MORE;
            p += 2;
        } else {
            return bad(q, p, "control character in a string");
        }
    }
    out->len = (size_t)(p - out->at);
    q->p = p + 1;
    return 0;
}

static const char *digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Text that ends right after a number may have cut it: the caller decides at the end of all. */
int lpo_json_pull_number(struct lpo_pull *q, struct lpo_json_pull_text *out, bool *whole)
{
    const char *from, *p, *d;
    int rc = lpo_json_pull_peek(q);

    if (rc < 0)
        return rc;
    from = p = q->p;
    if (*p == '-')
        p++;
    d = digits(p, q->end);
    if (d == p)
        return d == q->end ? LPO_PULL_MORE : bad(q, from, "expected a value");
    if (*p == '0' && d - p > 1)
        return bad(q, from, "a number starts with 0");
    *whole = true;
    p = d;
    if (p < q->end && *p == '.') {
        *whole = false;
        d = digits(++p, q->end);
        if (d == p)
            return d == q->end ? LPO_PULL_MORE : bad(q, from, "digits are missing after '.'");
        p = d;
    }
    if (p < q->end && (*p == 'e' || *p == 'E')) {
        *whole = false;
        p++;
        if (p < q->end && (*p == '+' || *p == '-'))
            p++;
        d = digits(p, q->end);
        if (d == p)
            return d == q->end ? LPO_PULL_MORE : bad(q, from, "digits are missing in the exponent");
        p = d;
    }
    *out = (struct lpo_json_pull_text){ from, (size_t)(p - from), false };
    q->p = p;
    return 0;
}

int lpo_json_pull_word(struct lpo_pull *q, struct lpo_json_pull_text *out)
{
    static const char *const words[] = { "null",     "true", "false", "NaN",  "nan",      "-nan",
                                         "Infinity", "inf",  "-inf",  "-NaN", "-Infinity" };
    enum { STRICT_WORDS = 3, WORDS = sizeof words / sizeof *words };
    int count = q->mode == LPO_PULL_STRICT ? STRICT_WORDS : WORDS;
    int rc = lpo_json_pull_peek(q);
    size_t room;

    if (rc < 0)
        return rc;
    room = (size_t)(q->end - q->p);
    for (int i = 0; i < count; i++) {
        size_t len = strlen(words[i]);

        if (memcmp(q->p, words[i], len < room ? len : room) != 0)
            continue;
        if (room < len)
            return LPO_PULL_MORE;
        *out = (struct lpo_json_pull_text){ q->p, len, false };
        q->p += len;
        return 0;
    }
    return bad(q, q->p, "expected a value");
}

static const char *hex4(const char *p, const char *end, uint32_t *cp)
{
    *cp = 0;
    if (end - p < 4)
        return NULL;
    for (int i = 0; i < 4; i++, p++) {
        uint32_t d = *p >= '0' && *p <= '9'   ? (uint32_t)(*p - '0')
                     : *p >= 'a' && *p <= 'f' ? (uint32_t)(*p - 'a' + 10)
                     : *p >= 'A' && *p <= 'F' ? (uint32_t)(*p - 'A' + 10)
                                              : 16;

        if (d == 16)
            return NULL;
        *cp = *cp << 4 | d;
    }
    return p;
}

/* `p` is behind "\u"; returns behind the escape, or NULL when it is not a valid one. */
static const char *add_unicode(const char *p, const char *end, struct lpo_str *out)
{
    uint32_t cp, low;
    const char *next;

    p = hex4(p, end, &cp);
    if (!p)
        return NULL;
    if (cp >= 0xd800 && cp < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        next = hex4(p + 2, end, &low);
        if (next && low >= 0xdc00 && low < 0xe000) {
            cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
            p = next;
        }
    }
    lpo_str_add_utf8(out, cp);
    return p;
}

/* `p` is behind the backslash. */
static const char *add_escape(const char *p, const char *end, struct lpo_str *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *hit;

    if (p == end || *p == '\0')
        return NULL;
    if (*p == 'u')
        return add_unicode(p + 1, end, out);
    hit = strchr(from, *p);
    if (!hit)
        return NULL;
    lpo_str_addc(out, to[hit - from]);
    return p + 1;
}

int lpo_json_pull_unescape(const struct lpo_json_pull_text *text, enum lpo_pull_mode mode,
                           struct lpo_str *out, const char **bad_at)
{
    const char *p = text->at, *end = text->at + text->len;

    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        const char *next;

        if (!slash) {
            lpo_str_addn(out, p, (size_t)(end - p));
            break;
        }
        lpo_str_addn(out, p, (size_t)(slash - p));
        next = add_escape(slash + 1, end, out);
        if (!next && mode == LPO_PULL_STRICT) {
            if (bad_at)
                *bad_at = slash;
            return LPO_E_FORMAT;
        }
        if (!next)
            lpo_str_addc(out, '\\'); /* a Windows path, most likely */
        p = next ? next : slash + 1;
    }
    return 0;
}
