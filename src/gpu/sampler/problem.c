/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sampler/problem.h"

#include "util/err.h"

#define SHARE                                                                                      \
    "another program holds the GPU's counters (ncu, nsys with GPU metrics, DCGM, another lpo): "   \
    "end "                                                                                         \
    "it and run again"

static const struct {
    int result;
    const char *text;
} texts[] = {
    { PM_NO_PERMISSION,
      "this user may not read the GPU's counters: run as root (in a container with "
      "--cap-add=SYS_ADMIN), or load the driver with NVreg_RestrictProfilingToAdminUsers=0" },
    { PM_VIRTUAL_NO_PERMISSION, "profiling is not switched on for this virtual GPU: the "
                                "administrator of the host can do it" },
    { PM_VIRTUAL_GPU, "this is a virtual GPU, whose counters cannot be read" },
    { PM_MIG, "the GPU is divided (MIG): its counters can be read only while MIG is off" },
    { PM_CONFIDENTIAL, "confidential computing is on: the GPU's counters cannot be read" },
    { PM_MINING, "this is a mining processor (CMP), whose counters cannot be read" },
    { PM_SLI, "SLI is on: switch it off to read the GPU's counters" },
    { PM_WSL, "the GPU's counters cannot be read under WSL" },
    { PM_HARDWARE_BUSY, SHARE },
    { PM_OUT_OF_MEMORY, "there is no memory for the buffer of the counters" },
    { PM_INVALID_CHIP, "this libcupti does not know the chip: install a newer CUPTI" },
    { PM_NOT_COMPATIBLE,
      "this libcupti and the driver do not fit together: install a newer driver, or set "
      "LPO_LIBCUPTI to a libcupti of the driver's CUDA version" },
    { PM_OLD_PROFILER, "another profiler of CUPTI's older interface is in use: " SHARE },
    { PM_NOT_SUPPORTED, "this GPU or its driver cannot sample counters" },
};

/* Where the result itself says nothing. */
static const char *text_of_device(const struct pm_cupti *c, int device)
{
    struct pm_supported p = {
        .size = PM_SIZE(pm_supported, api),
        .device = device,
        .api = PM_API_SAMPLING,
    };
    const struct {
        const int *level;
        const char *unsupported, *disabled;
    } reasons[] = {
        { &p.architecture, "the GPU is older than Turing, and counters are sampled since Turing",
          NULL },
        { &p.vgpu, "this is a virtual GPU, whose counters cannot be read",
          "profiling is not switched on for this virtual GPU: the administrator of the host can "
          "do it" },
        { &p.confidential, "confidential computing is on: the GPU's counters cannot be read",
          NULL },
        { &p.mining, "this is a mining processor (CMP), whose counters cannot be read", NULL },
        { &p.wsl, "the GPU's counters cannot be read under WSL", NULL },
        { &p.sli, "SLI is on: switch it off to read the GPU's counters", NULL },
    };

    if (device < 0 || !c->supported || c->supported(&p) != PM_OK)
        return NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if (*reasons[i].level == PM_UNSUPPORTED)
            return reasons[i].unsupported;
        if (*reasons[i].level == PM_DISABLED && reasons[i].disabled)
            return reasons[i].disabled;
    }
    return NULL;
}

int lpo_sampler_problem(const struct pm_cupti *c, const char *call, int result, int device,
                        struct lpo_err *err)
{
    const char *name = NULL, *why;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].result == result)
            return lpo_fail(err, LPO_E_MISSING, "%s", texts[i].text);
    why = text_of_device(c, device);
    if (why)
        return lpo_fail(err, LPO_E_MISSING, "%s", why);
    if (!c->result_text || c->result_text(result, &name) != PM_OK || !name)
        name = "an unknown result";
    return lpo_fail(err, LPO_E_MISSING,
                    "%s gave %s (%d), for which lpo knows no reason: no counters are sampled", call,
                    name, result);
}
