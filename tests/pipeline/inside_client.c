/* SPDX-License-Identifier: Apache-2.0 */
/* A program that "starts CUDA": it loads the collector as the driver would, and ends when the
 * sampler inside has written something to the file in argv[1], so that no clock decides a test. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int size_of(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 ? (int)s.st_size : 0;
}

int main(int argc, char **argv)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    int status = 0;

    if (argc < 2 || !start || start() != 1)
        return 1;
    start(); /* a second runtime in the process asks again */
    for (int i = 0; i < 3000 && size_of(argv[1]) < 2000; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    if (size_of(argv[1]) < 2000)
        return 2;
    if (argc > 2 && strcmp(argv[2], "abort") == 0)
        abort();
    if (argc > 2 && strcmp(argv[2], "fork") == 0) { /* the child ends first, and stops nothing */
        pid_t child = fork();

        if (child == 0)
            exit(0);
        waitpid(child, &status, 0);
    }
    return status ? 3 : 0;
}
