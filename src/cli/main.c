/* SPDX-License-Identifier: Apache-2.0 */
/* The program: nothing here but the way into cli/command.c. */
#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/command.h"
#include "util/visible.h"

static int lpo_main(int argc, char **argv)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_app app = { .arena = arena, .screen = stderr, .program = "lpo" };
    int rc;

#ifdef M_MMAP_THRESHOLD
    /* glibc raises this to the size of the largest block that was given back, and puts later ones
     * on the heap, where an array that grows leaves holes. Large ones stay apart: they grow in
     * place and go back whole, which is 17 MiB less for a report of 1 GB of Kineto. */
    mallopt(M_MMAP_THRESHOLD, 1 << 18);
#endif
    /* A file or a pipe gets the exact bytes; a terminal would obey those that are commands to it.
     * Messages are for people wherever they go. */
    app.out = isatty(STDOUT_FILENO) ? lpo_visible_stream(stdout) : stdout;
    app.log = lpo_visible_stream(stderr);
    if (!app.out || !app.log) {
        fputs("lpo: out of memory\n", stderr);
        return 1;
    }
    rc = lpo_cli_main(&app, argc, (const char *const *)argv);
    fclose(app.log);
    if ((app.out != stdout && fclose(app.out) != 0) || fflush(stdout) != 0) {
        perror("lpo: cannot write the output");
        return rc ? rc : 1;
    }
    if (ferror(stdout)) { /* an earlier write; its errno is gone */
        fputs("lpo: cannot write all of the output: is the disk full?\n", stderr);
        return rc ? rc : 1;
    }
    return rc;
}

enum { STACK = 8 << 20 };

struct call {
    int argc, rc;
    char **argv;
};

static void *run_call(void *arg)
{
    struct call *c = arg;

    c->rc = lpo_main(c->argc, c->argv);
    return NULL;
}

/* A stack of a few pages (ulimit -s 64) is a matter of who started us, and no reason to crash. */
int main(int argc, char **argv)
{
    struct call c = { .argc = argc, .argv = argv };
    struct rlimit limit;
    pthread_attr_t attr;
    pthread_t thread;

    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK / 8)
        return lpo_main(argc, argv);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_setattr_default_np(&attr); /* of threads that are started later */
    if (pthread_create(&thread, &attr, run_call, &c) != 0) {
        fputs("lpo: the limit on stacks is too low: ulimit -s 8192\n", stderr);
        return 1;
    }
    pthread_join(thread, NULL);
    return c.rc;
}
