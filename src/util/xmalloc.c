/* SPDX-License-Identifier: Apache-2.0 */
#include "util/base.h"

/* _Exit: what runs at a normal exit may want memory itself. Weak: a library inside another program
 * (gpu/inside) must not end that. */
__attribute__((weak)) void lpo_xmalloc_failed(size_t size)
{
    fprintf(stderr, "lpo: out of memory (asked for %zu bytes)\n", size);
    _Exit(1);
}

void *lpo_xmalloc(size_t size)
{
    /* a block of no bytes may be NULL, which is an error here */
    void *p = malloc(size ? size : 1);

    if (!p)
        lpo_xmalloc_failed(size);
    return p;
}

void *lpo_xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);

    if (!p)
        lpo_xmalloc_failed(count * size);
    return p;
}

/* Counts come from files: a product that does not fit must not become a small block. */
void *lpo_xrealloc(void *p, size_t count, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(count, size, &total))
        lpo_xmalloc_failed(SIZE_MAX);
    p = realloc(p, total ? total : 1);
    if (!p)
        lpo_xmalloc_failed(total);
    return p;
}

char *lpo_xstrdup(const char *s)
{
    size_t len = strlen(s) + 1;

    return memcpy(lpo_xmalloc(len), s, len);
}
