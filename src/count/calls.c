/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what is counted, and our functions in front of the driver's: each says that it is
 * called and goes on to the driver's with what it was given. No lock, no memory, errno as it was.
 */
#include "count/count.h"

#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { CU_NOT_INITIALIZED = 3 };

struct lpo_count lpo_count = { .version = LPO_COUNT_VERSION };

static inline void tell(unsigned kind)
{
    void (*launched)(unsigned) = __atomic_load_n(&lpo_count.launched, __ATOMIC_ACQUIRE);

    if (launched)
        launched(kind);
}

#define GRID                                                                                       \
    unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, \
        void *stream
#define GRID_GIVEN gx, gy, gz, bx, by, bz, shared, stream

/* Name, kind, parameters, arguments: the calls that the collector's callback counts too
 * (collect/cuda_calls.h; tests/count/test_count.py compares the two). */
#define LAUNCHES(X)                                                                                \
    X(cuLaunchKernel, LPO_COUNT_KERNEL, (void *f, GRID, void **params, void **extra),              \
      (f, GRID_GIVEN, params, extra))                                                              \
    X(cuLaunchKernel_ptsz, LPO_COUNT_KERNEL, (void *f, GRID, void **params, void **extra),         \
      (f, GRID_GIVEN, params, extra))                                                              \
    X(cuLaunchKernelEx, LPO_COUNT_KERNEL,                                                          \
      (const void *config, void *f, void **params, void **extra), (config, f, params, extra))      \
    X(cuLaunchKernelEx_ptsz, LPO_COUNT_KERNEL,                                                     \
      (const void *config, void *f, void **params, void **extra), (config, f, params, extra))      \
    X(cuLaunchCooperativeKernel, LPO_COUNT_KERNEL, (void *f, GRID, void **params),                 \
      (f, GRID_GIVEN, params))                                                                     \
    X(cuLaunchCooperativeKernel_ptsz, LPO_COUNT_KERNEL, (void *f, GRID, void **params),            \
      (f, GRID_GIVEN, params))                                                                     \
    X(cuLaunchCooperativeKernelMultiDevice, LPO_COUNT_KERNEL,                                      \
      (void *list, unsigned count, unsigned flags), (list, count, flags))                          \
    X(cuLaunch, LPO_COUNT_KERNEL, (void *f), (f))                                                  \
    X(cuLaunchGrid, LPO_COUNT_KERNEL, (void *f, int width, int height), (f, width, height))        \
    X(cuLaunchGridAsync, LPO_COUNT_KERNEL, (void *f, int width, int height, void *stream),         \
      (f, width, height, stream))                                                                  \
    X(cuGraphLaunch, LPO_COUNT_GRAPH, (void *graph, void *stream), (graph, stream))                \
    X(cuGraphLaunch_ptsz, LPO_COUNT_GRAPH, (void *graph, void *stream), (graph, stream))

/* The version of 12.0 has `status`; the one before it has not, and does not look at it. */
#define ASK       (const char *symbol, void **out, int version, uint64_t flags, int *status)
#define ASK_GIVEN (symbol, out, version, flags, status)

/* These are not counted; what they give is. */
#define LOOKUPS(X)                                                                                 \
    X(cuGetProcAddress)                                                                            \
    X(cuGetProcAddress_v2)

#define ROOM(name)                               static void *name##_reals[LPOH_PLACES], *name##_linked_real;
#define ROOM_OF_LAUNCH(name, kind, params, args) ROOM(name)
LAUNCHES(ROOM_OF_LAUNCH)
LOOKUPS(ROOM)

