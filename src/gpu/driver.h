/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/driver.h - NVIDIA's driver (libcuda), opened at run time, never linked.
 *
 * Own declarations of the few entry points used; their signatures and the numbers below are part of
 * its stable ABI. Each returns 0 when it succeeded. LPO_LIBCUDA names another library (tests use a
 * small one of ours). */
#pragma once

#include "util/base.h"

struct lpo_json_writer;

typedef uint64_t lpo_gpu_address; /* of the device's memory: CUdeviceptr */

/* CUdevice_attribute. */
enum lpo_gpu_attribute {
    LPO_GPU_CLOCK_KHZ = 13,
    LPO_GPU_MULTIPROCESSORS = 16,
    LPO_GPU_MEMORY_CLOCK_KHZ = 36,
    LPO_GPU_MEMORY_BUS_BITS = 37,
    LPO_GPU_L2_BYTES = 38,
    LPO_GPU_CAPABILITY_MAJOR = 75,
    LPO_GPU_CAPABILITY_MINOR = 76,
};

struct lpo_gpu_driver {
    void *library;
    int (*init)(unsigned flags);
    int (*device)(int *device, int number);
    int (*name)(char *text, int len, int device);
    int (*attribute)(int *value, int which, int device);
    int (*memory)(size_t *bytes, int device);
    int (*context_retain)(void **context, int device);
    int (*context_release)(int device);
    int (*context_set)(void *context);
    int (*alloc)(lpo_gpu_address *at, size_t bytes);
    int (*free)(lpo_gpu_address at);
    int (*copy_in)(lpo_gpu_address to, const void *from, size_t bytes);
    int (*copy)(lpo_gpu_address to, lpo_gpu_address from, size_t bytes, void *stream);
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, void *stream);
    int (*event_wait)(void *event);
    int (*event_ms)(float *ms, void *start, void *end);
    int (*event_destroy)(void *event);
};

/* Opens and initialises it. False: there is no driver, or it is too old or does not answer; then
 * there is nothing to close. */
bool lpo_gpu_driver_open(struct lpo_gpu_driver *d);
void lpo_gpu_driver_close(struct lpo_gpu_driver *d);

/* A vendor's shared library, opened at run time and never linked.
 *
 * lpo runs on machines without a driver, so every NVIDIA library is optional: it is looked for when
 * it is needed, and its absence is a fact to report, not an error of the loader. */

/* One entry point: where its address goes, and whether the rest is of use without it. */
struct lpo_gpu_entry {
    void *slot; /* of a function pointer */
    const char *symbol;
    bool optional; /* *slot is NULL when an older library does not have it */
};

/* The library that the environment variable names; when that is not set, the first of `names`
 * (NULL-terminated) that can be loaded. NULL: there is none. A variable that names a missing file
 * gives NULL too: tests rely on it to hide the driver of the machine they run on. */
void *lpo_gpu_library_open(const char *variable, const char *const *names);
void lpo_gpu_library_close(void *library); /* NULL is fine */

/* False when an entry point that is not optional is missing. */
bool lpo_gpu_library_load(void *library, const struct lpo_gpu_entry *entries, size_t count);

/* NVIDIA's management library, opened at run time, never linked, and the list of GPUs
 * that it gives.
 *
 * Own declarations of the few entry points used; their signatures are part of its stable ABI.
 * Optional ones may be NULL. LPO_NVML names another library (tests use a small one of ours). */
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
