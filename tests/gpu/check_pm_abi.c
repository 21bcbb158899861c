/* SPDX-License-Identifier: Apache-2.0 */
/* Our own declarations of CUPTI's PM sampling against the real headers: it compiles or it does not.
 * One of them includes C++'s <string> without using it; abi/string stands in for that. */
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include "gpu/sampler/cupti_pm_abi.h"

#define SAME(what, ours, theirs) _Static_assert((ours) == (theirs), what)
#define AT(our_type, our_field, type, field)                                                       \
    SAME(#type "." #field, offsetof(struct our_type, our_field), offsetof(type, field));           \
    SAME(#type "." #field " size", sizeof(((struct our_type *)0)->our_field),                      \
         sizeof(((type *)0)->field))
#define SIZE(our_type, last, type)                                                                 \
    SAME(#type " size", PM_SIZE(our_type, last), type##_STRUCT_SIZE);                              \
    AT(our_type, size, type, structSize);                                                          \
    AT(our_type, priv, type, pPriv)
#define NUMBER(ours, theirs) SAME(#theirs, (int)(ours), (int)(theirs))

SIZE(pm_initialize, priv, CUpti_Profiler_Initialize_Params);
SIZE(pm_chip_name, chip, CUpti_Device_GetChipName_Params);
AT(pm_chip_name, device, CUpti_Device_GetChipName_Params, deviceIndex);
SIZE(pm_supported, api, CUpti_Profiler_DeviceSupported_Params);
AT(pm_supported, device, CUpti_Profiler_DeviceSupported_Params, cuDevice);
AT(pm_supported, all, CUpti_Profiler_DeviceSupported_Params, isSupported);
AT(pm_supported, architecture, CUpti_Profiler_DeviceSupported_Params, architecture);
AT(pm_supported, sli, CUpti_Profiler_DeviceSupported_Params, sli);
AT(pm_supported, vgpu, CUpti_Profiler_DeviceSupported_Params, vGpu);
AT(pm_supported, confidential, CUpti_Profiler_DeviceSupported_Params, confidentialCompute);
AT(pm_supported, mining, CUpti_Profiler_DeviceSupported_Params, cmp);
AT(pm_supported, wsl, CUpti_Profiler_DeviceSupported_Params, wsl);
SIZE(pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params);
AT(pm_availability, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
AT(pm_availability, bytes, CUpti_PmSampling_GetCounterAvailability_Params,
   counterAvailabilityImageSize);
SIZE(pm_enable, object, CUpti_PmSampling_Enable_Params);
AT(pm_enable, device, CUpti_PmSampling_Enable_Params, deviceIndex);
SIZE(pm_object, object, CUpti_PmSampling_Disable_Params);
SIZE(pm_object, object, CUpti_PmSampling_Start_Params);
SIZE(pm_object, object, CUpti_PmSampling_Stop_Params);
SIZE(pm_object, object, CUpti_Profiler_Host_Deinitialize_Params);
SIZE(pm_set_config, append, CUpti_PmSampling_SetConfig_Params);
AT(pm_set_config, config_bytes, CUpti_PmSampling_SetConfig_Params, configSize);
AT(pm_set_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
AT(pm_set_config, buffer_bytes, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
AT(pm_set_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
AT(pm_set_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SIZE(pm_data_size, bytes, CUpti_PmSampling_GetCounterDataSize_Params);
AT(pm_data_size, names, CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
AT(pm_data_size, count, CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
AT(pm_data_size, samples, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SIZE(pm_data_init, image, CUpti_PmSampling_CounterDataImage_Initialize_Params);
AT(pm_data_init, bytes, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
SIZE(pm_decode, overflow, CUpti_PmSampling_DecodeData_Params);
AT(pm_decode, image, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
AT(pm_decode, bytes, CUpti_PmSampling_DecodeData_Params, counterDataImageSize);
AT(pm_decode, stopped_by, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SIZE(pm_data_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params);
AT(pm_data_info, total, CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
AT(pm_data_info, populated, CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
SIZE(pm_sample_info, end_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
AT(pm_sample_info, index, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
AT(pm_sample_info, start_ns, CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
SIZE(pm_host_initialize, object, CUpti_Profiler_Host_Initialize_Params);
AT(pm_host_initialize, type, CUpti_Profiler_Host_Initialize_Params, profilerType);
AT(pm_host_initialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
AT(pm_host_initialize, availability, CUpti_Profiler_Host_Initialize_Params,
   pCounterAvailabilityImage);
SIZE(pm_host_add, count, CUpti_Profiler_Host_ConfigAddMetrics_Params);
AT(pm_host_add, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SIZE(pm_host_size, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params);
SIZE(pm_host_image, image, CUpti_Profiler_Host_GetConfigImage_Params);
AT(pm_host_image, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
SIZE(pm_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
AT(pm_host_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SIZE(pm_host_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params);
AT(pm_host_evaluate, image, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
AT(pm_host_evaluate, index, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
AT(pm_host_evaluate, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);

NUMBER(PM_TRIGGER_SYSCLK, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
NUMBER(PM_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
NUMBER(PM_STOP_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
NUMBER(PM_STOP_END_OF_RECORDS, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);
NUMBER(PM_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
NUMBER(PM_HOST_TYPE_SAMPLING, CUPTI_PROFILER_TYPE_PM_SAMPLING);
NUMBER(PM_API_SAMPLING, CUPTI_PROFILER_PM_SAMPLING);
NUMBER(PM_UNSUPPORTED, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
NUMBER(PM_DISABLED, CUPTI_PROFILER_CONFIGURATION_DISABLED);
NUMBER(PM_SUPPORTED, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
NUMBER(PM_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
NUMBER(PM_INVALID_DEVICE, CUPTI_ERROR_INVALID_DEVICE);
NUMBER(PM_INVALID_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
NUMBER(PM_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
NUMBER(PM_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
NUMBER(PM_HARDWARE, CUPTI_ERROR_HARDWARE);
NUMBER(PM_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
NUMBER(PM_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
NUMBER(PM_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME);
NUMBER(PM_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
NUMBER(PM_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
NUMBER(PM_VIRTUAL_GPU, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
NUMBER(PM_NO_PERMISSION, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
NUMBER(PM_OLD_PROFILER, CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
NUMBER(PM_VIRTUAL_NO_PERMISSION, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
NUMBER(PM_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
NUMBER(PM_MINING, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
NUMBER(PM_MIG, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
NUMBER(PM_SLI, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED);
NUMBER(PM_WSL, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
NUMBER(PM_INVALID_CHIP, CUPTI_ERROR_INVALID_CHIP_NAME);
NUMBER(PM_ERROR_UNKNOWN, CUPTI_ERROR_UNKNOWN);
