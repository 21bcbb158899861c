/* SPDX-License-Identifier: Apache-2.0 */
/* cli/options.h - the words after a command: options by table, all other words in order.
 *
 * A command lists its options as rows; parsing, `-h` text and the check of its page in docs/ come
 * from those rows. Options may stand anywhere before `--`; what follows `--` is kept apart. */
#pragma once

#include "util/base.h"

struct lpo_app;

enum lpo_option_kind {
    LPO_OPT_FLAG, /* present or not */
    LPO_OPT_TEXT, /* takes a value: --name V or --name=V; the last one wins */
    LPO_OPT_LIST, /* as TEXT, may be given again */
};

struct lpo_option {
    const char *name; /* "config-dir", without dashes; NULL ends the table */
    char letter;      /* 'c', or 0 */
    enum lpo_option_kind kind;
    const char *value; /* the name of the value in the help: "DIR" */
    const char *help;
};

struct lpo_args {
    const struct lpo_option *table;
    const char **values; /* per row: the value, "" for a flag that was given, NULL if not */
    const char ***lists; /* per row of kind LIST: NULL-terminated */
    const char **words;  /* everything that is not an option, NULL-terminated */
    size_t nwords;
    const char **rest; /* after `--`, NULL-terminated; NULL when there was no `--` */
    size_t nrest;
};

/* argv excludes the command's own name. Unknown options name the nearest known one. */
int lpo_cli_args_parse(struct lpo_app *app, const struct lpo_option *table, int argc,
                       const char *const *argv, struct lpo_args *out, struct lpo_err *err);

/* Options that every command has, and that may stand before the command too: --debug, --limit N.
 * How many words were used: 0 when argv[0] is another option; LPO_E_USAGE for a wrong value. */
int lpo_cli_common_option(struct lpo_app *app, int argc, const char *const *argv,
                          struct lpo_err *err);

bool lpo_cli_args_has(const struct lpo_args *args, const char *name);
const char *lpo_cli_args_text(const struct lpo_args *args, const char *name, const char *fallback);
const char *const *lpo_cli_args_list(const struct lpo_args *args,
                                     const char *name); /* never NULL */
