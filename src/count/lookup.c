/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym() in front of libc's: a program that looks a launch function up gets ours.
 *
 * With RTLD_NEXT and RTLD_DEFAULT libc goes by who calls it, which it sees by the return address.
 * So the exported dlsym() is a few instructions that ask lpoh_dlsym() and else jump to libc's: that
 * one returns to the program and has the program as its caller. All is found when it is first
 * needed, as constructors of other libraries may call dlsym() before ours would run. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "count/count.h"

/* Since glibc 2.34 these have another version, and are the same: by the old one the library also
 * loads where glibc is older. */
#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#else
#error "dlsym() has to be written for this machine: see the end of this file"
#endif
#define FIRST(name) __asm__(".symver first_" #name ", " #name "@" FIRST_VERSION)
FIRST(dlvsym);
FIRST(dlopen);
FIRST(dlclose);
FIRST(dladdr);
extern void *first_dlvsym(void *handle, const char *name, const char *version);
extern void *first_dlopen(const char *path, int mode);
extern int first_dlclose(void *handle);
extern int first_dladdr(const void *address, Dl_info *info);

typedef void *lookup(void *handle, const char *name);

/* Either the value, or who is to be asked for it. In two registers. */
struct answer {
    void *value;
    lookup *ask;
};

__attribute__((used, visibility("hidden"))) struct answer lpoh_dlsym(void *handle, const char *name,
                                                                     const void *caller);

/* libc's, or that of another library that stands between us and libc. */
static lookup *next_dlsym(void)
{
    static const char *const versions[] = { "GLIBC_2.34", FIRST_VERSION };
    static void *known;
    void *found = __atomic_load_n(&known, __ATOMIC_ACQUIRE);

    for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++) {
        found = first_dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        __atomic_store_n(&known, found, __ATOMIC_RELEASE);
    }
    return (lookup *)(uintptr_t)found;
}

/* NOLOAD: a program that has not loaded the driver must not get it from us. It stays open: what was
 * found in it is called from here on. */
static void *in_driver(const char *name)
{
    void *driver = first_dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

    return driver ? next_dlsym()(driver, name) : NULL;
}

void *lpoh_behind(const struct lpoh_call *call)
{
    void *real = next_dlsym()(RTLD_NEXT, call->name);

    if (!real)
        real = in_driver(call->name);
    if (real && !lpoh_is_ours(real)) {
        __atomic_store_n(call->linked_real, real, __ATOMIC_RELEASE);
        __atomic_add_fetch(&lpo_count.given, 1, __ATOMIC_RELAXED);
        return real;
    }
    return NULL;
}

/* In the library that asks, and in those that it was linked with. */
static void *in_scope_of(const void *caller, const char *name)
{
    Dl_info from;
    void *lib, *found;

    if (!first_dladdr(caller, &from) || !from.dli_fname)
        return NULL;
    lib = first_dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!lib)
        return NULL;
    found = next_dlsym()(lib, name);
    first_dlclose(lib); /* it was there before, and still is */
    return found;
}

/* Asked in the program's global scope, where we are ourselves: is there one behind us? (RTLD_NEXT
 * is about this library, as it is called from here.) */
static void *in_global_scope(const struct lpoh_call *call, const void *caller)
{
    void *real = next_dlsym()(RTLD_NEXT, call->name);

    if (!real)
        real = in_scope_of(caller, call->name);
    if (real && !lpoh_is_ours(real))
        return call->linked;
    return next_dlsym()(RTLD_NEXT, call->name); /* it fails again, for dlerror() */
}

struct answer lpoh_dlsym(void *handle, const char *name, const void *caller)
{
    const struct lpoh_call *call = handle == RTLD_NEXT ? NULL : lpoh_find(name);
    lookup *next = next_dlsym();
    bool global;
    void *found;

    if (!call || !next)
        return (struct answer){ NULL, next };
    global = next(handle, "lpo_count") == &lpo_count;
    found = next(handle, name);
    if (found && lpoh_is_ours(found))
        found = in_global_scope(call, caller);
    else if (found && !global) /* else it is of a library in front of us, which will ask for us */
        found = lpoh_front(call, found);
    return (struct answer){ found, NULL };
}

/* dlsym(handle, name): lpoh_dlsym(handle, name, who called), and then its answer. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n" /* a call wants the stack at a multiple of 16 */
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq 24(%rsp), %rdx\n"
        "    call lpoh_dlsym\n"
        "    addq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rsi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    testq %rdx, %rdx\n"
        "    jz 1f\n"
        "    jmp *%rdx\n"
        "1:  ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#else
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, %function\n"
        "dlsym:\n"
        "    .cfi_startproc\n"
        "    hint #34\n" /* bti c */
        "    stp x29, x30, [sp, #-32]!\n"
        "    .cfi_def_cfa_offset 32\n"
        "    .cfi_offset 29, -32\n"
        "    .cfi_offset 30, -24\n"
        "    mov x29, sp\n"
        "    stp x0, x1, [sp, #16]\n"
        "    mov x2, x30\n"
        "    bl lpoh_dlsym\n"
        "    mov x9, x0\n"
        "    mov x16, x1\n" /* a jump by x16 may go where a call may */
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #32\n"
        "    .cfi_restore 30\n"
        "    .cfi_restore 29\n"
        "    .cfi_def_cfa_offset 0\n"
        "    cbz x16, 1f\n"
        "    br x16\n"
        "1:  mov x0, x9\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size dlsym, . - dlsym\n");
#endif
