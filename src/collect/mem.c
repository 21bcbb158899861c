/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/mem.h"

#include <sys/mman.h>

void *lpoc_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

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
