/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/this_machine.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/driver.h"
#include "gpu/sheets.h"
#include "util/arena.h"

/* Long enough for a clock to rise, short enough that nobody waits for it. LPO_CPU_SECONDS is for
 * tests, which start lpo more than a thousand times. */
static double cpu_seconds(void)
{
    const char *text = getenv("LPO_CPU_SECONDS");
    double seconds = text ? strtod(text, NULL) : 0;

    return seconds > 0 && seconds < 1 ? seconds : 0.05;
}

static double attribute(const struct lpo_gpu_driver *d, int device, enum lpo_gpu_attribute which)
{
    int value = 0;

    return d->attribute(&value, (int)which, device) == 0 && value > 0 ? value : 0;
}

static bool ask(const struct lpo_gpu_driver *d, struct lpo_arena *a, int number,
                struct lpo_gpu_attributes *out)
{
    char name[256] = "";
    size_t memory = 0;
    int device;

    if (d->device(&device, number) != 0 || d->name(name, sizeof name, device) != 0)
        return false;
    d->memory(&memory, device);
    *out = (struct lpo_gpu_attributes){
        .name = lpo_arena_strdup(a, name),
        .sms = (uint32_t)attribute(d, device, LPO_GPU_MULTIPROCESSORS),
        .cc_major = (uint32_t)attribute(d, device, LPO_GPU_CAPABILITY_MAJOR),
        .cc_minor = (uint32_t)attribute(d, device, LPO_GPU_CAPABILITY_MINOR),
        .clock_hz = attribute(d, device, LPO_GPU_CLOCK_KHZ) * 1e3,
        .memory_clock_hz = attribute(d, device, LPO_GPU_MEMORY_CLOCK_KHZ) * 1e3,
        .bus_bits = attribute(d, device, LPO_GPU_MEMORY_BUS_BITS),
        .memory = (double)memory,
        .l2_bytes = attribute(d, device, LPO_GPU_L2_BYTES),
    };
    return true;
}

bool lpo_gpu_ask(struct lpo_arena *a, int device, struct lpo_gpu_attributes *out)
{
    struct lpo_gpu_driver d;
    bool known;

    if (!lpo_gpu_driver_open(&d))
        return false;
    known = ask(&d, a, device, out);
    lpo_gpu_driver_close(&d);
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
    /* a sheet is of the model; this GPU may be a slice (MIG) or sold with less memory */
    if (gpu.memory > 0)
        out->memory = gpu.memory;
    if (gpu.l2_bytes > 0)
        out->l2_bytes = gpu.l2_bytes;
    return true;
}

int lpo_gpu_hardware_find(struct lpo_arena *a, const char *const *dirs, const char *name,
                          struct lpo_hardware *out, struct lpo_err *err)
{
    int rc = 0;

    if (strcmp(name, "cpu") == 0)
        lpo_gpu_hardware_measure_cpu(a, cpu_seconds(), out);
    else if (strcmp(name, "this") != 0)
        rc = lpo_gpu_hardware_read(a, dirs, name, out, err);
    else if (!lpo_gpu_hardware_this_gpu(a, dirs, 0, out))
        lpo_gpu_hardware_measure_cpu(a, cpu_seconds(), out);
    if (rc == 0)
        lpo_gpu_hardware_from_env(out);
    return rc;
}
