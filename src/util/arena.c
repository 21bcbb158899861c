/* SPDX-License-Identifier: Apache-2.0 */
#include "util/base.h"

/* Blocks double up to a size that the C library maps apart and gives back whole. */
enum { FIRST_BLOCK = 4096, MAX_BLOCK = 1 << 20, ALIGN = 16 };

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
};

struct lpo_arena {
    struct block *head;
};

struct lpo_arena *lpo_arena_create(void)
{
    return lpo_xcalloc(1, sizeof(struct lpo_arena));
}

void lpo_arena_destroy(struct lpo_arena *a)
{
    if (!a)
        return;
    for (struct block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(a);
}

static struct block *grow(struct lpo_arena *a, size_t need)
{
    size_t size = a->head ? a->head->size * 2 : FIRST_BLOCK;
    struct block *b;

    if (size > MAX_BLOCK)
        size = MAX_BLOCK;
    if (size < need)
        size = need;
    if (size > SIZE_MAX - sizeof *b)
        lpo_xmalloc_failed(size);
    b = lpo_xmalloc(sizeof *b + size);
    b->used = 0;
    b->size = size;
    b->next = a->head;
    a->head = b;
    return b;
}

void *lpo_arena_alloc(struct lpo_arena *a, size_t size)
{
    struct block *b = a->head;
    void *p;

    if (size > SIZE_MAX - ALIGN)
        lpo_xmalloc_failed(size);
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!b || b->size - b->used < size)
        b = grow(a, size);
    p = b->bytes + b->used;
    b->used += size;
    /* zeros, so that a struct grown by a member is right wherever it is made */
    return memset(p, 0, size);
}

void *lpo_arena_array(struct lpo_arena *a, size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total))
        lpo_xmalloc_failed(SIZE_MAX);
    return lpo_arena_alloc(a, total);
}

char *lpo_arena_strndup(struct lpo_arena *a, const char *s, size_t len)
{
    char *p = lpo_arena_alloc(a, len + 1);

    memcpy(p, s, len);
    return p;
}

char *lpo_arena_name(struct lpo_arena *a, const char *s, size_t len)
{
    static const char shown[] = "\\u{0}"; /* as util/visible.h writes it */
    size_t nuls = 0;
    char *p, *to;

    for (size_t i = 0; i < len; i++)
        nuls += s[i] == '\0';
    to = p = lpo_arena_alloc(a, len + nuls * (sizeof shown - 2) + 1);
    for (size_t i = 0; i < len; i++) {
        if (s[i])
            *to++ = s[i];
        else
            to = (char *)memcpy(to, shown, sizeof shown - 1) + sizeof shown - 1;
    }
    return p;
}

char *lpo_arena_strdup(struct lpo_arena *a, const char *s)
{
    return lpo_arena_strndup(a, s, strlen(s));
}

char *lpo_arena_printf(struct lpo_arena *a, const char *fmt, ...)
{
    va_list ap, again;
    char *p;
    int n;

    if (!fmt) /* never, but gcc's sanitizers make it warn of that */
        return lpo_arena_strdup(a, "");
    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        n = 0;
    p = lpo_arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
