#include "run/gpu.h"

#include <dlfcn.h>

#include "util/arena.h"
#include "util/json_write.h"

/* The few entry points of NVML used here; their signatures are part of its stable ABI. */
struct memory {
    unsigned long long total, free, used;
};

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned len);
    int (*count)(unsigned *n);
    int (*handle)(unsigned i, void **device);
    int (*name)(void *device, char *text, unsigned len);
    int (*memory)(void *device, struct memory *m);
    int (*max_clock)(void *device, int type, unsigned *mhz);
    int (*capability)(void *device, int *major, int *minor);
    int (*power_limit)(void *device, unsigned *milliwatts);
};

static int load(void *lib, struct nvml *n)
{
    const struct {
        void *slot;
        const char *symbol;
    } rows[] = {
        { &n->init, "nvmlInit_v2" },
        { &n->shutdown, "nvmlShutdown" },
        { &n->driver, "nvmlSystemGetDriverVersion" },
        { &n->count, "nvmlDeviceGetCount_v2" },
        { &n->handle, "nvmlDeviceGetHandleByIndex_v2" },
        { &n->name, "nvmlDeviceGetName" },
        { &n->memory, "nvmlDeviceGetMemoryInfo" },
        { &n->max_clock, "nvmlDeviceGetMaxClockInfo" },
        { &n->capability, "nvmlDeviceGetCudaComputeCapability" },
        { &n->power_limit, "nvmlDeviceGetPowerManagementLimit" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *(void **)rows[i].slot = dlsym(lib, rows[i].symbol);
        if (!*(void **)rows[i].slot)
            return -1;
    }
    return 0;
}

static void read_gpu(struct lpo_arena *a, const struct nvml *n, void *device, struct lpo_gpu *g)
{
    enum { SM_CLOCK = 1, MEMORY_CLOCK = 2 };
    char name[128] = "";
    struct memory m = { 0 };

    if (n->name(device, name, sizeof name) == 0)
        g->name = lpo_arena_strdup(a, name);
    if (n->memory(device, &m) == 0)
        g->memory_bytes = m.total;
    if (n->max_clock(device, SM_CLOCK, &g->sm_clock_mhz) != 0)
        g->sm_clock_mhz = 0;
    if (n->max_clock(device, MEMORY_CLOCK, &g->memory_clock_mhz) != 0)
        g->memory_clock_mhz = 0;
    if (n->power_limit(device, &g->power_limit_mw) != 0)
        g->power_limit_mw = 0;
    if (n->capability(device, &g->cc_major, &g->cc_minor) != 0)
        g->cc_major = g->cc_minor = 0;
}

static void read_all(struct lpo_arena *a, const struct nvml *n, struct lpo_gpus *out)
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
    void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    struct nvml n = { 0 };

    *out = (struct lpo_gpus){ 0 };
    if (!lib) {
        out->why = "no NVIDIA driver (libnvidia-ml.so.1 is not here)";
        return;
    }
    if (load(lib, &n) < 0)
        out->why = "libnvidia-ml.so.1 is too old";
    else if (n.init() != 0)
        out->why = "the NVIDIA driver does not answer";
    else {
        read_all(a, &n, out);
        n.shutdown();
    }
    dlclose(lib);
}

void lpo_gpu_write(struct lpo_arena *a, struct lpo_json_writer *w, const char *key)
{
    struct lpo_gpus gpus;

    lpo_gpu_list(a, &gpus);
    lpo_jw_object(w, key);
    lpo_jw_text(w, "driver", gpus.driver);
    lpo_jw_text(w, "note", gpus.why);
    lpo_jw_array(w, "devices");
    for (size_t i = 0; i < gpus.len; i++) {
        const struct lpo_gpu *g = &gpus.at[i];

        lpo_jw_object(w, NULL);
        lpo_jw_text(w, "name", g->name);
        lpo_jw_uint(w, "memory_bytes", g->memory_bytes);
        lpo_jw_int(w, "max_sm_clock_mhz", g->sm_clock_mhz);
        lpo_jw_int(w, "max_memory_clock_mhz", g->memory_clock_mhz);
        lpo_jw_int(w, "power_limit_mw", g->power_limit_mw);
        lpo_jw_int(w, "cc_major", g->cc_major);
        lpo_jw_int(w, "cc_minor", g->cc_minor);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_jw_end(w);
}
