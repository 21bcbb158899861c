/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/name.h"

/* The first look at the table takes no lock (defs.c): threads that use known names never wait for
 * each other. Only a new name locks, and looks again, since another thread may have been first. */
struct lpoc_name lpoc_name_miss(struct lpoc_thread *t, const char *text, size_t len,
                                struct lpoc_known *slot, uint64_t a, uint64_t b)
{
    struct lpoc *c = t->owner;
    uint64_t hash = len > LPOC_SHORT ? a : lpoc_defs_hash(text, len);
    uint32_t id = lpoc_defs_find(&c->defs, text, len, hash);

    if (!id) {
        lpoc_lock(&c->lock);
        id = lpoc_defs_string(&c->defs, text, len, hash, false);
        lpoc_unlock(&c->lock);
        if (lpoc_defs_are_many(&c->defs))
            lpoc_write_defs(c);
    }
    /* a program that makes up names without end: they go into the events, and nothing is lost */
    if (id == LPOC_NAME_FULL) {
        lpoc_count(c, LPOT_COUNT_NAMES_INLINE, 1);
        return (struct lpoc_name){ .id = id, .len = (uint32_t)len, .text = text };
    }
    *slot = (struct lpoc_known){ .a = a, .b = b, .len = (uint32_t)len + 1, .id = id };
    return (struct lpoc_name){ .id = id };
}

static size_t utf8(char *out, uint32_t cp)
{
    if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
        cp = 0xfffd;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | (cp >> 6));
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xe0 | (cp >> 12));
        out[1] = (char)(0x80 | ((cp >> 6) & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (cp >> 18));
    out[1] = (char)(0x80 | ((cp >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((cp >> 6) & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

/* Not wcstombs: it depends on the program's locale and changes its state. */
size_t lpoc_name_narrow(char *out, const wchar_t *text)
{
    size_t len = 0;

    for (; *text && len + 4 <= LPOC_NAME_MAX; text++)
        len += utf8(out + len, (uint32_t)*text);
    return len;
}
