/* SPDX-License-Identifier: Apache-2.0 */

#include <ctype.h>

#include "util/base.h"

enum { SPILL_BYTES = 1 << 20 };

static void make_room(struct lpo_str *s, size_t more)
{
    size_t need, cap = s->cap ? s->cap : 64;

    if (s->spill && s->len > SPILL_BYTES) {
        fwrite(s->at, 1, s->len, s->spill);
        s->len = 0;
    }
    if (__builtin_add_overflow(s->len, more + 1, &need))
        need = (size_t)-1;
    if (need <= s->cap)
        return;
    while (cap < need)
        cap = cap > (size_t)-1 / 2 ? need : cap * 2;
    s->at = lpo_xrealloc(s->at, cap, 1);
    s->cap = cap;
}

static inline void room_for(struct lpo_str *s, size_t more)
{
    if (more >= s->cap - s->len || (s->spill && s->len > SPILL_BYTES))
        make_room(s, more);
}

char *lpo_str_room(struct lpo_str *s, size_t more)
{
    room_for(s, more);
    s->at[s->len] = s->at[s->len + more] = '\0';
    return s->at + s->len;
}

void lpo_str_free(struct lpo_str *s)
{
    free(s->at);
    *s = (struct lpo_str){ 0 };
}

void lpo_str_addn(struct lpo_str *s, const char *bytes, size_t len)
{
    room_for(s, len);
    if (len)
        memcpy(s->at + s->len, bytes, len);
    s->len += len;
    s->at[s->len] = '\0';
}

void lpo_str_add(struct lpo_str *s, const char *text)
{
    lpo_str_addn(s, text, strlen(text));
}

void lpo_str_addc(struct lpo_str *s, char c)
{
    room_for(s, 1);
    s->at[s->len++] = c;
    s->at[s->len] = '\0';
}

void lpo_str_add_uint(struct lpo_str *s, uint64_t v)
{
    char digits[20];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + v % 10);
    while (v /= 10);
    lpo_str_addn(s, digits + at, sizeof digits - at);
}

