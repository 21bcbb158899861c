/* SPDX-License-Identifier: Apache-2.0 */
/* A driver and a cuBLAS that do nothing but keep time: a copy takes half a millisecond, a bf16
 * product 1.4, and fp32 products are refused. Stands in for libraries no test machine has. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FAKE(...)      __attribute__((visibility("default"))) int __VA_ARGS__
#define PROTOTYPE(...) int __VA_ARGS__

static double clock_ms;
static double events[64];
static int used;

PROTOTYPE(cuInit(unsigned));
PROTOTYPE(cuDeviceGet(int *, int));
PROTOTYPE(cuDeviceGetName(char *, int, int));
PROTOTYPE(cuDeviceGetAttribute(int *, int, int));
PROTOTYPE(cuDeviceTotalMem_v2(size_t *, int));
PROTOTYPE(cuDevicePrimaryCtxRetain(void **, int));
PROTOTYPE(cuDevicePrimaryCtxRelease_v2(int));
PROTOTYPE(cuCtxSetCurrent(void *));
PROTOTYPE(cuMemAlloc_v2(uint64_t *, size_t));
PROTOTYPE(cuMemFree_v2(uint64_t));
PROTOTYPE(cuMemcpyHtoD_v2(uint64_t, const void *, size_t));
PROTOTYPE(cuMemcpyDtoDAsync_v2(uint64_t, uint64_t, size_t, void *));
PROTOTYPE(cuEventCreate(void **, unsigned));
PROTOTYPE(cuEventRecord(void *, void *));
PROTOTYPE(cuEventSynchronize(void *));
PROTOTYPE(cuEventElapsedTime(float *, void *, void *));
PROTOTYPE(cuEventDestroy_v2(void *));
PROTOTYPE(cublasCreate_v2(void **));
PROTOTYPE(cublasDestroy_v2(void *));
PROTOTYPE(cublasGemmEx(void *, int, int, int, int, int, const void *, const void *, int, int,
                       const void *, int, int, const void *, void *, int, int, int, int));

FAKE(cuInit(unsigned flags))
{
    return flags != 0;
}

FAKE(cuDeviceGet(int *device, int n))
{
    *device = n;
    return n != 0;
}

FAKE(cuDeviceGetName(char *name, int len, int device))
{
    strncpy(name, "NVIDIA H200", (size_t)len);
    return device;
}

FAKE(cuDeviceGetAttribute(int *value, int which, int device))
{
    static const struct {
        int which, value;
    } known[] = { { 13, 1980000 },  { 16, 132 }, { 36, 3201000 }, { 37, 6016 },
                  { 38, 62914560 }, { 75, 9 },   { 76, 0 } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].which == which)
            *value = known[i].value;
    return device;
}

FAKE(cuDeviceTotalMem_v2(size_t *bytes, int device))
{
    *bytes = (size_t)150 << 30;
    return device;
}

FAKE(cuDevicePrimaryCtxRetain(void **context, int device))
{
    *context = &clock_ms;
    return device;
}

FAKE(cuDevicePrimaryCtxRelease_v2(int device))
{
    return device;
}

FAKE(cuCtxSetCurrent(void *context))
{
    return context != &clock_ms;
}

FAKE(cuMemAlloc_v2(uint64_t *p, size_t bytes))
{
    *p = bytes;
    return 0;
}

FAKE(cuMemFree_v2(uint64_t p))
{
    return p == 0;
}

FAKE(cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes))
{
    return to < bytes || !from;
}

FAKE(cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream))
{
    clock_ms += 0.5;
    return to < bytes || from < bytes || stream != NULL;
}

FAKE(cuEventCreate(void **event, unsigned flags))
{
    *event = &events[used++ % 64];
    return (int)flags;
}

FAKE(cuEventRecord(void *event, void *stream))
{
    *(double *)event = clock_ms;
    return stream != NULL;
}

FAKE(cuEventSynchronize(void *event))
{
    return event == NULL;
}

FAKE(cuEventElapsedTime(float *ms, void *from, void *to))
{
    *ms = (float)(*(double *)to - *(double *)from);
    return 0;
}

FAKE(cuEventDestroy_v2(void *event))
{
    return event == NULL;
}

FAKE(cublasCreate_v2(void **handle))
{
    *handle = events;
    return 0;
}

FAKE(cublasDestroy_v2(void *handle))
{
    return handle != events;
}

FAKE(cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                  const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                  const void *beta, void *c, int c_type, int ldc, int compute, int algo))
{
    if (handle != events || tb || !alpha || !beta || !a || !b || !c || lda != (ta ? k : m) ||
        ldb != k || ldc != m || a_type != b_type || c_type != a_type || compute != 68 || algo != -1)
        return 7;
    if (ta) { /* the product of a layer: 20 us and what 700 TFLOP/s take */
        clock_ms += 0.02 + 2.0 * m * n * k / 700e9;
        return 0;
    }
    if (a_type == 0)
        return 15; /* not supported */
    clock_ms += a_type == 14 ? 1.4 : 2.8;
    return 0;
}
