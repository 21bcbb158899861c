/* SPDX-License-Identifier: Apache-2.0 */
/* Our own declarations of CUPTI and NVTX against the real headers: it compiles or it does not. */
#include <stddef.h>

#include <cupti.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "collect/cuda_calls.h"

/* The enumerators have the names of the real ones. */
#define CUPTI_MULTIPLE_SUBSCRIBERS OUR_MULTIPLE_SUBSCRIBERS
#include "collect/cupti_abi.h"
#include "collect/driver_abi.h"
#include "collect/nvtx_abi.h"

#define SAME(what, ours, theirs) _Static_assert((ours) == (theirs), what)
#define AT(our_type, our_field, type, field)                                                       \
    SAME(#type "." #field, offsetof(struct our_type, our_field), offsetof(type, field));           \
    SAME(#type "." #field " size", sizeof(((struct our_type *)0)->our_field),                      \
         sizeof(((type *)0)->field))
#define FIRST(our_type, our_field, type, field)                                                    \
    SAME(#type "." #field, offsetof(struct our_type, our_field), offsetof(type, field))

/* Records. */
#define KERNEL(a, b) AT(cupti_kernel, a, CUpti_ActivityKernel10, b)
KERNEL(kind, kind);
KERNEL(registers, registersPerThread);
KERNEL(start, start);
KERNEL(end, end);
KERNEL(device, deviceId);
KERNEL(context, contextId);
KERNEL(stream, streamId);
FIRST(cupti_kernel, grid, CUpti_ActivityKernel10, gridX);
FIRST(cupti_kernel, block, CUpti_ActivityKernel10, blockX);
KERNEL(static_shared, staticSharedMemory);
KERNEL(dynamic_shared, dynamicSharedMemory);
KERNEL(local_per_thread, localMemoryPerThread);
KERNEL(correlation, correlationId);
KERNEL(name, name);
KERNEL(graph_node, graphNodeId);
KERNEL(graph, graphId);

#define COPY(a, b) AT(cupti_memcpy, a, CUpti_ActivityMemcpy6, b)
COPY(copy, copyKind);
COPY(source, srcKind);
COPY(target, dstKind);
COPY(bytes, bytes);
COPY(start, start);
COPY(end, end);
COPY(device, deviceId);
COPY(context, contextId);
COPY(stream, streamId);
COPY(correlation, correlationId);
COPY(graph_node, graphNodeId);
COPY(graph, graphId);

#define PEER(a, b) AT(cupti_memcpy2, a, CUpti_ActivityMemcpyPtoP4, b)
PEER(copy, copyKind);
PEER(bytes, bytes);
PEER(start, start);
PEER(end, end);
PEER(device, deviceId);
PEER(stream, streamId);
PEER(source_device, srcDeviceId);
PEER(target_device, dstDeviceId);
PEER(correlation, correlationId);
PEER(graph_node, graphNodeId);
PEER(graph, graphId);

#define SET(a, b) AT(cupti_memset, a, CUpti_ActivityMemset4, b)
SET(value, value);
SET(bytes, bytes);
SET(start, start);
SET(end, end);
SET(device, deviceId);
SET(context, contextId);
SET(stream, streamId);
SET(correlation, correlationId);
SET(memory, memoryKind);
SET(graph_node, graphNodeId);
SET(graph, graphId);

#define WHOLE(a, b) AT(cupti_graph_trace, a, CUpti_ActivityGraphTrace2, b)
WHOLE(correlation, correlationId);
WHOLE(start, start);
WHOLE(end, end);
WHOLE(device, deviceId);
WHOLE(graph, graphId);
WHOLE(context, contextId);
WHOLE(stream, streamId);

/* The driver's graphs. */
#define KERNEL_NODE(a, b) AT(cu_kernel_node, a, CUDA_KERNEL_NODE_PARAMS_v2, b)
KERNEL_NODE(function, func);
FIRST(cu_kernel_node, grid, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
FIRST(cu_kernel_node, block, CUDA_KERNEL_NODE_PARAMS_v2, blockDimX);
KERNEL_NODE(dynamic_shared, sharedMemBytes);
SAME("kernel node", sizeof(struct cu_kernel_node), sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
AT(cu_copy_node, width, CUDA_MEMCPY3D, WidthInBytes);
AT(cu_copy_node, depth, CUDA_MEMCPY3D, Depth);
SAME("copy node", sizeof(struct cu_copy_node), sizeof(CUDA_MEMCPY3D));
AT(cu_set_node, element, CUDA_MEMSET_NODE_PARAMS, elementSize);
AT(cu_set_node, width, CUDA_MEMSET_NODE_PARAMS, width);
AT(cu_set_node, height, CUDA_MEMSET_NODE_PARAMS, height);
SAME("set node", sizeof(struct cu_set_node), sizeof(CUDA_MEMSET_NODE_PARAMS));
#define INSTANTIATE(call)                                                                          \
    AT(cu_instantiate_params, exec, call##_params, phGraphExec);                                   \
    AT(cu_instantiate_params, graph, call##_params, hGraph)
INSTANTIATE(cuGraphInstantiate);
INSTANTIATE(cuGraphInstantiate_v2);
INSTANTIATE(cuGraphInstantiateWithFlags);
INSTANTIATE(cuGraphInstantiateWithParams);
INSTANTIATE(cuGraphInstantiateWithParams_ptsz);

/* Callbacks. */
AT(cupti_call, site, CUpti_CallbackData, callbackSite);
AT(cupti_call, correlation, CUpti_CallbackData, correlationId);
AT(cupti_resource_data, descriptor, CUpti_ResourceData, resourceDescriptor);
AT(cupti_graph_data, node, CUpti_GraphData, node);
AT(cupti_graph_data, original_node, CUpti_GraphData, originalNode);
AT(cupti_state_data, result, CUpti_StateData, notification.result);
AT(cupti_state_data, message, CUpti_StateData, notification.message);
AT(cupti_subscriber_params, size, CUpti_SubscriberParams, structSize);
AT(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
AT(cupti_subscriber_params, old_name, CUpti_SubscriberParams, oldSubscriberName);
AT(cupti_subscriber_params, old_size, CUpti_SubscriberParams, oldSubscriberSize);
SAME("params", sizeof(struct cupti_subscriber_params), CUpti_SubscriberParams_STRUCT_SIZE);

#define NUMBER(ours, theirs) SAME(#theirs, (int)(ours), (int)(theirs))
NUMBER(CU_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
NUMBER(CU_NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL);
NUMBER(CU_NODE_COPY, CU_GRAPH_NODE_TYPE_MEMCPY);
NUMBER(CU_NODE_SET, CU_GRAPH_NODE_TYPE_MEMSET);
NUMBER(CU_NODE_GRAPH, CU_GRAPH_NODE_TYPE_GRAPH);
NUMBER(CU_NODE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);
NUMBER(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
NUMBER(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
NUMBER(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
NUMBER(CUPTI_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
NUMBER(CUPTI_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
NUMBER(CUPTI_ATTR_DEVICE_BUFFER_SIZE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
NUMBER(CUPTI_ATTR_ZEROED_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
NUMBER(CUPTI_ATTR_DEVICE_BUFFERS, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
NUMBER(CUPTI_ATTR_HOST_PINNED, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED);
NUMBER(CUPTI_ATTR_PER_THREAD, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
NUMBER(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
NUMBER(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
NUMBER(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
NUMBER(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
NUMBER(CUPTI_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
NUMBER(CUPTI_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
NUMBER(CUPTI_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
NUMBER(CUPTI_ENTER, CUPTI_API_ENTER);
NUMBER(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
NUMBER(CUPTI_MAX_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
NUMBER(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
NUMBER(CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
NUMBER(CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
NUMBER(CUPTI_VIRTUALIZED_DEVICE, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
NUMBER(CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
NUMBER(CUPTI_OLD_PROFILER, CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
NUMBER(OUR_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
NUMBER(CUPTI_CONFIDENTIAL_COMPUTING, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
NUMBER(CUPTI_MIG_DEVICE, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
NUMBER(CUPTI_WSL_DEVICE, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);

/* The ends of our ranges of callback ids. */
#define CBID(number, name) NUMBER(number, CUPTI_DRIVER_TRACE_CBID_##name)
CBID(115, cuLaunch);
CBID(116, cuLaunchGrid);
CBID(117, cuLaunchGridAsync);
CBID(307, cuLaunchKernel);
CBID(442, cuLaunchKernel_ptsz);
CBID(477, cuLaunchCooperativeKernel);
CBID(478, cuLaunchCooperativeKernel_ptsz);
CBID(480, cuLaunchCooperativeKernelMultiDevice);
CBID(652, cuLaunchKernelEx);
CBID(653, cuLaunchKernelEx_ptsz);
CBID(514, cuGraphLaunch);
CBID(515, cuGraphLaunch_ptsz);
CBID(513, cuGraphInstantiate);
CBID(578, cuGraphInstantiate_v2);
CBID(643, cuGraphInstantiateWithFlags);
CBID(656, cuGraphInstantiateWithParams);
CBID(657, cuGraphInstantiateWithParams_ptsz);
CBID(538, cuGraphExecKernelNodeSetParams);
CBID(692, cuGraphExecKernelNodeSetParams_v2);
CBID(714, cuGraphExecNodeSetParams);
CBID(562, cuGraphExecMemcpyNodeSetParams);
CBID(563, cuGraphExecMemsetNodeSetParams);
CBID(586, cuGraphExecChildGraphNodeSetParams);
CBID(650, cuGraphNodeSetEnabled);
CBID(561, cuGraphExecUpdate);
CBID(696, cuGraphExecUpdate_v2);
CBID(248, cuMemcpy_v2);
CBID(249, cuMemsetD8_v2);
CBID(254, cuMemsetD2D32_v2);
CBID(216, cuMemsetD8Async);
CBID(226, cuMemsetD2D32Async);
CBID(276, cuMemcpyHtoD_v2);
CBID(293, cuMemcpyHtoAAsync_v2);
CBID(305, cuMemcpy);
CBID(306, cuMemcpyAsync);
CBID(318, cuMemcpyPeer);
CBID(321, cuMemcpy3DPeerAsync);
CBID(397, cuMemcpyHtoD_v2_ptds);
CBID(410, cuMemcpy3DPeer_ptds);
CBID(411, cuMemsetD8_v2_ptds);
CBID(416, cuMemsetD2D32_v2_ptds);
CBID(418, cuMemcpyAsync_ptsz);
CBID(427, cuMemcpy3DPeerAsync_ptsz);
CBID(428, cuMemsetD8Async_ptsz);
CBID(433, cuMemsetD2D32Async_ptsz);
CBID(776, cuMemcpyBatchAsync);
CBID(799, cuMemcpy3DBatchAsync_v2_ptsz);
CBID(17, cuCtxSynchronize);
CBID(800, cuCtxSynchronize_v2);
CBID(121, cuEventSynchronize);
CBID(126, cuStreamSynchronize);
CBID(440, cuStreamSynchronize_ptsz);
CBID(18, cuModuleLoad);
CBID(23, cuModuleGetFunction);
CBID(678, cuLibraryLoadData);
CBID(680, cuLibraryUnload);
CBID(363, cuLinkAddData);
CBID(365, cuLinkComplete);
CBID(382, cuLinkAddData_v2);
CBID(383, cuLinkAddFile_v2);
CBID(243, cuMemAlloc_v2);
CBID(245, cuMemFree_v2);
CBID(294, cuMemAllocHost_v2);
CBID(38, cuMemFreeHost);
CBID(39, cuMemHostAlloc);
CBID(271, cuMemHostAlloc_v2);
CBID(301, cuMemHostRegister);
CBID(302, cuMemHostUnregister);
CBID(379, cuMemHostRegister_v2);
CBID(371, cuMemAllocManaged);
CBID(549, cuMemCreate);
CBID(553, cuMemSetAccess);
CBID(580, cuGraphUpload);
CBID(581, cuGraphUpload_ptsz);
CBID(120, cuEventQuery);
CBID(125, cuStreamQuery);
CBID(439, cuStreamQuery_ptsz);
#define RUNTIME(number, name) NUMBER(number, CUPTI_RUNTIME_TRACE_CBID_##name)
RUNTIME(126, cudaThreadSynchronize_v3020);
RUNTIME(165, cudaDeviceSynchronize_v3020);
RUNTIME(131, cudaStreamSynchronize_v3020);
RUNTIME(239, cudaStreamSynchronize_ptsz_v7000);
RUNTIME(137, cudaEventSynchronize_v3020);
RUNTIME(20, cudaMalloc_v3020);
RUNTIME(27, cudaHostAlloc_v3020);
RUNTIME(31, cudaMemcpy_v3020);
RUNTIME(48, cudaMemcpyFromSymbolAsync_v3020);
RUNTIME(140, cudaMalloc3D_v3020);
RUNTIME(141, cudaMalloc3DArray_v3020);
RUNTIME(206, cudaMallocManaged_v6000);
RUNTIME(144, cudaMemcpy3D_v3020);
RUNTIME(145, cudaMemcpy3DAsync_v3020);
RUNTIME(160, cudaMemcpyPeer_v4000);
RUNTIME(163, cudaMemcpy3DPeerAsync_v4000);
RUNTIME(152, cudaHostRegister_v4000);
RUNTIME(153, cudaHostUnregister_v4000);
RUNTIME(215, cudaMemcpy_ptds_v7000);
RUNTIME(232, cudaMemcpyFromSymbolAsync_ptsz_v7000);
RUNTIME(245, cudaMemcpy3D_ptds_v7000);
RUNTIME(246, cudaMemcpy3DAsync_ptsz_v7000);
RUNTIME(249, cudaMemcpy3DPeer_ptds_v7000);
RUNTIME(250, cudaMemcpy3DPeerAsync_ptsz_v7000);
RUNTIME(310, cudaGraphInstantiate_v10000);
RUNTIME(335, cudaGraphExecUpdate_v10020);
RUNTIME(348, cudaGraphUpload_v10000);
RUNTIME(349, cudaGraphUpload_ptsz_v10000);
RUNTIME(418, cudaGraphInstantiateWithFlags_v11040);
RUNTIME(436, cudaGraphInstantiateWithParams_v12000);
RUNTIME(437, cudaGraphInstantiateWithParams_ptsz_v12000);
RUNTIME(443, cudaGraphInstantiate_v12000);
RUNTIME(470, cudaLibraryLoadData_v12060);
RUNTIME(472, cudaLibraryUnload_v12060);
RUNTIME(482, cudaMemcpyBatchAsync_v12080);
RUNTIME(485, cudaMemcpy3DBatchAsync_ptsz_v12080);
RUNTIME(509, cudaMemcpyBatchAsync_v13000);
RUNTIME(512, cudaMemcpy3DBatchAsync_ptsz_v13000);
RUNTIME(132, cudaStreamQuery_v3020);
RUNTIME(240, cudaStreamQuery_ptsz_v7000);
RUNTIME(138, cudaEventQuery_v3020);

/* NVTX. */
#define EVENT(a, b) AT(nvtx_attributes, a, nvtxEventAttributes_t, b)
EVENT(version, version);
EVENT(size, size);
EVENT(category, category);
EVENT(color_type, colorType);
EVENT(color, color);
EVENT(payload_type, payloadType);
EVENT(payload, payload);
EVENT(text_type, messageType);
EVENT(text, message);
SAME("attributes", sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
AT(nvtx_resource, type, nvtxResourceAttributes_t, identifierType);
AT(nvtx_resource, id, nvtxResourceAttributes_t, identifier);
AT(nvtx_resource, text, nvtxResourceAttributes_t, message);
NUMBER(NVTX_RESOURCE_THREAD_NATIVE, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE);
AT(nvtx_callbacks, get_module, NvtxExportTableCallbacks, GetModuleFunctionTable);
AT(nvtx_version, set, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);
NUMBER(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
NUMBER(NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
NUMBER(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
NUMBER(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
NUMBER(NVTX_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
NUMBER(NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
NUMBER(NVTX_START_EX, NVTX_CBID_CORE_RangeStartEx);
NUMBER(NVTX_END, NVTX_CBID_CORE_RangeEnd);
NUMBER(NVTX_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
NUMBER(NVTX_PUSH_A, NVTX_CBID_CORE_RangePushA);
NUMBER(NVTX_POP, NVTX_CBID_CORE_RangePop);
NUMBER(NVTX_NAME_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
NUMBER(NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
NUMBER(NVTX_DOMAIN_POP, NVTX_CBID_CORE2_DomainRangePop);
NUMBER(NVTX_DOMAIN_REGISTER_A, NVTX_CBID_CORE2_DomainRegisterStringA);
NUMBER(NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
NUMBER(NVTX_INITIALIZE, NVTX_CBID_CORE2_Initialize);
NUMBER(NVTX_EXT_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
NUMBER(NVTX_PAYLOAD_PUSH, NVTX3EXT_CBID_nvtxRangePushPayload);
NUMBER(NVTX_PAYLOAD_ENABLED, NVTX3EXT_CBID_nvtxDomainIsEnabled);
NUMBER(NVTX_PAYLOAD_SCOPE, NVTX3EXT_CBID_nvtxScopeRegister);
AT(nvtx_ext_segment, slots, nvtxExtModuleSegment_t, functionSlots);
AT(nvtx_ext_module, module, nvtxExtModuleInfo_t, moduleId);
AT(nvtx_ext_module, segments, nvtxExtModuleInfo_t, segments);
