/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/mem.h"

#include <sys/mman.h>

/* Not malloc: the program may be inside its own when it calls, or have replaced it. NORESERVE: the
 * tables are sized for the worst program, and a page that is never written costs nothing. */
void *lpoc_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* A program under ulimit -v or in a small container gets smaller tables, not none. */
void *lpoc_map_most(size_t *bytes, size_t least)
{
    for (; *bytes >= least; *bytes /= 2) {
        void *at = lpoc_map(*bytes);
        if (at)
            return at;
    }
    *bytes = 0;
    return NULL;
}

void lpoc_unmap(void *at, size_t bytes)
{
    if (at)
        munmap(at, bytes);
}
