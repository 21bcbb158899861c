/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for libnvidia-ml with two GPUs: 0 works at 200 W, 1 idles at 50 W. FAKE_NVML=throttled
 * lets both run into their power cap; FAKE_NVML=bare has no energy counter and no throttle
 * reasons, as old GPUs have none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, GPUS = 2 };

static const char gpus[GPUS];

static int number(void *device)
{
    return (int)((const char *)device - gpus);
}

static int is(const char *mode)
{
    const char *v = getenv("FAKE_NVML");

    return v && strcmp(v, mode) == 0;
}

static unsigned milliwatts(void *device)
{
    return number(device) == 0 ? 200000 : 50000;
}

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned len);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
int nvmlDeviceGetName(void *device, char *text, unsigned len);
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *total_free_used);
int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz);
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor);
int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *mw);
int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz);
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetUtilizationRates(void *device, unsigned *gpu_memory);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);

int nvmlInit_v2(void)
{
    return OK;
}

int nvmlShutdown(void)
{
    return OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned len)
{
    snprintf(text, len, "999.1");
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = GPUS;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
    if (i >= GPUS)
        return INVALID;
    *device = (void *)&gpus[i];
    return OK;
}

int nvmlDeviceGetName(void *device, char *text, unsigned len)
{
    snprintf(text, len, "Fake GPU %d", number(device));
    return OK;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *total_free_used)
{
    total_free_used[0] = 16ull << 30;
    total_free_used[2] = number(device) == 0 ? 4ull << 30 : 1ull << 20;
    total_free_used[1] = total_free_used[0] - total_free_used[2];
    return OK;
}

int nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == 1 ? 2000 : 3000;
    return OK;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    (void)device;
    *major = 9;
    *minor = 0;
    return OK;
}

int nvmlDeviceGetPowerManagementLimit(void *device, unsigned *mw)
{
    (void)device;
    *mw = 700000;
    return OK;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    (void)device;
    *mhz = type == 1 ? 1500 : 3000;
    return OK;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    *mw = milliwatts(device);
    return OK;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 40;
    return sensor == 0 ? OK : INVALID;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned *gpu_memory)
{
    gpu_memory[0] = number(device) == 0 ? 80 : 0;
    gpu_memory[1] = 0;
    return OK;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    (void)device;
    *reasons = is("throttled") ? 0x4 : 0;
    return is("bare") ? NOT_SUPPORTED : OK;
}

/* What the power adds up to since the machine started. */
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    *mj = (unsigned long long)(((double)now.tv_sec + (double)now.tv_nsec * 1e-9) *
                               milliwatts(device));
    return is("bare") ? NOT_SUPPORTED : OK;
}
