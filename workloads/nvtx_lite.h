/* SPDX-License-Identifier: Apache-2.0 */
/* workloads/nvtx_lite.h - NVTX ranges for programs built without NVIDIA's headers.
 *
 * A header-only client of the NVTX v3 injection contract: the first call loads the tool named by
 * NVTX_INJECTION64_PATH and lets it fill the callback table; with no tool every call is a no-op
 * of about a nanosecond. Any NVTX tool works: ours, nsys, ncu. Like the real NVTX, each
 * program or shared library that includes this has its own instance of the table.
 *
 *     nvtx_lite_push("decode");
 *     ...
 *     nvtx_lite_pop();
 *
 * include/lpo.h has the same loader. It is kept apart on purpose: users copy lpo.h as one file, and
 * it opens a domain of its own, which the programs that test a tool must not have.
 *
 * Needs -ldl on a libc older than glibc 2.34. Works in C and C++. */
#pragma once

#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nvtx_lite_domain; /* whatever the tool returns; NULL is the default domain */
struct nvtx_lite_string;
struct nvtx_lite_resource;

enum { NVTX_LITE_ASCII = 1, NVTX_LITE_WIDE = 2, NVTX_LITE_REGISTERED = 3 };
enum { /* payload types */
       NVTX_LITE_U64 = 1,
       NVTX_LITE_I64 = 2,
       NVTX_LITE_F64 = 3,
       NVTX_LITE_U32 = 4,
       NVTX_LITE_I32 = 5,
       NVTX_LITE_F32 = 6,
};

union nvtx_lite_message {
    const char *ascii;
    const wchar_t *wide;
    struct nvtx_lite_string *registered;
};

/* Laid out as nvtxEventAttributes_t, version 3. */
struct nvtx_lite_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union nvtx_lite_message message;
};

/* Laid out as nvtxResourceAttributes_t. */
struct nvtx_lite_resource_attributes {
    uint16_t version, size;
    int32_t identifier_type;
    uint64_t identifier;
    int32_t message_type;
    union nvtx_lite_message message;
};

enum { NVTX_LITE_CORE_SLOTS = 16, NVTX_LITE_CORE2_SLOTS = 16, NVTX_LITE_SPARE_SLOTS = 16 };
enum { NVTX_LITE_FRESH, NVTX_LITE_STARTING, NVTX_LITE_READY };

typedef void (*nvtx_lite_fn)(void);

struct nvtx_lite_state {
    int state;
    nvtx_lite_fn core[NVTX_LITE_CORE_SLOTS];
    nvtx_lite_fn core2[NVTX_LITE_CORE2_SLOTS];
    nvtx_lite_fn *core_table[NVTX_LITE_CORE_SLOTS];
    nvtx_lite_fn *core2_table[NVTX_LITE_CORE2_SLOTS];
    nvtx_lite_fn spare[NVTX_LITE_SPARE_SLOTS];
    nvtx_lite_fn *spare_table[NVTX_LITE_SPARE_SLOTS];
};

/* One per program or shared library, however many files include this. */
__attribute__((weak, visibility("hidden"))) struct nvtx_lite_state nvtx_lite_global;

static inline int nvtx_lite_get_table(int module, nvtx_lite_fn ***out, unsigned *out_size)
{
    if (module == 1) {
        *out = nvtx_lite_global.core_table;
        *out_size = NVTX_LITE_CORE_SLOTS;
        return 1;
    }
    if (module == 5) {
        *out = nvtx_lite_global.core2_table;
        *out_size = NVTX_LITE_CORE2_SLOTS;
        return 1;
    }
    if (module >= 2 && module <= 6) {
        /* CUDA, OpenCL and sync naming are not in this client, but a tool may refuse a program that
         * has no room for them: what is put there is never called */
        *out = nvtx_lite_global.spare_table;
        *out_size = NVTX_LITE_SPARE_SLOTS;
        return 1;
    }
    return 0;
}

