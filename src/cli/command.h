/* SPDX-License-Identifier: Apache-2.0 */
/* cli/command.h - the table of commands.
 *
 * To add one: write cmd_<name>.c with a `const struct lpo_command lpo_cli_cmd_<name>`, add it to
 * the table of command.c, write docs/<name>.md. */
#pragma once

#include "cli/options.h"

struct lpo_app;

struct lpo_command {
    const char *name;
    const char *summary; /* one line, for `lpo -h` */
    const char *usage;   /* "[override…] [-- program args…]" */
    const char *about;   /* a paragraph or an example, for `lpo <name> -h`; may be NULL */
    const struct lpo_option *options;
    /* Looks at the words before options are parsed; may be NULL. */
    int (*before)(struct lpo_app *app, const struct lpo_option *table, int argc,
                  const char *const *argv, struct lpo_err *err);
    /* Returns 0, a negative LPO_E_* (printed by command.c, mapped to an exit code) or a positive
     * exit code for results that are not errors (1 a stage failed, 4 a regression). */
    int (*run)(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err);
};

/* Every command, in the order of `lpo -h`; NULL ends the list. */
const struct lpo_command *const *lpo_cli_commands(void);

/* Runs the command named in argv[1]; returns the process's exit code. */
int lpo_cli_main(struct lpo_app *app, int argc, const char *const *argv);

/* What a shell may offer for the next word of a command line.
 *
 * The scripts in completions/ call `lpo __complete WORD…` and hold no list of their own, so a new
 * command, option or config key is offered as soon as its row exists. */

/* The words after "lpo", the last one unfinished (it may be ""). Prints one candidate a line, a tab
 * and its help; prints nothing where a file name is wanted, and the shell then offers files. */
int lpo_cli_complete_main(struct lpo_app *app, int argc, const char *const *argv);

/* `lpo sample-counters`: the process that samples one GPU's counters.
 *
 * Not in `lpo -h`: stage counters starts it, one for each GPU (pipeline/counters/). It prints
 * "ready" when sampling has begun and a line of totals at the end, or one line "failed: …"; it ends
 * when its standard input ends, which it does when lpo dies. */

int lpo_cli_sample_counters_main(struct lpo_app *app, int argc, const char *const *argv);

/* The Model Context Protocol over standard input and output. */

/* Until the client hangs up. Words are the folders and files that may be read. */
int lpo_cli_mcp_serve(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err);
