/* SPDX-License-Identifier: Apache-2.0 */
/* How the program finds the driver's functions, and its calls of them. */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count_client.h"

#define GRID                                                                                       \
    unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
        void *stream

typedef int kernel_fn(void *f, GRID, void **params, void **extra);
typedef int ex_fn(void *config, void *f, void **params, void **extra);
typedef int cooperative_fn(void *f, GRID, void **params);
typedef int multi_device_fn(void *list, unsigned count, unsigned flags);
typedef int launch_fn(void *f);
typedef int grid_fn(void *f, int width, int height);
typedef int grid_async_fn(void *f, int width, int height, void *stream);
typedef int graph_fn(void *exec, void *stream);
typedef int proc_fn(const char *symbol, void **out, int version, uint64_t flags);
typedef int proc2_fn(const char *symbol, void **out, int version, uint64_t flags, int *status);

static const char *const names[FAKE_ENTRIES] = {
    [FAKE_KERNEL] = "cuLaunchKernel",
    [FAKE_KERNEL_PTSZ] = "cuLaunchKernel_ptsz",
    [FAKE_EX] = "cuLaunchKernelEx",
    [FAKE_EX_PTSZ] = "cuLaunchKernelEx_ptsz",
    [FAKE_COOPERATIVE] = "cuLaunchCooperativeKernel",
    [FAKE_COOPERATIVE_PTSZ] = "cuLaunchCooperativeKernel_ptsz",
    [FAKE_MULTI_DEVICE] = "cuLaunchCooperativeKernelMultiDevice",
    [FAKE_LAUNCH] = "cuLaunch",
    [FAKE_GRID] = "cuLaunchGrid",
    [FAKE_GRID_ASYNC] = "cuLaunchGridAsync",
    [FAKE_GRAPH] = "cuGraphLaunch",
    [FAKE_GRAPH_PTSZ] = "cuGraphLaunch_ptsz",
};

static void *at[FAKE_ENTRIES];
void *driver;

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "%s %s\n", what, name);
    exit(1);
}

void *must_find(const char *name)
{
    void *found = dlsym(driver ? driver : RTLD_DEFAULT, name);

    if (!found)
        fail("not found:", name);
    return found;
}

static bool by_lookup(void *handle)
{
    for (int i = 0; i < FAKE_ENTRIES; i++)
        if (names[i] && !(at[i] = dlsym(handle, names[i])))
            fail("not found:", names[i]);
    return true;
}

static void ask(void *get, bool second, int entry, const char *name, int version, uint64_t flags)
{
    int status = -1;
    int rc = second ? ((proc2_fn *)(uintptr_t)get)(name, &at[entry], version, flags, &status)
                    : ((proc_fn *)(uintptr_t)get)(name, &at[entry], version, flags);

    if (rc != 0 || (second && status != 0))
        fail("the driver does not give", name);
}

/* The per-thread default stream is a flag here, and no part of the name. */
static bool by_proc(bool second)
{
    void *get = dlsym(driver, second ? "cuGetProcAddress_v2" : "cuGetProcAddress");
    int version = second ? 12000 : 11030;
    char name[64];

    if (second) {
        int status;

        if (((proc2_fn *)(uintptr_t)get)("cuGetProcAddress", &get, version, 0, &status) != 0)
            fail("the driver does not give", "itself");
        ask(get, second, FAKE_KERNEL_NEWER, "cuLaunchKernel", 13000, 0);
    }
    for (int i = 0; i < FAKE_ENTRIES; i++) {
        char *ptsz;

        if (!names[i])
            continue;
        strcpy(name, names[i]);
        ptsz = strstr(name, "_ptsz");
        if (ptsz)
            *ptsz = 0;
        ask(get, second, i, name, version, ptsz ? FAKE_PTSZ : 0);
    }
    return true;
}

#ifdef LINKED
int cuLaunchKernel(void *f, GRID, void **params, void **extra);
int cuLaunchKernel_ptsz(void *f, GRID, void **params, void **extra);
int cuLaunchKernelEx(void *config, void *f, void **params, void **extra);
int cuLaunchKernelEx_ptsz(void *config, void *f, void **params, void **extra);
int cuLaunchCooperativeKernel(void *f, GRID, void **params);
int cuLaunchCooperativeKernel_ptsz(void *f, GRID, void **params);
int cuLaunchCooperativeKernelMultiDevice(void *list, unsigned count, unsigned flags);
int cuLaunch(void *f);
int cuLaunchGrid(void *f, int width, int height);
int cuLaunchGridAsync(void *f, int width, int height, void *stream);
int cuGraphLaunch(void *exec, void *stream);
int cuGraphLaunch_ptsz(void *exec, void *stream);
int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *status);

