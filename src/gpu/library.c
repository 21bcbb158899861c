/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/library.h"

#include <dlfcn.h>
#include <stdlib.h>

void *lpo_gpu_library_open(const char *variable, const char *const *names)
{
    const char *given = getenv(variable);
    void *library = NULL;

    /* RTLD_LOCAL: a library of ours must not resolve its symbols from a vendor's. */
    if (given && *given)
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    for (; !library && *names; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

void lpo_gpu_library_close(void *library)
{
    if (library)
        dlclose(library);
}

bool lpo_gpu_library_load(void *library, const struct lpo_gpu_entry *entries, size_t count)
{
    bool complete = true;

    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, entries[i].symbol);

        /* ISO C has no cast from an object pointer to a function pointer; POSIX promises that the
         * bytes are the same. */
        *(void **)entries[i].slot = symbol;
        complete &= symbol != NULL || entries[i].optional;
    }
    return complete;
}