void lpo_str_add_int(struct lpo_str *s, int64_t v)
{
    if (v < 0)
        lpo_str_addc(s, '-');
    lpo_str_add_uint(s, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void lpo_str_addv(struct lpo_str *s, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    if (!fmt) /* never, but gcc's sanitizers make it warn of that */
        return;
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0) {
        room_for(s, (size_t)n);
        vsnprintf(s->at + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

void lpo_str_addf(struct lpo_str *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    lpo_str_addv(s, fmt, ap);
    va_end(ap);
}

void lpo_str_clear(struct lpo_str *s)
{
    s->len = 0;
    if (s->at)
        s->at[0] = '\0';
}

const char *lpo_str_text(const struct lpo_str *s)
{
    return s->at ? s->at : "";
}

bool lpo_str_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool lpo_str_ends(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);

    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

bool lpo_streq(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

size_t lpo_str_utf8_len(const char *text, size_t room)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned char low = 0x80, high = 0xbf;
    size_t len;

    if (room == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (room < len)
        return 0;
    /* overlong forms, surrogates and values past U+10FFFF show in the second byte */
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

uint32_t lpo_str_code_point(const char *p, size_t n)
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

/* Are these eight bytes ASCII? */
static bool is_ascii8(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return (word & 0x8080808080808080u) == 0;
}

bool lpo_str_utf8_valid(const char *bytes, size_t len, size_t *bad_at)
{
    for (size_t i = 0; i < len;) {
        size_t n = len - i >= 8 && is_ascii8(bytes + i) ? 8 : lpo_str_utf8_len(bytes + i, len - i);

        if (n == 0) {
            if (bad_at)
                *bad_at = i;
            return false;
        }
        i += n;
    }
    return true;
}

/* Three bytes become four characters; what is left over is padded with '='. */
void lpo_str_add_base64(struct lpo_str *s, const void *bytes, size_t len, size_t line)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i += 3) {
        size_t have = len - i < 3 ? len - i : 3;
        uint32_t bits = (uint32_t)p[i] << 16;
        char out[4];

        bits |= have > 1 ? (uint32_t)p[i + 1] << 8 : 0;
        bits |= have > 2 ? p[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            out[k] = k <= have ? digits[bits >> (18 - 6 * k) & 63] : '=';
        lpo_str_addn(s, out, sizeof out);
        if (line && ((i + 3) % line == 0 || i + 3 >= len))
            lpo_str_addc(s, '\n');
    }
}

void lpo_str_add_utf8(struct lpo_str *s, uint32_t cp)
{
    char b[4];
    size_t n;

    if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
        cp = 0xfffd;
    if (cp < 0x80) {
        b[0] = (char)cp;
        n = 1;
    } else if (cp < 0x800) {
        b[0] = (char)(0xc0 | cp >> 6);
        b[1] = (char)(0x80 | (cp & 0x3f));
        n = 2;
    } else if (cp < 0x10000) {
        b[0] = (char)(0xe0 | cp >> 12);
        b[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        b[2] = (char)(0x80 | (cp & 0x3f));
        n = 3;
    } else {
        b[0] = (char)(0xf0 | cp >> 18);
        b[1] = (char)(0x80 | (cp >> 12 & 0x3f));
        b[2] = (char)(0x80 | (cp >> 6 & 0x3f));
        b[3] = (char)(0x80 | (cp & 0x3f));
        n = 4;
    }
    lpo_str_addn(s, b, n);
}

uint64_t lpo_str_hash(const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325u ^ len;

    while (len >= 8) {
        uint64_t w;

        memcpy(&w, p, 8);
        h = (h ^ w) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
        p += 8;
        len -= 8;
    }
    while (len-- > 0)
        h = (h ^ *p++) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

void lpo_str_add_bounded(struct lpo_str *s, const char *text, size_t len, size_t kept)
{
    bool cut = len > kept;

    if (!cut)
        kept = len;
    while (cut && kept && ((unsigned char)text[kept] & 0xc0) == 0x80)
        kept--;
    lpo_str_addn(s, text, kept);
    if (cut)
        lpo_str_addf(s, "… (%zu bytes, #%016llx)", len,
                     (unsigned long long)lpo_str_hash(text, len));
}

void lpo_str_add_starred(struct lpo_str *s, const char *text, size_t len)
{
    bool was = false;

    for (size_t i = 0; i < len; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';

        if (!digit || !was)
            lpo_str_addc(s, digit ? '*' : text[i]);
        was = digit;
    }
}

void lpo_str_add_shell(struct lpo_str *s, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";

    if (*word && strspn(word, plain) == strlen(word)) {
        lpo_str_add(s, word);
        return;
    }
    lpo_str_addc(s, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            lpo_str_add(s, "'\\''");
        else
            lpo_str_addc(s, *word);
    }
    lpo_str_addc(s, '\'');
}

/* Optimal string alignment: insert, delete, replace, swap of neighbours each cost 1. */
static unsigned edits(const char *a, size_t n, const char *b, size_t m)
{
    enum { MAX = 64 };
    unsigned row[3][MAX + 1];
    unsigned *old = row[0], *prev = row[1], *cur = row[2];

    if (n > MAX || m > MAX)
        return MAX;
    for (size_t j = 0; j <= m; j++)
        prev[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *t;

        cur[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            unsigned best = prev[j - 1] + !same;

            if (prev[j] + 1 < best)
                best = prev[j] + 1;
            if (cur[j - 1] + 1 < best)
                best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && old[j - 2] < best)
                best = old[j - 2] + 1;
            cur[j] = best;
        }
        t = old;
        old = prev;
        prev = cur;
        cur = t;
    }
    return prev[m];
}

/* "out" is meant by who could have written "output". Two letters are the beginning of anything. */
static const char *only_one_beginning_with(const char *word, size_t len,
                                           const char *const *candidates, size_t count)
{
    const char *found = NULL;

    for (size_t i = 0; i < count && len > 2; i++) {
        if (strncasecmp(candidates[i], word, len) != 0)
            continue;
        if (found)
            return NULL;
        found = candidates[i];
    }
    return found;
}

const char *lpo_str_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t len = strlen(word);
    unsigned best = (unsigned)(len / 3 + 1);
    const char *found = NULL;

    for (size_t i = 0; i < count; i++) {
        size_t theirs = strlen(candidates[i]), longer = len > theirs ? len : theirs;
        unsigned d = edits(word, len, candidates[i], theirs);

        if (2 * (size_t)d > longer)
            continue; /* "xml" is not meant by who could have written "md" */
        if (d < best || (d == best && !found && d <= 2)) {
            best = d;
            found = candidates[i];
        }
    }
    return found ? found : only_one_beginning_with(word, len, candidates, count);
}