static bool by_link(void)
{
    static void *const linked[FAKE_ENTRIES] = {
        [FAKE_KERNEL] = (void *)cuLaunchKernel,
        [FAKE_KERNEL_PTSZ] = (void *)cuLaunchKernel_ptsz,
        [FAKE_EX] = (void *)cuLaunchKernelEx,
        [FAKE_EX_PTSZ] = (void *)cuLaunchKernelEx_ptsz,
        [FAKE_COOPERATIVE] = (void *)cuLaunchCooperativeKernel,
        [FAKE_COOPERATIVE_PTSZ] = (void *)cuLaunchCooperativeKernel_ptsz,
        [FAKE_MULTI_DEVICE] = (void *)cuLaunchCooperativeKernelMultiDevice,
        [FAKE_LAUNCH] = (void *)cuLaunch,
        [FAKE_GRID] = (void *)cuLaunchGrid,
        [FAKE_GRID_ASYNC] = (void *)cuLaunchGridAsync,
        [FAKE_GRAPH] = (void *)cuGraphLaunch,
        [FAKE_GRAPH_PTSZ] = (void *)cuGraphLaunch_ptsz,
    };

    memcpy(at, linked, sizeof at);
    ask((void *)cuGetProcAddress_v2, true, FAKE_KERNEL_NEWER, "cuLaunchKernel", 13000, 0);
    return true;
}
#else
static bool by_link(void)
{
    return false;
}
#endif

bool reach_driver(const char *way)
{
    if (strcmp(way, "linked") == 0)
        return by_link();
    if (strcmp(way, "default") == 0 || strcmp(way, "main") == 0)
        return by_lookup(way[0] == 'd' ? RTLD_DEFAULT : dlopen(NULL, RTLD_NOW));
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver)
        fail("no driver:", dlerror());
    if (strcmp(way, "dlsym") == 0)
        return by_lookup(driver);
    return by_proc(strcmp(way, "proc2") == 0);
}

static int call(int entry)
{
    void *f = FAKE_POINTER(0), *other = FAKE_POINTER(1), *stream = FAKE_POINTER(8);
    uintptr_t to = (uintptr_t)at[entry];

    switch (entry) {
    case FAKE_KERNEL:
    case FAKE_KERNEL_PTSZ:
    case FAKE_KERNEL_NEWER:
        return ((kernel_fn *)to)(f, FAKE_GRID_ARGUMENTS, FAKE_PARAMS, FAKE_EXTRA);
    case FAKE_EX:
    case FAKE_EX_PTSZ:
        return ((ex_fn *)to)(other, f, FAKE_PARAMS, FAKE_EXTRA);
    case FAKE_COOPERATIVE:
    case FAKE_COOPERATIVE_PTSZ:
        return ((cooperative_fn *)to)(f, FAKE_GRID_ARGUMENTS, FAKE_PARAMS);
    case FAKE_MULTI_DEVICE:
        return ((multi_device_fn *)to)(other, 2, 0xfffffff3u);
    case FAKE_LAUNCH:
        return ((launch_fn *)to)(f);
    case FAKE_GRID:
        return ((grid_fn *)to)(f, -2, 3);
    case FAKE_GRID_ASYNC:
        return ((grid_async_fn *)to)(f, -2, 3, stream);
    default:
        return ((graph_fn *)to)(other, stream);
    }
}

bool launch_by(int entry)
{
    int answer;

    if (!at[entry])
        return false;
    errno = 4711;
    answer = call(entry);
    if (answer != FAKE_ANSWERS + entry || errno != 4711) {
        fprintf(stderr, "entry %d: answer %d, errno %d\n", entry, answer, errno);
        exit(1);
    }
    return true;
}

uint64_t calls_in_driver(int entry)
{
    static uint64_t (*calls)(int entry);

    if (!calls) {
        void *found = must_find("fake_cuda_calls");

        memcpy(&calls, &found, sizeof calls);
    }
    return calls(entry);
}
