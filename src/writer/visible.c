#include "writer/visible.h"

#include <stdbool.h>
#include <stdint.h>

#include "util/str.h"

struct span {
    uint32_t first, last;
};

/* Marks that are invisible or turn the direction of what follows. */
static const struct span hidden[] = {
    { 0x00ad, 0x00ad }, { 0x061c, 0x061c },   { 0x180e, 0x180e }, { 0x200b, 0x200f },
    { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
    { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
};

static uint32_t code_point(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;

    if (n == 1)
        return u[0];
    if (n == 2)
        return (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu);
    if (n == 3)
        return (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
    return (u[0] & 0x07u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu);
}

static bool is_hidden(uint32_t cp)
{
    if (cp < 0x20 || (cp >= 0x7f && cp <= 0x9f))
        return true;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (cp >= hidden[i].first && cp <= hidden[i].last)
            return true;
    return false;
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
    cp = code_point(p, n);
    if (cp == '\n')
        lpo_str_add(out, "\\n");
    else if (cp == '\t')
        lpo_str_add(out, "\\t");
    else if (is_hidden(cp))
        lpo_str_addf(out, "\\u{%x}", cp);
    else
        lpo_str_addn(out, p, n);
    return n;
}

size_t lpo_writer_visible_width(const char *text, size_t len)
{
    size_t width = 0;

    for (size_t i = 0; i < len; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* `keep` is the last end of a whole character after which there is still room for the "…": an
 * escape such as \\u{202e} is never cut in its middle. */
void lpo_writer_add_visible(struct lpo_str *out, const char *text, size_t len, size_t max)
{
    size_t from = out->len, width = 0, keep = 0;

    for (size_t i = 0; i < len;) {
        size_t before = out->len;

        i += add_one(out, text + i, len - i);
        width += lpo_writer_visible_width(out->at + before, out->len - before);
        if (max && width + 1 <= max)
            keep = out->len;
        if (max && width > max)
            break;
    }
    if (max && width > max) {
        out->len = keep > from ? keep : from;
        out->at[out->len] = '\0';
        lpo_str_add(out, "\xe2\x80\xa6");
        if (len > 1000)
            lpo_str_addf(out, " (%zu bytes)", len);
    }
}
