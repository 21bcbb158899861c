/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run/words.h - the words of `lpo run`: options that stand for overrides, and a program that
 * was given without `--`. */
#pragma once

#include "cli/options.h"

struct lpo_app;
struct lpo_err;

/* *out: `args` with the overrides that --only and --output stand for among its words. */
int lpo_cli_run_words(struct lpo_app *app, const struct lpo_args *args, struct lpo_args *out,
                      struct lpo_err *err);

/* Before options are parsed, because those of the program are not ours: `lpo run python x.py -v`
 * is answered with the command that was meant. */
int lpo_cli_run_check_program(struct lpo_app *app, const struct lpo_option *table, int argc,
                              const char *const *argv, struct lpo_err *err);
