/* SPDX-License-Identifier: Apache-2.0 */
/* lpo.h - ranges, numbers, marks and recording windows for lpo, in any C or C++ program.
 *
 *     lpo_push("decode");
 *     lpo_number("tokens", batch);
 *     ...
 *     lpo_pop();
 *
 * One header that needs libc alone: use the installed one, or copy it. It is a client of NVTX: the
 * first call loads the tool that NVTX_INJECTION64_PATH names (lpo, nsys and ncu set it). Where
 * nothing listens a call costs about a nanosecond, so the calls may stay in the program. Any number
 * of files may include it; each program or shared library has one instance. Every call may be made
 * by any thread. Needs gcc or clang, and -ldl with a glibc older than 2.34. */
#ifndef LPO_H
#define LPO_H

#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the calls ------------------------------------------------------------------------------ */

/* Is there a profiler? For a program that would have to compute a number for it. */
static inline int lpo_listening(void);
/* A range of this thread. The name is copied. */
static inline void lpo_push(const char *name);
static inline void lpo_pop(void);
/* A number of the open range (tokens, requests, bytes): reports have its sum and mean for every
 * region. */
static inline void lpo_number(const char *name, int64_t value);
static inline void lpo_number_real(const char *name, double value);
/* A moment, shown on the timeline. */
static inline void lpo_mark(const char *text);
/* A range that any thread may end, by the id: a request. */
static inline uint64_t lpo_start(const char *name);
static inline void lpo_end(uint64_t id);
/* What is to be recorded, of all threads, where the run was started with
 * pipeline.native.capture.range=window; nothing otherwise. nsys and ncu take the same word. */
static inline uint64_t lpo_window_begin(void);
static inline void lpo_window_end(uint64_t id);

/* --- how: the NVTX v3 contract -------------------------------------------------------------- */

enum { LPO_NVTX_SLOTS = 16, LPO_NVTX_TABLES = 7 }; /* a table for each module; 0 is none */
enum { LPO_NVTX_CORE = 1, LPO_NVTX_CORE2 = 5 };    /* those used here */
enum { LPO_NVTX_FRESH, LPO_NVTX_STARTING, LPO_NVTX_READY };

typedef void (*lpo_nvtx_fn)(void);

struct lpo_nvtx {
    int state;
    lpo_nvtx_fn fn[LPO_NVTX_TABLES][LPO_NVTX_SLOTS];     /* what the tool filled in */
    lpo_nvtx_fn *table[LPO_NVTX_TABLES][LPO_NVTX_SLOTS]; /* where it does */
    void *domain;                                        /* "lpo": numbers and windows */
};

/* Laid out as nvtxEventAttributes_t, version 3. */
struct lpo_nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        int64_t whole;
        double real;
    } payload;
    int32_t message_type;
    const char *message;
};

__attribute__((weak, visibility("hidden"))) struct lpo_nvtx lpo_nvtx_here;

static inline int lpo_nvtx_module(int module, lpo_nvtx_fn ***table, unsigned *count)
{
    if (module < 1 || module >= LPO_NVTX_TABLES)
        return 0;
    *table = lpo_nvtx_here.table[module];
    *count = LPO_NVTX_SLOTS;
    return 1;
}

static inline void lpo_nvtx_version(uint32_t version)
{
    (void)version;
}

static inline const void *lpo_nvtx_export(uint32_t id)
{
    static const struct {
        size_t size;
        int (*module)(int, lpo_nvtx_fn ***, unsigned *);
    } callbacks = { sizeof callbacks, lpo_nvtx_module };
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*set)(uint32_t);
    } versions = { sizeof versions, 3, 0, lpo_nvtx_version };

    return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&versions : NULL;
}

static inline void lpo_nvtx_load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*init)(const void *(*)(uint32_t)) = NULL;
    void *(*create)(const char *);
    void *found = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;

    for (int m = 1; m < LPO_NVTX_TABLES; m++)
        for (int i = 0; i < LPO_NVTX_SLOTS; i++)
            lpo_nvtx_here.table[m][i] = &lpo_nvtx_here.fn[m][i];
    memcpy(&init, &found, sizeof init);
    if (!init || !init(lpo_nvtx_export)) {
        memset(lpo_nvtx_here.fn, 0, sizeof lpo_nvtx_here.fn);
        return;
    }
    create = (void *(*)(const char *))lpo_nvtx_here.fn[LPO_NVTX_CORE2][12];
    lpo_nvtx_here.domain = create ? create("lpo") : NULL;
}

