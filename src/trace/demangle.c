/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"

/* The runtime's parser recurses on nested names: what no compiler writes is not given to it. */
enum { LONGEST = 16384 };

typedef char *(*demangler)(const char *name, char *room, size_t *len, int *status);

static demangler found;

static void find(void)
{
    static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1" };

    for (size_t i = 0; !found && i < sizeof libraries / sizeof *libraries; i++) {
        void *lib = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        void *f = lib ? dlsym(lib, "__cxa_demangle") : NULL;
        memcpy(&found, &f, sizeof f);
    }
}

bool lpo_trace_demangle(const char *name, struct lpo_str *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int status = 0;
    char *plain;

    if (!lpo_str_starts(name, "_Z") || strnlen(name, LONGEST + 1) > LONGEST)
        return false;
    pthread_once(&once, find);
    plain = found ? found(name, NULL, NULL, &status) : NULL;
    if (!plain)
        return false;
    lpo_str_add(out, plain);
    free(plain);
    return true;
}
