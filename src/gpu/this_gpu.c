#include <dlfcn.h>
#include <stdlib.h>

#include "gpu/read_hardware.h"
#include "gpu/this_machine.h"
#include "util/arena.h"

/* Numbers of the driver's interface, stable since they exist. */
enum {
    ATTRIBUTE_CLOCK_RATE = 13,
    ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
    ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
    ATTRIBUTE_L2_CACHE_SIZE = 38,
    ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
};

struct driver {
    void *library;
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*get_name)(char *, int, int);
    int (*get_attribute)(int *, int, int);
    int (*total_mem)(size_t *, int);
};

static bool open_driver(struct driver *d)
{
    const char *given = getenv("LPO_LIBCUDA");

    d->library = dlopen(given && *given ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!d->library)
        return false;
    *(void **)&d->init = dlsym(d->library, "cuInit");
    *(void **)&d->device_get = dlsym(d->library, "cuDeviceGet");
    *(void **)&d->get_name = dlsym(d->library, "cuDeviceGetName");
    *(void **)&d->get_attribute = dlsym(d->library, "cuDeviceGetAttribute");
    *(void **)&d->total_mem = dlsym(d->library, "cuDeviceTotalMem_v2");
    return d->init && d->device_get && d->get_name && d->get_attribute && d->total_mem;
}

static double attribute(const struct driver *d, int handle, int which)
{
    int value = 0;

    return d->get_attribute(&value, which, handle) == 0 && value > 0 ? value : 0;
}

static bool ask(const struct driver *d, struct lpo_arena *a, int device,
                struct lpo_gpu_attributes *out)
{
    char name[256] = "";
    size_t memory = 0;
    int handle;

    if (d->init(0) != 0 || d->device_get(&handle, device) != 0 ||
        d->get_name(name, sizeof name, handle) != 0)
        return false;
    d->total_mem(&memory, handle);
    *out = (struct lpo_gpu_attributes){
        .name = lpo_arena_strdup(a, name),
        .sms = (uint32_t)attribute(d, handle, ATTRIBUTE_MULTIPROCESSOR_COUNT),
        .cc_major = (uint32_t)attribute(d, handle, ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        .cc_minor = (uint32_t)attribute(d, handle, ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        .clock_hz = attribute(d, handle, ATTRIBUTE_CLOCK_RATE) * 1e3,
        .memory_clock_hz = attribute(d, handle, ATTRIBUTE_MEMORY_CLOCK_RATE) * 1e3,
        .bus_bits = attribute(d, handle, ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        .memory = (double)memory,
        .l2_bytes = attribute(d, handle, ATTRIBUTE_L2_CACHE_SIZE),
    };
    return true;
}

bool lpo_gpu_ask(struct lpo_arena *a, int device, struct lpo_gpu_attributes *out)
{
    struct driver d = { 0 };
    bool known = open_driver(&d) && ask(&d, a, device, out);

    if (d.library)
        dlclose(d.library);
    return known;
}

bool lpo_gpu_hardware_this_gpu(struct lpo_arena *a, const char *const *dirs, int device,
                               struct lpo_hardware *out)
{
    struct lpo_gpu_attributes gpu;

    if (!lpo_gpu_ask(a, device, &gpu))
        return false;
    if (!lpo_gpu_hardware_match(a, dirs, gpu.name, out) && !lpo_gpu_hardware_compute(&gpu, out))
        return false;
    if (gpu.memory > 0)
        out->memory = gpu.memory;
    if (gpu.l2_bytes > 0)
        out->l2_bytes = gpu.l2_bytes;
    return true;
}
