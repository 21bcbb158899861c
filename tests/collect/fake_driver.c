/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's half of fake_cupti.h: devices, and work that is done as soon as it is asked for. */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include "fake_cupti.h"
#include "fake_devices.h"
#include "fake_record.h"

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute * 10;
    return attribute == 34; /* one that is not known here */
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)(device + 1) << 40;
    return 0;
}

EXPORT int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *lib = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*init)(void) = NULL;

    (void)flags;
    if (lib)
        *(void **)&init = dlsym(lib, "InitializeInjection");
    return init && init() != 1;
}

uint64_t fake_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *name_of(uint32_t id)
{
    static const struct {
        uint32_t id;
        const char *name;
    } names[] = {
        { 277, "cuMemcpyHtoDAsync_v2" }, { 307, "cuLaunchKernel" },
        { 319, "cuMemcpyPeerAsync" },    { 220, "cuMemsetD32Async" },
        { 514, "cuGraphLaunch" },        { 643, "cuGraphInstantiateWithFlags" },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].id == id)
            return names[i].name;
    return "cuCall";
}

static uint32_t last_call;

void fake_calls_restart(void)
{
    __atomic_store_n(&last_call, 0, __ATOMIC_RELAXED);
}

/* As the real one: a call whose end its client does not hear of never ends, and the calls after it
 * are part of it. Until CUPTI has left. */
static uint32_t number_of_call(bool ended)
{
    static __thread uint32_t unended;
    static __thread int session;

    if (session != fake_finalized() || ended)
        unended = 0;
    session = fake_finalized();
    if (!ended && !unended)
        unended = __atomic_add_fetch(&last_call, 3, __ATOMIC_RELAXED);
    return unended;
}

static uint32_t call(uint32_t id, const void *params, int result)
{
    uint32_t correlation = number_of_call(false);
    bool heard = false;
    struct cupti_call c = { .site = CUPTI_ENTER,
                            .function = name_of(id),
                            .params = params,
                            .result = &result,
                            .correlation = correlation };

    if (id) {
        heard = fake_tell(CUPTI_DOMAIN_DRIVER, id, &c);
        c.site = CUPTI_EXIT;
        if (fake_tell(CUPTI_DOMAIN_DRIVER, id, &c))
            heard = false;
    }
    if (!heard)
        number_of_call(true);
    return correlation;
}

uint32_t fake_call(uint32_t id, const void *params)
{
    return call(id, params, 0);
}

union fake_record fake_kernel_record(const struct fake_kernel *k, uint32_t correlation)
{
    uint64_t start = k->untimed ? 0 : fake_now();
    union fake_record r = { .kernel = { .kind = CUPTI_KIND_KERNEL,
                                        .registers = 32,
                                        .start = start,
                                        .end = start ? start + (k->ns ? k->ns : 1500) : 0,
                                        .device = k->device,
                                        .context = 1,
                                        .stream = k->stream,
                                        .grid = { (int32_t)k->grid, 1, 1 },
                                        .block = { (int32_t)k->block, 1, 1 },
                                        .dynamic_shared = 4096,
                                        .correlation = correlation,
                                        .name = k->name } };
    return r;
}

EXPORT void fake_launch_as(uint32_t id, const struct fake_kernel *k)
{
    union fake_record r = fake_kernel_record(k, fake_call(id, NULL));
    fake_keep(&r);
}

EXPORT void fake_launch(const struct fake_kernel *k)
{
    fake_launch_as(307, k);
}

EXPORT void fake_failed_launch(void)
{
    call(307, NULL, 1);
}

EXPORT void fake_silent_launch(const struct fake_kernel *k)
{
    union fake_record r = fake_kernel_record(k, fake_call(0, NULL));
    fake_keep(&r);
}

EXPORT void fake_copy(unsigned kind, uint64_t bytes)
{
    uint64_t start = fake_now();
    union fake_record r = { .copy = { .kind = CUPTI_KIND_MEMCPY,
                                      .copy = (uint8_t)kind,
                                      .source = 1,
                                      .target = 3,
                                      .bytes = bytes,
                                      .start = start,
                                      .end = start + 900,
                                      .context = 1,
                                      .stream = 7,
                                      .correlation = fake_call(277, NULL) } };
    fake_keep(&r);
}

EXPORT void fake_peer(uint32_t from, uint32_t to, uint64_t bytes)
{
    uint64_t start = fake_now();
    union fake_record r = { .peer = { .kind = CUPTI_KIND_MEMCPY2,
                                      .copy = 10,
                                      .source = 3,
                                      .target = 3,
                                      .bytes = bytes,
                                      .start = start,
                                      .end = start + 900,
                                      .device = from,
                                      .context = 1,
                                      .stream = 7,
                                      .source_device = from,
                                      .target_device = to,
                                      .correlation = fake_call(319, NULL) } };
    fake_keep(&r);
}

EXPORT void fake_set(uint64_t bytes)
{
    uint64_t start = fake_now();
    union fake_record r = { .set = { .kind = CUPTI_KIND_MEMSET,
                                     .value = 255,
                                     .bytes = bytes,
                                     .start = start,
                                     .end = start + 400,
                                     .context = 1,
                                     .stream = 7,
                                     .memory = 3,
                                     .correlation = fake_call(220, NULL) } };
    fake_keep(&r);
}

static void tell_both(const struct fake_wait *w, int32_t site)
{
    struct cupti_call runtime = { .site = site, .function = w->runtime_name };
    struct cupti_call driver = { .site = site, .function = w->driver_name };

    if (w->runtime && site == CUPTI_ENTER)
        fake_tell(CUPTI_DOMAIN_RUNTIME, w->runtime, &runtime);
    if (w->driver)
        fake_tell(CUPTI_DOMAIN_DRIVER, w->driver, &driver);
    if (w->runtime && site == CUPTI_EXIT)
        fake_tell(CUPTI_DOMAIN_RUNTIME, w->runtime, &runtime);
}

EXPORT void fake_block(const struct fake_wait *w)
{
    uint64_t until = fake_now() + w->us * UINT64_C(1000);

    tell_both(w, CUPTI_ENTER);
    while (fake_now() < until)
        ;
    tell_both(w, CUPTI_EXIT);
}
