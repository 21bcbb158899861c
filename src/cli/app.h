/* SPDX-License-Identifier: Apache-2.0 */
/* cli/app.h - what a command is given: its arena, its words, and where to print.
 *
 * State travels here, never in globals, so a test can run two commands in one process. */
#pragma once

#include "util/base.h"

struct lpo_app {
    struct lpo_arena *arena; /* lives as long as the command */
    FILE *out, *log;         /* for stdout and stderr; on a terminal made safe (util/visible.h) */
    FILE *screen;            /* stderr itself, only for the line that progress redraws */
    const char *program;     /* "lpo" */
    bool debug;              /* --debug: errors come with the source line that raised them */
    /* The config that was composed last is one for lpo, with the shipped tree behind it. A
     * --config-dir whose config has neither a pipeline nor a group of ours follows Hydra's rules
     * and nothing else. */
    bool config_is_ours;
    bool advised; /* deprecations were printed: a sweep composes often, once is enough */
};

/* Prints an error on app->log: "who: …" and its causes, each on a line. */
void lpo_cli_print_error(const struct lpo_app *app, const char *who, const struct lpo_err *err);
