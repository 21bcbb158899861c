/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups as libc answers them: what is not there is not found, and says so; what another library
 * has is that library's. In a program that is not linked with the driver. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "count_client.h"

static int failures;

static void check(bool right, const char *what)
{
    if (right)
        return;
    printf("wrong: %s\n", what);
    failures++;
}

/* Not found, and dlerror() names it, once. */
static void check_missing(void *handle, const char *name, const char *what)
{
    const char *said;

    dlerror();
    check(dlsym(handle, name) == NULL, what);
    said = dlerror();
    check(said && strstr(said, name), what);
    check(dlerror() == NULL, what);
}

static void *check_found(void *handle, const char *name, const char *what)
{
    void *found;

    dlerror();
    found = dlsym(handle, name);
    check(found != NULL, what);
    check(dlerror() == NULL, what);
    return found;
}

static int call_grid(void *found)
{
    int (*grid)(void *f, int width, int height) = NULL;

    memcpy(&grid, &found, sizeof grid);
    return grid ? grid(FAKE_POINTER(0), -2, 3) : -1;
}

int check_lookups(void)
{
    static const char grid[] = "cuLaunchGrid";
    void *cuda, *other, *program = dlopen(NULL, RTLD_NOW), *math = dlopen("libm.so.6", RTLD_NOW);
    void *ours, *theirs;

    check_missing(RTLD_DEFAULT, "no_such_function", "a name that nobody has");
    check_missing(RTLD_DEFAULT, "cuNoSuchFunction", "a name of the driver that nobody has");
    check_missing(RTLD_DEFAULT, grid, "a launch without a driver");
    check_missing(program, grid, "a launch without a driver, by the program's handle");
    check_missing(math, grid, "a launch in a library that has none");
    check_missing(RTLD_NEXT, "no_such_function", "a name that nobody has, from here on");
    check_found(RTLD_DEFAULT, "getpid", "a function of libc");
    check_found(math, "cos", "a function of another library");

    cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    check(cuda != NULL, "the driver");
    check_missing(RTLD_DEFAULT, grid, "a launch of a driver that only its handle sees");
    check_missing(cuda, "cuNoSuchFunction", "a name that the driver does not have");
    ours = check_found(cuda, grid, "a launch by the driver's handle");
    check(ours == dlsym(cuda, grid), "the same function when asked again");
    check(call_grid(ours) == FAKE_ANSWERS + FAKE_GRID, "the driver's answer");

    other = dlopen("libother-cuda.so", RTLD_NOW);
    check(other != NULL, "a library that has the same name");
    theirs = check_found(other, grid, "its function");
    check(call_grid(theirs) == 99, "its answer");
    check(call_grid(ours) == FAKE_ANSWERS + FAKE_GRID, "the driver's answer after that");

    check(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) == cuda, "the driver for all");
    check(call_grid(check_found(RTLD_DEFAULT, grid, "a launch that all see")) ==
              FAKE_ANSWERS + FAKE_GRID,
          "its answer, found by all");
    check(call_grid(check_found(program, grid, "the same by the program's handle")) ==
              FAKE_ANSWERS + FAKE_GRID,
          "its answer, found by the program");
    printf("uid %u\n", (unsigned)getuid()); /* libraries of the test may stand in front of it */
    return failures != 0;
}
