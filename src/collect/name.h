/* SPDX-License-Identifier: Apache-2.0 */
/* collect/name.h - from the text of an NVTX call to a string id.
 *
 * The caller may free or change its text, so a pointer says nothing: the bytes are compared, first
 * with what this thread used lately, then with all names. Only a new name takes the lock. */
#pragma once

#include <string.h>
#include <wchar.h>

#include "collect/thread.h"

/* `text` matters only when `id` is LPOC_NAME_FULL: the name must then stand in the event. */
struct lpoc_name {
    uint32_t id;
    uint32_t len;
    const char *text;
};

enum { LPOC_SHORT = 16 };

struct lpoc_name lpoc_name_miss(struct lpoc_thread *t, const char *text, size_t len,
                                struct lpoc_known *slot, uint64_t a, uint64_t b);
/* UTF-32 (wchar_t) to UTF-8, into a buffer of LPOC_NAME_MAX bytes; gives the length. */
size_t lpoc_name_narrow(char *out, const wchar_t *text);

static inline uint64_t lpoc_load8(const char *p)
{
    uint64_t v;

    memcpy(&v, p, 8);
    return v;
}

static inline uint32_t lpoc_load4(const char *p)
{
    uint32_t v;

    memcpy(&v, p, 4);
    return v;
}

/* Two words that differ for any two names of the same length of up to 16 bytes. */
static inline void lpoc_name_words(const char *s, size_t len, uint64_t *a, uint64_t *b)
{
    if (len > LPOC_SHORT) {
        *a = lpoc_defs_hash(s, len);
        *b = 0;
    } else if (len >= 8) {
        *a = lpoc_load8(s);
        *b = lpoc_load8(s + len - 8);
    } else if (len >= 4) {
        *a = lpoc_load4(s);
        *b = lpoc_load4(s + len - 4);
    } else {
        *a = len ? (uint64_t)(uint8_t)s[0] | (uint64_t)(uint8_t)s[len / 2] << 8 |
                       (uint64_t)(uint8_t)s[len - 1] << 16
                 : 0;
        *b = 0;
    }
}

static inline struct lpoc_name lpoc_namen(struct lpoc_thread *t, const char *text, size_t len)
{
    const struct lpoc_defs *d = &t->owner->defs;
    struct lpoc_known *slot;
    uint64_t a, b;

    if (LPOC_RARE(len > LPOC_NAME_MAX)) {
        lpoc_count(t->owner, LPOT_COUNT_NAMES_CUT, 1);
        len = LPOC_NAME_MAX;
    }
    lpoc_name_words(text, len, &a, &b);
    slot = &t->known[((a ^ (b * 3) ^ len) * 0x9e3779b97f4a7c15u) >> 56];
    if (slot->a == a && slot->b == b && slot->len == len + 1 &&
        (len <= LPOC_SHORT || memcmp(lpoc_defs_text(d, slot->id), text, len) == 0))
        return (struct lpoc_name){ .id = slot->id };
    return lpoc_name_miss(t, text, len, slot, a, b);
}

/* NULL is "no name". */
static inline struct lpoc_name lpoc_name(struct lpoc_thread *t, const char *text)
{
    return text ? lpoc_namen(t, text, strlen(text)) : (struct lpoc_name){ 0 };
}

/* Bytes beside LPOC_EVENT_MAX that lpoc_put_name() may write. */
static inline size_t lpoc_name_room(struct lpoc_name n)
{
    return n.id == LPOC_NAME_FULL ? n.len : 0;
}

static inline unsigned lpoc_name_flag(struct lpoc_name n)
{
    return n.id == LPOC_NAME_FULL ? LPOT_EV_INLINE : 0;
}

static inline uint8_t *lpoc_put_name(uint8_t *p, struct lpoc_name n)
{
    return n.id == LPOC_NAME_FULL ? lpoc_put_text(p, n.text, n.len) : lpoc_put_v(p, n.id);
}
