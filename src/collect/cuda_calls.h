/* SPDX-License-Identifier: Apache-2.0 */
/* collect/cuda_calls.h - the CUDA calls that the collector is called back for, by CUPTI's ids.
 *
 * Launches are seen at the driver, not at the runtime: the runtime calls the driver, and Triton,
 * cuBLASLt and others call only the driver. Calls that can block are seen at both, so that a call
 * has the name that the program used. Ids never change their meaning; new ones are added at the
 * end. */
#pragma once

#include <stdint.h>

/* Ids `first` … `last`. */
struct lpoc_cbids {
    uint16_t first, last;
};

/* What a callback of an id is for; several at once are possible. */
enum lpoc_about {
    LPOC_LAUNCHES = 1,           /* a kernel, a copy, a memset or a graph */
    LPOC_LAUNCHES_GRAPH = 2,     /* with LPOC_LAUNCHES */
    LPOC_INSTANTIATES_GRAPH = 4, /* where graphs are timed as a whole, as the next one */
    LPOC_CHANGES_GRAPH = 8,
    LPOC_CAN_BLOCK = 16,
    LPOC_LAUNCHES_KERNEL = 64, /* with LPOC_LAUNCHES */
    LPOC_QUERIES = 32,         /* asks and does not wait: programs call it in a loop */
};

static const struct lpoc_cbids lpoc_kernel_cbids[] = {
    { 115, 117 },               /* cuLaunch, Grid, GridAsync */
    { 307, 307 }, { 442, 442 }, /* cuLaunchKernel, _ptsz */
    { 477, 478 }, { 480, 480 }, /* cooperative, on several devices */
    { 652, 653 },               /* cuLaunchKernelEx */
};

static const struct lpoc_cbids lpoc_graph_cbids[] = {
    { 514, 515 }, /* cuGraphLaunch */
};

static const struct lpoc_cbids lpoc_instantiate_cbids[] = {
    { 513, 513 }, /* cuGraphInstantiate */
    { 578, 578 }, /* …_v2 */
    { 643, 643 }, /* …WithFlags */
    { 656, 657 }, /* …WithParams, _ptsz */
};

static const struct lpoc_cbids lpoc_change_cbids[] = {
    { 538, 538 }, { 692, 692 }, /* cuGraphExecKernelNodeSetParams, _v2 */
    { 714, 714 },               /* cuGraphExecNodeSetParams */
    { 562, 563 },               /* cuGraphExecMemcpyNodeSetParams, …Memset… */
    { 586, 586 },               /* cuGraphExecChildGraphNodeSetParams */
    { 650, 650 },               /* cuGraphNodeSetEnabled */
    { 561, 561 }, { 696, 696 }, /* cuGraphExecUpdate, _v2 */
};

static const struct lpoc_cbids lpoc_copy_cbids[] = {
    { 248, 248 },               /* cuMemcpy_v2 */
    { 276, 293 },               /* cuMemcpy*_v2, Async */
    { 305, 306 },               /* cuMemcpy, cuMemcpyAsync */
    { 318, 321 },               /* peers */
    { 397, 410 }, { 418, 427 }, /* the per-thread default stream */
    { 776, 779 }, { 796, 799 }, /* batches */
};

static const struct lpoc_cbids lpoc_set_cbids[] = {
    { 249, 254 }, /* cuMemset*_v2 */
    { 216, 216 }, { 218, 218 }, { 220, 220 }, { 222, 222 }, { 224, 224 }, { 226, 226 }, /* Async */
    { 411, 416 }, { 428, 433 }, /* the per-thread default stream */
};

/* Calls in which the thread may wait for the GPU or for the driver; copies are above. */
static const struct lpoc_cbids lpoc_driver_block_cbids[] = {
    { 17, 17 },   { 800, 800 },               /* cuCtxSynchronize, _v2 */
    { 121, 121 }, { 126, 126 }, { 440, 440 }, /* cuEventSynchronize, cuStreamSynchronize */
    { 18, 23 },                               /* cuModuleLoad* … cuModuleGetFunction */
    { 678, 680 },                             /* cuLibraryLoad*, cuLibraryUnload */
    { 363, 365 }, { 382, 383 },               /* cuLinkAdd*, cuLinkComplete */
    { 243, 245 },                             /* cuMemAlloc_v2, cuMemAllocPitch_v2, cuMemFree_v2 */
    { 294, 294 }, { 38, 39 },   { 271, 271 }, /* cuMemAllocHost, cuMemFreeHost, cuMemHostAlloc */
    { 301, 302 }, { 379, 379 },               /* cuMemHostRegister, Unregister */
    { 371, 371 },                             /* cuMemAllocManaged */
    { 549, 553 },                             /* cuMemCreate … cuMemSetAccess */
    { 580, 581 },                             /* cuGraphUpload */
};

static const struct lpoc_cbids lpoc_driver_query_cbids[] = {
    { 120, 120 }, { 125, 125 }, { 439, 439 }, /* cuEventQuery, cuStreamQuery */
};

static const struct lpoc_cbids lpoc_runtime_block_cbids[] = {
    { 126, 126 }, { 165, 165 },               /* cudaThreadSynchronize, cudaDeviceSynchronize */
    { 131, 131 }, { 239, 239 }, { 137, 137 }, /* cudaStreamSynchronize, cudaEventSynchronize */
    { 20, 27 },                               /* cudaMalloc … cudaHostAlloc */
    { 31, 48 },                               /* cudaMemcpy … cudaMemcpyFromSymbolAsync */
    { 140, 141 }, { 206, 206 },               /* cudaMalloc3D, …Array, cudaMallocManaged */
    { 144, 145 }, { 160, 163 },               /* cudaMemcpy3D, cudaMemcpyPeer … */
    { 152, 153 },                             /* cudaHostRegister, Unregister */
    { 215, 232 }, { 245, 246 }, { 249, 250 }, /* the per-thread default stream */
    { 310, 310 }, { 335, 335 },               /* cudaGraphInstantiate, cudaGraphExecUpdate */
    { 348, 349 }, { 418, 418 },               /* cudaGraphUpload, cudaGraphInstantiateWithFlags */
    { 436, 437 }, { 443, 443 },               /* …WithParams, of CUDA 12 */
    { 470, 472 },                             /* cudaLibraryLoad*, cudaLibraryUnload */
    { 482, 485 }, { 509, 512 },               /* batches */
};

static const struct lpoc_cbids lpoc_runtime_query_cbids[] = {
    { 132, 132 }, { 240, 240 }, { 138, 138 }, /* cudaStreamQuery, cudaEventQuery */
};

#define LPOC_CBIDS(table) (table), sizeof(table) / sizeof *(table)
