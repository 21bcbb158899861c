/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of calls that can block. */
#include <pthread.h>
#include <stddef.h>

#include "gpu_client.h"

static const struct fake_wait sync = { 131, 126, "cudaStreamSynchronize_v3020",
                                       "cuStreamSynchronize", 2000 };
static const struct fake_wait alloc = { 20, 243, "cudaMalloc_v3020", "cuMemAlloc_v2", 1 };
static const struct fake_wait module = { 0, 20, NULL, "cuModuleLoadDataEx", 1 };
static const struct fake_wait query = { 138, 120, "cudaEventQuery_v3020", "cuEventQuery", 1 };
static const struct fake_wait attribute = { 200, 386, "cudaDeviceGetAttribute_v5000",
                                            "cuDevicePrimaryCtxRetain", 1 };

static int calls(void)
{
    nvtx_lite_push("A");
    fake_launch(&gemm);
    fake_block(&sync);
    fake_launch(&gemm);
    nvtx_lite_pop();
    fake_block(&alloc);
    fake_block(&module);
    fake_block(&attribute); /* cannot block: not asked for */
    fake_copy(1, 4096);
    return 0;
}

/* A loop, another in which launches follow each query, and a query alone. */
static int queries(void)
{
    for (int i = 0; i < 5; i++)
        fake_block(&query);
    fake_launch(&gemm);
    for (int i = 0; i < 3; i++) {
        fake_block(&query);
        fake_launch(&norm);
    }
    fake_block(&query);
    fake_block(&query);
    fake_block(&alloc);
    return 0;
}

/* More than a thread keeps, so that they are several blocks. */
static int many_calls(void)
{
    for (int i = 0; i < 1000; i++) {
        fake_block(&alloc);
        fake_launch(&gemm);
    }
    return 0;
}

static void *syncs(void *name)
{
    for (int i = 0; i < 300; i++) {
        nvtx_lite_push(name);
        fake_block(&alloc);
        fake_launch(&gemm);
        nvtx_lite_pop();
    }
    return NULL;
}

static int call_threads(void)
{
    return four_times(syncs);
}

const struct gpu_scenario call_scenarios[] = {
    { "calls", calls },
    { "queries", queries },
    { "many_calls", many_calls },
    { "call_threads", call_threads },
    { NULL, NULL },
};
