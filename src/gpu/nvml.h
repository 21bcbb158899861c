/* gpu/nvml.h - NVIDIA's management library, opened at run time, never linked.
 *
 * Own declarations of the few entry points used; their signatures are part of its stable ABI.
 * Optional ones may be NULL. LPO_NVML names another library (tests use a small one of ours). */
#pragma once

struct lpo_nvml_memory {
    unsigned long long total, free, used;
};

struct lpo_nvml_rates {
    unsigned gpu, memory; /* percent */
};

enum lpo_nvml_clock { LPO_NVML_SM_CLOCK = 1, LPO_NVML_MEMORY_CLOCK = 2 };

struct lpo_nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver)(char *text, unsigned len);
    int (*count)(unsigned *n);
    int (*handle)(unsigned i, void **device);
    int (*name)(void *device, char *text, unsigned len);
    int (*memory)(void *device, struct lpo_nvml_memory *m);
    int (*max_clock)(void *device, int type, unsigned *mhz);
    int (*capability)(void *device, int *major, int *minor);
    int (*power_limit)(void *device, unsigned *milliwatts);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*power)(void *device, unsigned *milliwatts);
    int (*temperature)(void *device, int sensor, unsigned *celsius);
    int (*utilisation)(void *device, struct lpo_nvml_rates *rates);
    int (*throttle)(void *device, unsigned long long *reasons);   /* optional */
    int (*energy)(void *device, unsigned long long *millijoules); /* optional */
};

/* Opens and initialises it. Returns NULL when it works, else why not, in a few words. */
const char *lpo_gpu_nvml_open(struct lpo_nvml *n);
void lpo_gpu_nvml_close(struct lpo_nvml *n);
