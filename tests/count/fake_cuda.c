/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_cuda.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../collect/fake_cupti.h"

#define EXPORT __attribute__((visibility("default")))

static const struct fake_kernel kernel = { "_Z4gemmPf", 128, 256, 0, 7, 0, 0 };
static const struct fake_node nodes[] = { { 101, 0, { "rms_norm", 64, 128, 0, 7, 0, 0 }, 0, 0 } };
static const struct fake_graph graph = { 9, 1, nodes };
static uint64_t calls[FAKE_ENTRIES];

EXPORT uint64_t fake_cuda_calls(int entry)
{
    return __atomic_load_n(&calls[entry], __ATOMIC_RELAXED);
}

static int reached(enum fake_entry entry, uint32_t id, bool right)
{
    if (!right)
        return FAKE_WRONG_ARGUMENTS;
    __atomic_add_fetch(&calls[entry], 1, __ATOMIC_RELAXED);
    if (entry >= FAKE_GRAPH)
        fake_graph_launch(&graph);
    else
        fake_launch_as(id, &kernel);
    return FAKE_ANSWERS + (int)entry;
}

/* What follows the function in most of them. */
#define GRID                                                                                       \
    unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
        void *stream
#define GRID_RIGHT                                                                                 \
    (gx == 11 && gy == 0xfffffff2u && gz == 13 && bx == 14 && by == 15 && bz == 16 &&              \
     shared == 0xfffffff7u && stream == FAKE_POINTER(8))

/* Name, entry, CUPTI's id, parameters, are they right. */
#define ENTRIES(X)                                                                                 \
    X(cuLaunchKernel, FAKE_KERNEL, 307, (void *f, GRID, void **params, void **extra),              \
      f == FAKE_POINTER(0) && GRID_RIGHT && params == FAKE_PARAMS && extra == FAKE_EXTRA)          \
    X(cuLaunchKernel_ptsz, FAKE_KERNEL_PTSZ, 442, (void *f, GRID, void **params, void **extra),    \
      f == FAKE_POINTER(0) && GRID_RIGHT && params == FAKE_PARAMS && extra == FAKE_EXTRA)          \
    X(fake_newer_kernel, FAKE_KERNEL_NEWER, 307, (void *f, GRID, void **params, void **extra),     \
      f == FAKE_POINTER(0) && GRID_RIGHT && params == FAKE_PARAMS && extra == FAKE_EXTRA)          \
    X(cuLaunchKernelEx, FAKE_EX, 652, (void *config, void *f, void **params, void **extra),        \
      config == FAKE_POINTER(1) && f == FAKE_POINTER(0) && params == FAKE_PARAMS &&                \
          extra == FAKE_EXTRA)                                                                     \
    X(cuLaunchKernelEx_ptsz, FAKE_EX_PTSZ, 653,                                                    \
      (void *config, void *f, void **params, void **extra),                                        \
      config == FAKE_POINTER(1) && f == FAKE_POINTER(0) && params == FAKE_PARAMS &&                \
          extra == FAKE_EXTRA)                                                                     \
    X(cuLaunchCooperativeKernel, FAKE_COOPERATIVE, 477, (void *f, GRID, void **params),            \
      f == FAKE_POINTER(0) && GRID_RIGHT && params == FAKE_PARAMS)                                 \
    X(cuLaunchCooperativeKernel_ptsz, FAKE_COOPERATIVE_PTSZ, 478, (void *f, GRID, void **params),  \
      f == FAKE_POINTER(0) && GRID_RIGHT && params == FAKE_PARAMS)                                 \
    X(cuLaunchCooperativeKernelMultiDevice, FAKE_MULTI_DEVICE, 480,                                \
      (void *list, unsigned count, unsigned flags),                                                \
      list == FAKE_POINTER(1) && count == 2 && flags == 0xfffffff3u)                               \
    X(cuLaunch, FAKE_LAUNCH, 115, (void *f), f == FAKE_POINTER(0))                                 \
    X(cuLaunchGrid, FAKE_GRID, 116, (void *f, int width, int height),                              \
      f == FAKE_POINTER(0) && width == -2 && height == 3)                                          \
    X(cuLaunchGridAsync, FAKE_GRID_ASYNC, 117, (void *f, int width, int height, void *stream),     \
      f == FAKE_POINTER(0) && width == -2 && height == 3 && stream == FAKE_POINTER(8))             \
    X(cuGraphLaunch, FAKE_GRAPH, 514, (void *exec, void *stream),                                  \
      exec == FAKE_POINTER(1) && stream == FAKE_POINTER(8))                                        \
    X(cuGraphLaunch_ptsz, FAKE_GRAPH_PTSZ, 515, (void *exec, void *stream),                        \
      exec == FAKE_POINTER(1) && stream == FAKE_POINTER(8))

#define ENTRY(name, entry, id, parameters, right)                                                  \
    EXPORT int name parameters;                                                                    \
    int name parameters                                                                            \
    {                                                                                              \
        return reached(entry, id, right);                                                          \
    }
ENTRIES(ENTRY)

EXPORT int cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags);
EXPORT int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags,
                               int *status);

/* More functions of one name than anyone can expect: for those that ask for version 14000 and on.
 */
#define VARIANT(n)                                                                                 \
    static int variant_##n(void *f, GRID, void **params, void **extra)                             \
    {                                                                                              \
        return fake_newer_kernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);        \
    }
VARIANT(0)
VARIANT(1)
VARIANT(2)
VARIANT(3)
VARIANT(4)
VARIANT(5)

static void *kernel_of(int version)
{
    static int (*const variants[])(void *f, GRID, void **params,
                                   void **extra) = { variant_0, variant_1, variant_2,
                                                     variant_3, variant_4, variant_5 };

    return (void *)(uintptr_t)(version < 14000 ? fake_newer_kernel : variants[version % 6]);
}

#define ROW(name, entry, id, parameters, right) { #name, (void *)(uintptr_t)name },

static void *find(const char *symbol, int version, uint64_t flags)
{
    static const struct {
        const char *name;
        void *function;
    } rows[] = { ENTRIES(ROW){ "cuInit", (void *)(uintptr_t)cuInit } };
    char name[64];

    if (strcmp(symbol, "cuGetProcAddress") == 0)
        return version < 12000 ? (void *)(uintptr_t)cuGetProcAddress
                               : (void *)(uintptr_t)cuGetProcAddress_v2;
    if (version >= 13000 && !flags && strcmp(symbol, "cuLaunchKernel") == 0)
        return kernel_of(version);
    for (int ptsz = flags & FAKE_PTSZ ? 1 : 0; ptsz >= 0; ptsz--) {
        snprintf(name, sizeof name, "%s%s", symbol, ptsz ? "_ptsz" : "");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strcmp(rows[i].name, name) == 0)
                return rows[i].function;
    }
    return NULL;
}

int cuGetProcAddress(const char *symbol, void **out, int version, uint64_t flags)
{
    *out = find(symbol, version, flags);
    return *out ? 0 : 500;
}

int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status)
{
    *out = find(symbol, version, flags);
    if (status)
        *status = *out ? 0 : 1;
    return *out ? 0 : 500;
}
