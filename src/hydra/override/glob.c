/* SPDX-License-Identifier: Apache-2.0 */
#include "hydra/override/glob.h"

#include <stddef.h>
#include <string.h>

#include "util/str.h"

static size_t char_len(const char *p)
{
    size_t n = lpo_str_utf8_len(p, strnlen(p, 4));
    return n ? n : 1;
}

static int compare(const char *x, size_t xn, const char *y, size_t yn)
{
    int order = memcmp(x, y, xn < yn ? xn : yn); /* the order of code points */
    return order ? order : (int)xn - (int)yn;
}

/* The ']' that closes the set which opens at p, or NULL. */
static const char *set_end(const char *p)
{
    p++;
    if (*p == '!')
        p++;
    if (*p == ']')
        p++; /* as the first character it matches itself */
    return strchr(p, ']');
}

static bool in_set(const char *p, const char *end, const char *c, size_t n)
{
    bool negate = p[1] == '!', found = false;

    p += 1 + negate;
    while (p < end) {
        size_t low = char_len(p);
        if (p + low < end && p[low] == '-' && p + low + 1 < end) {
            const char *to = p + low + 1;
            size_t high = char_len(to);
            found = found || (compare(p, low, c, n) <= 0 && compare(c, n, to, high) <= 0);
            p = to + high;
        } else {
            found = found || compare(p, low, c, n) == 0;
            p += low;
        }
    }
    return found != negate;
}

/* How far the pattern moves when its next piece takes the character at c; 0 when it does not. */
static size_t step(const char *pattern, const char *c, size_t n)
{
    if (*pattern == '?')
        return 1;
    if (*pattern == '[') {
        const char *end = set_end(pattern);
        if (end)
            return in_set(pattern, end, c, n) ? (size_t)(end + 1 - pattern) : 0;
    }
    size_t m = char_len(pattern);
    return *pattern && compare(pattern, m, c, n) == 0 ? m : 0;
}

bool lpo_override_glob_match(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL;

    while (*name) {
        size_t n = char_len(name), moved = *pattern == '*' ? 0 : step(pattern, name, n);
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (moved) {
            pattern += moved;
            name += n;
        } else if (star) {
            pattern = star + 1;
            retry += char_len(retry);
            name = retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
