/* SPDX-License-Identifier: Apache-2.0 */
#include "util/visible.h"

struct span {
    uint32_t first, last;
};

/* Marks that are invisible or turn the direction of what follows. */
static const struct span hidden[] = {
    { 0x00ad, 0x00ad }, { 0x061c, 0x061c },   { 0x180e, 0x180e }, { 0x200b, 0x200f },
    { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
    { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
};

bool lpo_visible_hidden(uint32_t cp)
{
    if (cp < 0x20 || (cp >= 0x7f && cp <= 0x9f))
        return true;
    return lpo_any(i, sizeof hidden / sizeof *hidden,
                   cp >= hidden[i].first && cp <= hidden[i].last);
}

/* One character of the input as it is shown; returns the bytes read. */
static size_t add_one(struct lpo_str *out, const char *p, size_t room)
{
    size_t n = lpo_str_utf8_len(p, room);
    uint32_t cp;

    if (n == 0) {
        lpo_str_addf(out, "\\x%02x", (unsigned char)*p);
        return 1;
    }
    cp = lpo_str_code_point(p, n);
    if (cp == '\n')
        lpo_str_add(out, "\\n");
    else if (cp == '\t')
        lpo_str_add(out, "\\t");
    else if (lpo_visible_hidden(cp))
        lpo_str_addf(out, "\\u{%x}", cp);
    else
        lpo_str_addn(out, p, n);
    return n;
}

size_t lpo_visible_width(const char *text, size_t len)
{
    size_t width = 0;

    for (size_t i = 0; i < len; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* `keep` is the last end of a whole character after which there is still room for the "…": an
 * escape such as \\u{202e} is never cut in its middle. */
void lpo_visible_add(struct lpo_str *out, const char *text, size_t len, size_t max)
{
    size_t from = out->len, width = 0, keep = 0;

    for (size_t i = 0; i < len;) {
        size_t before = out->len;

        i += add_one(out, text + i, len - i);
        width += lpo_visible_width(out->at + before, out->len - before);
        if (max && width + 1 <= max)
            keep = out->len;
        if (max && width > max)
            break;
    }
    if (max && width > max) {
        out->len = keep > from ? keep : from;
        if (out->len - from >= 3 && memcmp(out->at + out->len - 3, "\xe2\x80\xa6", 3) == 0)
            out->len -= 3; /* it had been cut before: one mark is enough */
        out->at[out->len] = '\0';
        lpo_str_add(out, "\xe2\x80\xa6");
        if (len > 1000)
            lpo_str_addf(out, " (%zu bytes)", len);
    }
}

/* The bytes of a character may come in two writes: its beginning waits here for the rest. */
struct screen {
    FILE *to;
    size_t waiting;
    char head[4];
};

/* Whether `p` may be the beginning of a character whose end has not come yet. */
static bool unfinished(const char *p, size_t room)
{
    unsigned char c = (unsigned char)*p;
    size_t want = c >= 0xf0 && c <= 0xf4 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

    if (c > 0xf4 || room >= want)
        return false;
    for (size_t i = 1; i < room; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return false;
    return true;
}

void lpo_visible_add_lines(struct lpo_str *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        if (text[i] == '\n' || text[i] == '\t')
            lpo_str_addc(out, text[i++]);
        else
            i += add_one(out, text + i, len - i);
    }
}

static ssize_t screen_write(void *cookie, const char *bytes, size_t len)
{
    struct screen *s = cookie;
    LPO_STR in = { 0 }, out = { 0 };
    size_t tail = 0;

    lpo_str_addn(&in, s->head, s->waiting);
    lpo_str_addn(&in, bytes, len);
    for (size_t k = 1; k < sizeof s->head && k <= in.len; k++)
        if (unfinished(in.at + in.len - k, k))
            tail = k;
    lpo_visible_add_lines(&out, in.at, in.len - tail);
    memcpy(s->head, in.at + in.len - tail, tail);
    s->waiting = tail;
    if (fwrite(lpo_str_text(&out), 1, out.len, s->to) != out.len || fflush(s->to) != 0)
        return 0; /* fopencookie's word for an error */
    return (ssize_t)len;
}

static int screen_close(void *cookie)
{
    struct screen *s = cookie;
    LPO_STR out = { 0 };
    int rc;

    lpo_visible_add_lines(&out, s->head, s->waiting);
    rc = fwrite(lpo_str_text(&out), 1, out.len, s->to) == out.len && fflush(s->to) == 0 ? 0 : EOF;
    free(s);
    return rc;
}

FILE *lpo_visible_stream(FILE *to)
{
    struct screen *s = lpo_xcalloc(1, sizeof *s);
    FILE *f;

    s->to = to;
    f = fopencookie(s, "w",
                    (cookie_io_functions_t){ .write = screen_write, .close = screen_close });
    if (f)
        setvbuf(f, NULL, _IOLBF, BUFSIZ);
    else
        free(s);
    return f;
}
