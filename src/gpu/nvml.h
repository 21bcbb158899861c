/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/nvml.h - NVIDIA's management library, opened at run time, never linked, and the list of GPUs
 * that it gives.
 *
 * Own declarations of the few entry points used; their signatures are part of its stable ABI.
 * Optional ones may be NULL. LPO_NVML names another library (tests use a small one of ours). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lpo_arena;
struct lpo_json_writer;

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

struct lpo_gpu {
    const char *name;
    uint64_t memory_bytes;
    uint32_t sm_clock_mhz, memory_clock_mhz; /* the highest; 0 unknown */
    uint32_t power_limit_mw;
    int cc_major, cc_minor;
};

struct lpo_gpus {
    const char *driver; /* NULL: no driver */
    const char *why;    /* when there are none: what was missing */
    struct lpo_gpu *at;
    size_t len;
};

/* The GPUs of this machine; an empty list with its reason where there is no driver. */
void lpo_gpu_list(struct lpo_arena *a, struct lpo_gpus *out);
/* {"driver": …, "devices": […]} under `key`. */
void lpo_gpu_write(struct lpo_arena *a, struct lpo_json_writer *w, const char *key);
