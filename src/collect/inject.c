/* The way in: NVTX and the CUDA driver load this library by name and call these functions.
 *
 * NVTX_INJECTION64_PATH=liblpo-collect.so   CUDA_INJECTION64_PATH=liblpo-collect.so
 *
 * They are all that the library exports. It is linked never to be unloaded. */
#include <pthread.h>
#include <stdbool.h>

#include "collect/collect.h"
#include "collect/gpu.h"
#include "collect/nvtx.h"
#include "collect/thread.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjectionNvtx2(nvtx_get_table get);
EXPORT int InitializeInjectionNvtxExtension(struct nvtx_ext_module *module);

/* The collector's one mutable static. */
static struct lpoc state = { .lock = PTHREAD_MUTEX_INITIALIZER, .file = { .fd = -1 } };

struct lpoc *lpoc_get(void)
{
    return &state;
}

/* No other thread may be half way through the tables when the process is copied. */
static void before_fork(void)
{
    pthread_mutex_lock(&state.lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&state.lock);
}

static void after_fork_child(void)
{
    lpoc_forked(&state);
    pthread_mutex_unlock(&state.lock);
}

__attribute__((constructor)) static void on_load(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

__attribute__((destructor)) static void on_exit_process(void)
{
    state.counters[LPOT_COUNT_EXIT] = 1;
    lpoc_finish(&state);
}

int InitializeInjectionNvtx2(nvtx_get_table get)
{
    if (!lpoc_ready(&state) || !state.knobs.nvtx)
        return 0; /* NVTX makes all its calls no-ops */
    return lpoc_nvtx_attach(&state, get) == 0;
}

int InitializeInjectionNvtxExtension(struct nvtx_ext_module *module)
{
    if (!lpoc_ready(&state) || !state.knobs.nvtx)
        return 0;
    return lpoc_nvtx_attach_payload(module);
}

int InitializeInjection(void)
{
    if (lpoc_ready(&state))
        lpoc_gpu_start(&state);
    return 1;
}
