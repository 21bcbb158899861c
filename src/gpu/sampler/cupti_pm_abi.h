/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/cupti_pm_abi.h - the declarations of CUPTI's PM sampling that the sampler uses.
 *
 * Our own declarations of a public binary interface (CUDA 12.6 and later), so that lpo builds with
 * no CUDA toolkit and one build serves CUDA 12 and 13. Each struct begins with its own size, which
 * ends with its last member: padding does not count. tests/gpu/check_pm_abi.c compares with the
 * real headers where they are found. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PM_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

enum pm_trigger { PM_TRIGGER_SYSCLK = 0, PM_TRIGGER_TIME = 1 };
enum pm_stop { PM_STOP_OTHER = 0, PM_STOP_IMAGE_FULL = 1, PM_STOP_END_OF_RECORDS = 2 };
enum { PM_HOST_TYPE_SAMPLING = 1, PM_API_SAMPLING = 3, PM_KEEP_OLDEST = 0 };
enum pm_support { PM_UNKNOWN = 0, PM_UNSUPPORTED = 1, PM_DISABLED = 2, PM_SUPPORTED = 3 };

enum pm_result {
    PM_OK = 0,
    PM_INVALID_PARAMETER = 1,
    PM_INVALID_DEVICE = 2,
    PM_INVALID_CONTEXT = 3,
    PM_INVALID_OPERATION = 7,
    PM_OUT_OF_MEMORY = 8,
    PM_HARDWARE = 9,
    PM_NOT_COMPATIBLE = 14,
    PM_NOT_INITIALIZED = 15,
    PM_INVALID_METRIC_NAME = 17,
    PM_HARDWARE_BUSY = 26,
    PM_NOT_SUPPORTED = 27,
    PM_VIRTUAL_GPU = 33,
    PM_NO_PERMISSION = 35,
    PM_OLD_PROFILER = 36,
    PM_VIRTUAL_NO_PERMISSION = 40,
    PM_CONFIDENTIAL = 41,
    PM_MINING = 42,
    PM_MIG = 43,
    PM_SLI = 44,
    PM_WSL = 45,
    PM_INVALID_CHIP = 46,
    PM_ERROR_UNKNOWN = 999,
};

struct pm_initialize { /* CUpti_Profiler_Initialize_Params, and DeInitialize */
    size_t size;
    void *priv;
};

struct pm_chip_name { /* CUpti_Device_GetChipName_Params */
    size_t size;
    void *priv;
    size_t device;
    const char *chip;
};

struct pm_supported { /* CUpti_Profiler_DeviceSupported_Params */
    size_t size;
    void *priv;
    int device;
    int all, architecture, sli, vgpu, confidential, mining, wsl; /* enum pm_support */
    int api;
};

struct pm_availability { /* CUpti_PmSampling_GetCounterAvailability_Params */
    size_t size;
    void *priv;
    size_t device;
    size_t bytes;
    uint8_t *image;
};

struct pm_enable { /* CUpti_PmSampling_Enable_Params */
    size_t size;
    void *priv;
    size_t device;
    void *object;
};

struct pm_object { /* of Disable, Start, Stop, and of the host object's Deinitialize */
    size_t size;
    void *priv;
    void *object;
};

struct pm_set_config { /* CUpti_PmSampling_SetConfig_Params */
    size_t size;
    void *priv;
    void *object;
    size_t config_bytes;
    const uint8_t *config;
    size_t buffer_bytes;
    uint64_t interval;
    int trigger;
    int append; /* since CUDA 12.8 */
};

struct pm_data_size { /* CUpti_PmSampling_GetCounterDataSize_Params */
    size_t size;
    void *priv;
    void *object;
    const char **names;
    size_t count;
    uint32_t samples;
    size_t bytes;
};

struct pm_data_init { /* CUpti_PmSampling_CounterDataImage_Initialize_Params */
    size_t size;
    void *priv;
    void *object;
    size_t bytes;
    uint8_t *image;
};

struct pm_decode { /* CUpti_PmSampling_DecodeData_Params */
    size_t size;
    void *priv;
    void *object;
    uint8_t *image;
    size_t bytes;
    int stopped_by; /* enum pm_stop */
    uint8_t overflow;
};

struct pm_data_info { /* CUpti_PmSampling_GetCounterDataInfo_Params */
    size_t size;
    void *priv;
    const uint8_t *image;
    size_t bytes;
    size_t total, populated, completed;
};

struct pm_sample_info { /* CUpti_PmSampling_CounterData_GetSampleInfo_Params */
    size_t size;
    void *priv;
    void *object;
    const uint8_t *image;
    size_t bytes;
    size_t index;
    uint64_t start_ns, end_ns;
};

struct pm_host_initialize { /* CUpti_Profiler_Host_Initialize_Params */
    size_t size;
    void *priv;
    int type;
    const char *chip;
    const uint8_t *availability;
    void *object;
};

struct pm_host_add { /* CUpti_Profiler_Host_ConfigAddMetrics_Params */
    size_t size;
    void *priv;
    void *object;
    const char **names;
    size_t count;
};

struct pm_host_size { /* CUpti_Profiler_Host_GetConfigImageSize_Params */
    size_t size;
    void *priv;
    void *object;
    size_t bytes;
};

struct pm_host_image { /* CUpti_Profiler_Host_GetConfigImage_Params */
    size_t size;
    void *priv;
    void *object;
    size_t bytes;
    uint8_t *image;
};

struct pm_host_passes { /* CUpti_Profiler_Host_GetNumOfPasses_Params */
    size_t size;
    void *priv;
    size_t bytes;
    uint8_t *image;
    size_t passes;
};

struct pm_host_evaluate { /* CUpti_Profiler_Host_EvaluateToGpuValues_Params */
    size_t size;
    void *priv;
    void *object;
    const uint8_t *image;
    size_t bytes;
    size_t index;
    const char **names;
    size_t count;
    double *values;
};

/* The entry points, found by name at run time. */
struct pm_cupti {
    void *library;
    int (*version)(uint32_t *version);
    int (*result_text)(int result, const char **text);
    int (*initialize)(struct pm_initialize *p);
    int (*chip_name)(struct pm_chip_name *p);
    int (*supported)(struct pm_supported *p);
    int (*availability)(struct pm_availability *p);
    int (*enable)(struct pm_enable *p);
    int (*disable)(struct pm_object *p);
    int (*set_config)(struct pm_set_config *p);
    int (*start)(struct pm_object *p);
    int (*stop)(struct pm_object *p);
    int (*data_size)(struct pm_data_size *p);
    int (*data_init)(struct pm_data_init *p);
    int (*decode)(struct pm_decode *p);
    int (*data_info)(struct pm_data_info *p);
    int (*sample_info)(struct pm_sample_info *p);
    int (*host_initialize)(struct pm_host_initialize *p);
    int (*host_deinitialize)(struct pm_object *p);
    int (*host_add)(struct pm_host_add *p);
    int (*host_size)(struct pm_host_size *p);
    int (*host_image)(struct pm_host_image *p);
    int (*host_passes)(struct pm_host_passes *p);
    int (*host_evaluate)(struct pm_host_evaluate *p);
};
