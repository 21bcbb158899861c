/* SPDX-License-Identifier: Apache-2.0 */
/* A static program that loads libraries needs the very glibc that it was linked with, and may crash
 * with another. So the single binary loads none: there is no driver, no NVML and no CUPTI for it,
 * which is what its callers say where they miss one. */
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return NULL;
}

void *dlsym(void *restrict handle, const char *restrict name)
{
    (void)handle;
    (void)name;
    return NULL;
}

int dlclose(void *handle)
{
    (void)handle;
    return 0;
}

char *dlerror(void)
{
    return "a single binary of lpo loads no libraries";
}
