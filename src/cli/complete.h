/* SPDX-License-Identifier: Apache-2.0 */
/* cli/complete.h - what a shell may offer for the next word of a command line.
 *
 * The scripts in completions/ call `lpo __complete WORD…` and hold no list of their own, so a new
 * command, option or config key is offered as soon as its row exists. */
#pragma once

struct lpo_app;

/* The words after "lpo", the last one unfinished (it may be ""). Prints one candidate a line, a tab
 * and its help; prints nothing where a file name is wanted, and the shell then offers files. */
int lpo_cli_complete_main(struct lpo_app *app, int argc, const char *const *argv);