static inline void lpo_nvtx_begin(void)
{
    int fresh = LPO_NVTX_FRESH;

    if (__atomic_compare_exchange_n(&lpo_nvtx_here.state, &fresh, LPO_NVTX_STARTING, 0,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        lpo_nvtx_load();
        __atomic_store_n(&lpo_nvtx_here.state, LPO_NVTX_READY, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&lpo_nvtx_here.state, __ATOMIC_ACQUIRE) != LPO_NVTX_READY)
        sched_yield();
}

static inline lpo_nvtx_fn lpo_nvtx_slot(int module, int slot)
{
    if (__atomic_load_n(&lpo_nvtx_here.state, __ATOMIC_ACQUIRE) != LPO_NVTX_READY)
        lpo_nvtx_begin();
    return lpo_nvtx_here.fn[module][slot];
}

static inline struct lpo_nvtx_attributes lpo_nvtx_text(const char *text)
{
    struct lpo_nvtx_attributes a;

    memset(&a, 0, sizeof a);
    a.version = 3;
    a.size = (uint16_t)sizeof a;
    a.message_type = 1;
    a.message = text;
    return a;
}

static inline void lpo_nvtx_domain_mark(const struct lpo_nvtx_attributes *a)
{
    void (*f)(void *, const struct lpo_nvtx_attributes *) =
        (void (*)(void *, const struct lpo_nvtx_attributes *))lpo_nvtx_slot(LPO_NVTX_CORE2, 1);

    if (f && lpo_nvtx_here.domain)
        f(lpo_nvtx_here.domain, a);
}

static inline int lpo_listening(void)
{
    return lpo_nvtx_slot(LPO_NVTX_CORE, 9) != NULL;
}

static inline void lpo_push(const char *name)
{
    int (*f)(const char *) = (int (*)(const char *))lpo_nvtx_slot(LPO_NVTX_CORE, 9);

    if (f)
        f(name);
}

static inline void lpo_pop(void)
{
    int (*f)(void) = (int (*)(void))lpo_nvtx_slot(LPO_NVTX_CORE, 11);

    if (f)
        f();
}

static inline void lpo_number(const char *name, int64_t value)
{
    struct lpo_nvtx_attributes a;

    if (!lpo_listening())
        return;
    a = lpo_nvtx_text(name);
    a.payload_type = 2;
    a.payload.whole = value;
    lpo_nvtx_domain_mark(&a);
}

static inline void lpo_number_real(const char *name, double value)
{
    struct lpo_nvtx_attributes a;

    if (!lpo_listening())
        return;
    a = lpo_nvtx_text(name);
    a.payload_type = 3;
    a.payload.real = value;
    lpo_nvtx_domain_mark(&a);
}

static inline void lpo_mark(const char *text)
{
    void (*f)(const char *) = (void (*)(const char *))lpo_nvtx_slot(LPO_NVTX_CORE, 2);

    if (f)
        f(text);
}

static inline uint64_t lpo_start(const char *name)
{
    uint64_t (*f)(const char *) = (uint64_t(*)(const char *))lpo_nvtx_slot(LPO_NVTX_CORE, 5);

    return f ? f(name) : 0;
}

static inline void lpo_end(uint64_t id)
{
    void (*f)(uint64_t) = (void (*)(uint64_t))lpo_nvtx_slot(LPO_NVTX_CORE, 7);

    if (f && id)
        f(id);
}

static inline uint64_t lpo_window_begin(void)
{
    uint64_t (*f)(void *, const struct lpo_nvtx_attributes *) =
        (uint64_t(*)(void *, const struct lpo_nvtx_attributes *))lpo_nvtx_slot(LPO_NVTX_CORE2, 2);
    struct lpo_nvtx_attributes a = lpo_nvtx_text("window");

    return f && lpo_nvtx_here.domain ? f(lpo_nvtx_here.domain, &a) : 0;
}

static inline void lpo_window_end(uint64_t id)
{
    void (*f)(void *, uint64_t) = (void (*)(void *, uint64_t))lpo_nvtx_slot(LPO_NVTX_CORE2, 3);

    if (f && id)
        f(lpo_nvtx_here.domain, id);
}

#ifdef __cplusplus
}

namespace lpo
{

/* A range, or a window, until the end of the block, however it is left. */
class range
{
  public:
    explicit range(const char *name)
    {
        lpo_push(name);
    }
    ~range()
    {
        lpo_pop();
    }
    range(const range &) = delete;
    range &operator=(const range &) = delete;
};

class window
{
  public:
    window() : id(lpo_window_begin())
    {
    }
    ~window()
    {
        lpo_window_end(id);
    }
    window(const window &) = delete;
    window &operator=(const window &) = delete;

  private:
    uint64_t id;
};

} /* namespace lpo */
#endif

#endif
