/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/driver.h"

#include <dlfcn.h>
#include <stdlib.h>

bool lpo_gpu_driver_open(struct lpo_gpu_driver *d)
{
    static const char *const names[] = { "libcuda.so.1", NULL };
    /* The suffix _v2 is where sizes became 64 bits wide (CUDA 3.2); the plain names of those
     * functions still take 32 bits. */
    const struct lpo_gpu_entry entries[] = {
        { &d->init, "cuInit", false },
        { &d->device, "cuDeviceGet", false },
        { &d->name, "cuDeviceGetName", false },
        { &d->attribute, "cuDeviceGetAttribute", false },
        { &d->memory, "cuDeviceTotalMem_v2", false },
        { &d->context_retain, "cuDevicePrimaryCtxRetain", false },
        { &d->context_release, "cuDevicePrimaryCtxRelease_v2", false },
        { &d->context_set, "cuCtxSetCurrent", false },
        { &d->alloc, "cuMemAlloc_v2", false },
        { &d->free, "cuMemFree_v2", false },
        { &d->copy_in, "cuMemcpyHtoD_v2", false },
        { &d->copy, "cuMemcpyDtoDAsync_v2", false },
        { &d->event_create, "cuEventCreate", false },
        { &d->event_record, "cuEventRecord", false },
        { &d->event_wait, "cuEventSynchronize", false },
        { &d->event_ms, "cuEventElapsedTime", false },
        { &d->event_destroy, "cuEventDestroy_v2", false },
    };

    *d = (struct lpo_gpu_driver){ 0 };
    d->library = lpo_gpu_library_open("LPO_LIBCUDA", names);
    if (!d->library)
        return false;
    if (lpo_gpu_library_load(d->library, entries, sizeof entries / sizeof *entries) &&
        d->init(0) == 0)
        return true;
    lpo_gpu_driver_close(d);
    return false;
}

void lpo_gpu_driver_close(struct lpo_gpu_driver *d)
{
    lpo_gpu_library_close(d->library);
    d->library = NULL;
}

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