static inline void nvtx_lite_set_version(uint32_t version)
{
    (void)version;
}

static inline const void *nvtx_lite_export(uint32_t id)
{
    static const struct {
        size_t struct_size;
        int (*get)(int, nvtx_lite_fn ***, unsigned *);
    } callbacks = { sizeof callbacks, nvtx_lite_get_table };
    static const struct {
        size_t struct_size;
        uint32_t version, reserved;
        void (*set)(uint32_t);
    } versions = { sizeof versions, 3, 0, nvtx_lite_set_version };

    return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&versions : NULL;
}

static inline void nvtx_lite_attach(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*init)(const void *(*)(uint32_t)) = NULL;

    for (int i = 0; i < NVTX_LITE_CORE_SLOTS; i++)
        nvtx_lite_global.core_table[i] = &nvtx_lite_global.core[i];
    for (int i = 0; i < NVTX_LITE_CORE2_SLOTS; i++)
        nvtx_lite_global.core2_table[i] = &nvtx_lite_global.core2[i];
    for (int i = 0; i < NVTX_LITE_SPARE_SLOTS; i++)
        nvtx_lite_global.spare_table[i] = &nvtx_lite_global.spare[i];
    if (!lib)
        return;
    *(void **)&init = dlsym(lib, "InitializeInjectionNvtx2");
    if (init && init(nvtx_lite_export))
        return;
    for (int i = 0; i < NVTX_LITE_CORE_SLOTS; i++)
        nvtx_lite_global.core[i] = NULL;
    for (int i = 0; i < NVTX_LITE_CORE2_SLOTS; i++)
        nvtx_lite_global.core2[i] = NULL;
    dlclose(lib);
}

