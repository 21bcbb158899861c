/* SPDX-License-Identifier: Apache-2.0 */
/* The program: nothing here but the way into cli/command.c. */
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/command.h"
#include "util/arena.h"
#include "util/visible.h"

int main(int argc, char **argv)
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
