/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the driver that every fake of it answers alike: two GPUs and their names. Included
 * once in each library that stands for libcuda.so. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGetName(char *name, int len, int device);

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int len, int device)
{
    snprintf(name, (size_t)len, "Fake GPU %d", device);
    return 0;
}
