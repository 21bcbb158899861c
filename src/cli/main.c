/* The program: nothing here but the way into cli/command.c. */
#include <stdio.h>

#include "cli/app.h"
#include "cli/command.h"
#include "util/arena.h"

int main(int argc, char **argv)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_app app = { .arena = arena, .out = stdout, .log = stderr, .program = "lpo" };
    int rc = lpo_cli_main(&app, argc, (const char *const *)argv);

    if (fflush(stdout) != 0) {
        perror("lpo: cannot write the output");
        return rc ? rc : 1;
    }
    if (ferror(stdout)) { /* an earlier write; its errno is gone */
        fputs("lpo: cannot write all of the output: is the disk full?\n", stderr);
        return rc ? rc : 1;
    }
    return rc;
}
