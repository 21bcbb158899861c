/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/driver.h - NVIDIA's driver (libcuda), opened at run time, never linked.
 *
 * Own declarations of the few entry points used; their signatures and the numbers below are part of
 * its stable ABI. Each returns 0 when it succeeded. LPO_LIBCUDA names another library (tests use a
 * small one of ours). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