#define REAL(name, params, place)                                                                  \
    ((int(*) params)(uintptr_t)__atomic_load_n(&name##_reals[place], __ATOMIC_ACQUIRE))
#define LINKED_REAL(name, params) ((int(*) params)(uintptr_t)lpoh_behind(lpoh_find(#name)))

/* The linked one asks for what it stands in front of once, and then has it. */
#define LINKED(name, params)                                                                       \
    int(*real) params =                                                                            \
        (int(*) params)(uintptr_t)__atomic_load_n(&name##_linked_real, __ATOMIC_ACQUIRE);          \
                                                                                                   \
    if (__builtin_expect(!real, 0) && !(real = LINKED_REAL(name, params)))                         \
        return CU_NOT_INITIALIZED;

#define LAUNCH_AT(name, kind, params, args, place)                                                 \
    static int name##_##place params                                                               \
    {                                                                                              \
        tell(kind);                                                                                \
        return REAL(name, params, place) args;                                                     \
    }
#define LAUNCH(name, kind, params, args)                                                           \
    LAUNCH_AT(name, kind, params, args, 0)                                                         \
    LAUNCH_AT(name, kind, params, args, 1)                                                         \
    LAUNCH_AT(name, kind, params, args, 2)                                                         \
    LAUNCH_AT(name, kind, params, args, 3)                                                         \
    static int name##_linked params                                                                \
    {                                                                                              \
        LINKED(name, params)                                                                       \
        tell(kind);                                                                                \
        return real args;                                                                          \
    }                                                                                              \
    EXPORT extern int name params __attribute__((alias(#name "_linked")));
_Static_assert(LPOH_PLACES == 4, "a function for each place");
LAUNCHES(LAUNCH)

static int counted_from(int result, const char *symbol, void **out)
{
    const struct lpoh_call *call = result == 0 && out && *out && symbol ? lpoh_find(symbol) : NULL;

    if (call)
        *out = lpoh_front(call, *out);
    return result;
}

#define LOOKUP_AT(name, place)                                                                     \
    static int name##_##place ASK                                                                  \
    {                                                                                              \
        return counted_from(REAL(name, ASK, place) ASK_GIVEN, symbol, out);                        \
    }
#define LOOKUP(name)                                                                               \
    LOOKUP_AT(name, 0)                                                                             \
    LOOKUP_AT(name, 1)                                                                             \
    LOOKUP_AT(name, 2)                                                                             \
    LOOKUP_AT(name, 3)                                                                             \
    static int name##_linked ASK                                                                   \
    {                                                                                              \
        LINKED(name, ASK)                                                                          \
        return counted_from(real ASK_GIVEN, symbol, out);                                          \
    }                                                                                              \
    EXPORT extern int name ASK __attribute__((alias(#name "_linked")));
LOOKUPS(LOOKUP)

#define ADDRESS(function) (void *)(uintptr_t)(function)
#define ROW(name)                                                                                  \
    { #name,                                                                                       \
      ADDRESS(name##_linked),                                                                      \
      &name##_linked_real,                                                                         \
      { ADDRESS(name##_0), ADDRESS(name##_1), ADDRESS(name##_2), ADDRESS(name##_3) },              \
      name##_reals },
#define ROW_OF_LAUNCH(name, kind, params, args) ROW(name)

static const struct lpoh_call calls[] = { LAUNCHES(ROW_OF_LAUNCH) LOOKUPS(ROW) };

const struct lpoh_call *lpoh_find(const char *name)
{
    if (name[0] != 'c' || name[1] != 'u') /* nearly every name that a program looks up */
        return NULL;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

/* Of any row: a driver that takes the address of its own functions may get ours, and give it for
 * another name. */
bool lpoh_is_ours(const void *function)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (function == calls[i].linked)
            return true;
        for (size_t k = 0; k < LPOH_PLACES; k++)
            if (function == calls[i].places[k])
                return true;
    }
    return false;
}

void *lpoh_front(const struct lpoh_call *call, void *real)
{
    if (lpoh_is_ours(real))
        return real;
    for (size_t i = 0; i < LPOH_PLACES; i++) {
        void *there = NULL;

        if (__atomic_compare_exchange_n(&call->reals[i], &there, real, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE) ||
            there == real) {
            __atomic_add_fetch(&lpo_count.given, 1, __ATOMIC_RELAXED);
            return call->places[i];
        }
    }
    __atomic_add_fetch(&lpo_count.missed, 1, __ATOMIC_RELAXED);
    return real;
}
