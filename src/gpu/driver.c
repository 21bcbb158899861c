/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/driver.h"

#include "gpu/library.h"

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