static inline void nvtx_lite_start_once(void)
{
    int fresh = NVTX_LITE_FRESH;

    if (__atomic_compare_exchange_n(&nvtx_lite_global.state, &fresh, NVTX_LITE_STARTING, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        nvtx_lite_attach();
        __atomic_store_n(&nvtx_lite_global.state, NVTX_LITE_READY, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&nvtx_lite_global.state, __ATOMIC_ACQUIRE) != NVTX_LITE_READY)
        sched_yield();
}

static inline nvtx_lite_fn nvtx_lite_slot(int core2, int id)
{
    if (__atomic_load_n(&nvtx_lite_global.state, __ATOMIC_ACQUIRE) != NVTX_LITE_READY)
        nvtx_lite_start_once();
    return core2 ? nvtx_lite_global.core2[id] : nvtx_lite_global.core[id];
}

/* name, arguments as declared, arguments as passed on, result, result without a tool, table, slot
 */
#define NVTX_LITE_CALL(name, args, pass, type, none, core2, id)                                    \
    static inline type nvtx_lite_##name args                                                       \
    {                                                                                              \
        type(*f) args = (type(*) args)nvtx_lite_slot(core2, id);                                   \
        return f ? f pass : none;                                                                  \
    }
#define NVTX_LITE_VOID(name, args, pass, core2, id)                                                \
    static inline void nvtx_lite_##name args                                                       \
    {                                                                                              \
        void(*f) args = (void(*) args)nvtx_lite_slot(core2, id);                                   \
        if (f)                                                                                     \
            f pass;                                                                                \
    }

typedef const struct nvtx_lite_attributes *nvtx_lite_attr;
typedef struct nvtx_lite_domain *nvtx_lite_dom;

/* The default domain. Push gives the depth of the new range, pop that of the ended one. */
NVTX_LITE_VOID(mark_ex, (nvtx_lite_attr a), (a), 0, 1)
NVTX_LITE_VOID(mark, (const char *text), (text), 0, 2)
NVTX_LITE_VOID(mark_w, (const wchar_t *text), (text), 0, 3)
NVTX_LITE_CALL(start_ex, (nvtx_lite_attr a), (a), uint64_t, 0, 0, 4)
NVTX_LITE_CALL(start, (const char *text), (text), uint64_t, 0, 0, 5)
NVTX_LITE_CALL(start_w, (const wchar_t *text), (text), uint64_t, 0, 0, 6)
NVTX_LITE_VOID(end, (uint64_t id), (id), 0, 7)
NVTX_LITE_CALL(push_ex, (nvtx_lite_attr a), (a), int, -2, 0, 8)
NVTX_LITE_CALL(push, (const char *text), (text), int, -2, 0, 9)
NVTX_LITE_CALL(push_w, (const wchar_t *text), (text), int, -2, 0, 10)
NVTX_LITE_CALL(pop, (void), (), int, -2, 0, 11)
NVTX_LITE_VOID(name_category, (uint32_t id, const char *text), (id, text), 0, 12)
NVTX_LITE_VOID(name_category_w, (uint32_t id, const wchar_t *text), (id, text), 0, 13)
NVTX_LITE_VOID(name_thread, (uint32_t tid, const char *text), (tid, text), 0, 14)
NVTX_LITE_VOID(name_thread_w, (uint32_t tid, const wchar_t *text), (tid, text), 0, 15)

/* A named domain. */
NVTX_LITE_VOID(domain_mark_ex, (nvtx_lite_dom d, nvtx_lite_attr a), (d, a), 1, 1)
NVTX_LITE_CALL(domain_start_ex, (nvtx_lite_dom d, nvtx_lite_attr a), (d, a), uint64_t, 0, 1, 2)
NVTX_LITE_VOID(domain_end, (nvtx_lite_dom d, uint64_t id), (d, id), 1, 3)
NVTX_LITE_CALL(domain_push_ex, (nvtx_lite_dom d, nvtx_lite_attr a), (d, a), int, -2, 1, 4)
NVTX_LITE_CALL(domain_pop, (nvtx_lite_dom d), (d), int, -2, 1, 5)
NVTX_LITE_CALL(domain_resource_create, (nvtx_lite_dom d, struct nvtx_lite_resource_attributes *a),
               (d, a), struct nvtx_lite_resource *, NULL, 1, 6)
NVTX_LITE_VOID(domain_resource_destroy, (struct nvtx_lite_resource * r), (r), 1, 7)
NVTX_LITE_VOID(domain_name_category, (nvtx_lite_dom d, uint32_t id, const char *text),
               (d, id, text), 1, 8)
NVTX_LITE_VOID(domain_name_category_w, (nvtx_lite_dom d, uint32_t id, const wchar_t *text),
               (d, id, text), 1, 9)
NVTX_LITE_CALL(domain_register, (nvtx_lite_dom d, const char *text), (d, text),
               struct nvtx_lite_string *, NULL, 1, 10)
NVTX_LITE_CALL(domain_register_w, (nvtx_lite_dom d, const wchar_t *text), (d, text),
               struct nvtx_lite_string *, NULL, 1, 11)
NVTX_LITE_CALL(domain_create, (const char *name), (name), nvtx_lite_dom, NULL, 1, 12)
NVTX_LITE_CALL(domain_create_w, (const wchar_t *name), (name), nvtx_lite_dom, NULL, 1, 13)
NVTX_LITE_VOID(domain_destroy, (nvtx_lite_dom d), (d), 1, 14)
NVTX_LITE_VOID(initialize, (const void *reserved), (reserved), 1, 15)

#undef NVTX_LITE_CALL
#undef NVTX_LITE_VOID

/* Attributes with a plain text, ready for further fields. */
static inline struct nvtx_lite_attributes nvtx_lite_text(const char *text)
{
    struct nvtx_lite_attributes a;

    __builtin_memset(&a, 0, sizeof a);
    a.version = 3;
    a.size = (uint16_t)sizeof a;
    a.message_type = NVTX_LITE_ASCII;
    a.message.ascii = text;
    return a;
}

#ifdef __cplusplus
}
#endif
