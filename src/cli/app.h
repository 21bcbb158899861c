/* cli/app.h - what a command is given: its arena, its words, and where to print.
 *
 * State travels here, never in globals, so a test can run two commands in one process. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct lpo_arena;
struct lpo_err;

struct lpo_app {
    struct lpo_arena *arena; /* lives as long as the command */
    FILE *out, *log;         /* stdout and stderr, or a test's files */
    const char *program;     /* "lpo" */
    bool advised;            /* deprecations were told: once is enough, however often we compose */
};
