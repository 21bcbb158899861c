/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points: NVTX and the CUDA driver load this library by name and call these functions.
 *
 * NVTX_INJECTION64_PATH=liblpo-collect.so   CUDA_INJECTION64_PATH=liblpo-collect.so
 *
 * The library exports nothing else, and it is linked so that it is never unloaded. */
#include <pthread.h>
#include <stdbool.h>

#include "collect/collect.h"
#include "collect/gpu.h"
#include "collect/guard.h"
#include "collect/nvtx.h"
#include "collect/sampler.h"
#include "collect/thread.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjectionNvtx2(nvtx_get_table get);
EXPORT int InitializeInjectionNvtxExtension(struct nvtx_ext_module *module);

/* The collector's one mutable static. */
static struct lpoc state = { .lock = PTHREAD_MUTEX_INITIALIZER,
                             .file = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 },
                             .window = { .lock = PTHREAD_MUTEX_INITIALIZER },
                             .ring = { .lock = PTHREAD_MUTEX_INITIALIZER } };

struct lpoc *lpoc_get(void)
{
    return &state;
}

/* No other thread may be half way through the tables when the process is copied. From here to the
 * other side of fork() this thread holds the locks, so its own calls must stay out: signals are
 * blocked, and fork handlers of other libraries find it busy. */
static void before_fork(void)
{
    lpoc_guard();
    lpoc_tls.busy_before_fork = lpoc_tls.busy;
    lpoc_tls.busy = LPOC_BUSY_HELD;
    pthread_mutex_lock(&state.lock);
    pthread_mutex_lock(&state.file.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&state.lock);
    lpoc_tls.busy = lpoc_tls.busy_before_fork;
    lpoc_unguard();
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&state.file.lock);
    after_fork();
}

static void after_fork_child(void)
{
    pthread_mutex_unlock(&state.file.lock);
    lpoc_forked(&state, lpoc_tls.busy_before_fork != 0);
    after_fork();
}

/* The key is made here, not at the first call: the first 32 keys of a process need no memory from
 * malloc() in each thread, and a thread may make its first call in a signal handler. */
__attribute__((constructor)) static void on_load(void)
{
    state.has_key = pthread_key_create(&state.key, lpoc_thread_end) == 0;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

__attribute__((destructor)) static void on_exit_process(void)
{
    lpoc_finish(&state, true);
}

/* This thread's buffer is made now, while system calls are welcome: a program may enter a sandbox
 * (seccomp) before its first range. */
static void prepare_thread(void)
{
    if (!lpoc_tls.busy)
        lpoc_thread_make();
}

int InitializeInjectionNvtx2(nvtx_get_table get)
{
    if (!lpoc_ready(&state) || !state.knobs.nvtx)
        return 0; /* NVTX makes all its calls no-ops */
    prepare_thread();
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
    if (lpoc_ready(&state)) {
        lpoc_gpu_start(&state);
        lpoc_sampler_start(&state);
    }
    return 1;
}
