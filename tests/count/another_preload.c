/* SPDX-License-Identifier: Apache-2.0 */
/* Another library that is preloaded, in front of ours or behind it: it stands in front of getuid()
 * and of one launch function, and finds the next one of each by RTLD_NEXT. Built twice, with a
 * DIGIT that shows in what order they stand. */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define NAMED_(name, digit) name##digit
#define NAMED(name, digit)  NAMED_(name, digit)

int cuLaunch(void *f);
extern unsigned NAMED(another_calls_, DIGIT);
unsigned NAMED(another_calls_, DIGIT);

static void *early;

/* It runs before or after other constructors; dlsym() must work in any case. */
__attribute__((constructor)) static void on_load(void)
{
    early = dlsym(RTLD_NEXT, "getuid");
}

uid_t getuid(void)
{
    uid_t (*next)(void) = NULL;
    void *found = dlsym(RTLD_NEXT, "getuid");

    memcpy(&next, &found, sizeof next);
    return next && found == early ? next() * 10 + DIGIT : 666;
}

int cuLaunch(void *f)
{
    int (*next)(void *f) = NULL;
    void *found = dlsym(RTLD_NEXT, "cuLaunch");

    memcpy(&next, &found, sizeof next);
    __atomic_add_fetch(&NAMED(another_calls_, DIGIT), 1, __ATOMIC_RELAXED);
    return next ? next(f) : 666;
}
