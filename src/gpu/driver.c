/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/driver.h"

#include <dlfcn.h>

#include "util/json_write.h"

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

static bool load(struct lpo_nvml *n)
{
    const struct lpo_gpu_entry entries[] = {
        { &n->init, "nvmlInit_v2", false },
        { &n->shutdown, "nvmlShutdown", false },
        { &n->driver, "nvmlSystemGetDriverVersion", false },
        { &n->count, "nvmlDeviceGetCount_v2", false },
        { &n->handle, "nvmlDeviceGetHandleByIndex_v2", false },
        { &n->name, "nvmlDeviceGetName", false },
        { &n->memory, "nvmlDeviceGetMemoryInfo", false },
        { &n->max_clock, "nvmlDeviceGetMaxClockInfo", false },
        { &n->capability, "nvmlDeviceGetCudaComputeCapability", false },
        { &n->power_limit, "nvmlDeviceGetPowerManagementLimit", false },
        { &n->clock, "nvmlDeviceGetClockInfo", false },
        { &n->power, "nvmlDeviceGetPowerUsage", false },
        { &n->temperature, "nvmlDeviceGetTemperature", false },
        { &n->utilisation, "nvmlDeviceGetUtilizationRates", false },
        /* not in every version of the library, and nothing depends on them */
        { &n->throttle, "nvmlDeviceGetCurrentClocksThrottleReasons", true },
        { &n->energy, "nvmlDeviceGetTotalEnergyConsumption", true },
    };

    return lpo_gpu_library_load(n->library, entries, sizeof entries / sizeof *entries);
}

const char *lpo_gpu_nvml_open(struct lpo_nvml *n)
{
    static const char *const names[] = { "libnvidia-ml.so.1", NULL };
    const char *why = NULL;

    *n = (struct lpo_nvml){ 0 };
    n->library = lpo_gpu_library_open("LPO_NVML", names);
    if (!n->library)
        return "no NVIDIA driver (libnvidia-ml.so.1 cannot be loaded)";
    if (!load(n))
        why = "libnvidia-ml.so.1 is too old";
    else if (n->init() != 0)
        why = "the NVIDIA driver does not answer"; /* a container may have the library alone */
    if (why) {
        lpo_gpu_library_close(n->library);
        n->library = NULL;
    }
    return why;
}

void lpo_gpu_nvml_close(struct lpo_nvml *n)
{
    if (!n->library)
        return;
    n->shutdown();
    lpo_gpu_library_close(n->library);
    n->library = NULL;
}

/* A call that a GPU does not support fails: its figure stays unknown and the others count. */
static void read_gpu(struct lpo_arena *a, const struct lpo_nvml *n, void *device, struct lpo_gpu *g)
{
    char name[128] = "";
    struct lpo_nvml_memory m = { 0 };

    if (n->name(device, name, sizeof name) == 0)
        g->name = lpo_arena_strdup(a, name);
    if (n->memory(device, &m) == 0)
        g->memory_bytes = m.total;
    if (n->max_clock(device, LPO_NVML_SM_CLOCK, &g->sm_clock_mhz) != 0)
        g->sm_clock_mhz = 0;
    if (n->max_clock(device, LPO_NVML_MEMORY_CLOCK, &g->memory_clock_mhz) != 0)
        g->memory_clock_mhz = 0;
    if (n->power_limit(device, &g->power_limit_mw) != 0)
        g->power_limit_mw = 0;
    if (n->capability(device, &g->cc_major, &g->cc_minor) != 0)
        g->cc_major = g->cc_minor = 0;
}

static void read_all(struct lpo_arena *a, const struct lpo_nvml *n, struct lpo_gpus *out)
{
    char driver[96] = "";
    unsigned count = 0;

    if (n->driver(driver, sizeof driver) == 0)
        out->driver = lpo_arena_strdup(a, driver);
    if (n->count(&count) != 0 || count == 0) {
        out->why = "the driver lists no GPU";
        return;
    }
    out->at = lpo_arena_array(a, count, sizeof *out->at);
    for (unsigned i = 0; i < count; i++) {
        void *device = NULL;

        if (n->handle(i, &device) == 0)
            read_gpu(a, n, device, &out->at[out->len++]);
    }
}

void lpo_gpu_list(struct lpo_arena *a, struct lpo_gpus *out)
{
    struct lpo_nvml n;

    *out = (struct lpo_gpus){ 0 };
    out->why = lpo_gpu_nvml_open(&n);
    if (out->why)
        return;
    read_all(a, &n, out);
    lpo_gpu_nvml_close(&n);
}

void lpo_gpu_write(struct lpo_arena *a, struct lpo_json_writer *w, const char *key)
{
    struct lpo_gpus gpus;

    lpo_gpu_list(a, &gpus);
    lpo_jw_object(w, key);
    lpo_jw_put(w, LPO_KV("driver", gpus.driver), LPO_KV("note", gpus.why));
    lpo_jw_array(w, "devices");
    for (size_t i = 0; i < gpus.len; i++) {
        const struct lpo_gpu *g = &gpus.at[i];

        lpo_jw_record(w, NULL, LPO_KV("name", g->name), LPO_KV("memory_bytes", g->memory_bytes),
                      LPO_KV("max_sm_clock_mhz", g->sm_clock_mhz),
                      LPO_KV("max_memory_clock_mhz", g->memory_clock_mhz),
                      LPO_KV("power_limit_mw", g->power_limit_mw), LPO_KV("cc_major", g->cc_major),
                      LPO_KV("cc_minor", g->cc_minor));
    }
    lpo_jw_end(w);
    lpo_jw_end(w);
}
