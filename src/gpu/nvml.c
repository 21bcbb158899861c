#include "gpu/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static bool load(struct lpo_nvml *n)
{
    const struct {
        void *slot;
        const char *symbol;
        bool optional;
    } rows[] = {
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
        { &n->throttle, "nvmlDeviceGetCurrentClocksThrottleReasons", true },
        { &n->energy, "nvmlDeviceGetTotalEnergyConsumption", true },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *(void **)rows[i].slot = dlsym(n->library, rows[i].symbol);
        if (!*(void **)rows[i].slot && !rows[i].optional)
            return false;
    }
    return true;
}

const char *lpo_gpu_nvml_open(struct lpo_nvml *n)
{
    const char *given = getenv("LPO_NVML");
    const char *why = NULL;

    *n = (struct lpo_nvml){ 0 };
    n->library = dlopen(given && *given ? given : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return "no NVIDIA driver (libnvidia-ml.so.1 is not here)";
    if (!load(n))
        why = "libnvidia-ml.so.1 is too old";
    else if (n->init() != 0)
        why = "the NVIDIA driver does not answer";
    if (why) {
        dlclose(n->library);
        n->library = NULL;
    }
    return why;
}

void lpo_gpu_nvml_close(struct lpo_nvml *n)
{
    if (!n->library)
        return;
    n->shutdown();
    dlclose(n->library);
    n->library = NULL;
}
