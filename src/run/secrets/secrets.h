/* SPDX-License-Identifier: Apache-2.0 */
/* run/secrets/secrets.h - values that must never reach a file.
 *
 * One table for the whole process, and the one exception from "no globals": bytes leave lpo in many
 * places, and none of them may forget it. The table is filled from the environment (variables of
 * secret names), the command line (words after secret options), the config (values under secret
 * keys, at any level) and what looks like a secret there (shapes.c). From then on every file that
 * lpo_file_write() puts on disk has "(hidden)" where such a value, or what looks like one, stood.
 *
 * A value is hidden by its place too: under a secret key, after a secret option. That covers values
 * that are too plain to be searched for: shorter than 4 characters, numbers, true, cuda, words that
 * lpo itself writes. */
#pragma once

#include "util/base.h"

struct lpo_node;

#define LPO_HIDDEN "(hidden)"

/* --- names.c: which names are those of secrets ---------------------------------------------- */

enum lpo_secret_name {
    LPO_NAME_PLAIN,
    LPO_NAME_SECRET,   /* TOKEN, KEY, AUTH, PAT, PASS: a text is hidden, a number is not */
    LPO_NAME_PASSWORD, /* PASSWORD, SECRET, CREDENTIAL: whatever stands there is hidden */
};

/* A variable, a config key or an option; case and the signs between its words do not matter.
 * max_new_tokens, eos_token, HF_TOKEN_PATH and tokenizer are plain. */
enum lpo_secret_name lpo_secrets_name(const char *name);
bool lpo_secrets_name_is_secret(const char *name);

/* --- table.c: the values, and bytes without them --------------------------------------------- */

/* Adds the secrets of our own environment and hides what the table holds from every file. */
void lpo_secrets_begin(void);
/* Adds a value unless it is too plain to be searched for. `variable`: where a pasted command and
 * --resume take it from. */
void lpo_secrets_add(enum lpo_secret_name name, const char *value, const char *variable);
/* Whether a secret was met at all. */
bool lpo_secrets_any(void);
void lpo_secrets_forget(void); /* tests */

/* Appends the bytes to *out with every secret replaced; false, and nothing appended, where there is
 * none. */
bool lpo_secrets_mask(const void *bytes, size_t len, struct lpo_str *out);
/* The same for a stream that comes in pieces. The first *written bytes were given out before and
 * stand there as what a value is recognised by. Appends what can be decided, with every secret
 * replaced, counts it in *written, and returns how many bytes are not needed any more; all others
 * are to be given again, in front of what comes next. `last`: nothing comes after this. */
size_t lpo_secrets_mask_piece(const char *bytes, size_t len, size_t *written, bool last,
                              struct lpo_str *out, bool *hid);
/* A text as it may be written; `text` itself where nothing is hidden in it. */
const char *lpo_secrets_mask_text(struct lpo_arena *a, const char *text);
/* The same for a text that may have been cut in the middle of a secret. */
const char *lpo_secrets_mask_cut(struct lpo_arena *a, const char *text);
/* A folder's name as it may be made. Folders of the path that exist keep their names. */
const char *lpo_secrets_mask_path(struct lpo_arena *a, const char *path);
/* The value that a variable of the environment gave; NULL: it is not set. */
const char *lpo_secrets_value(const char *variable);

/* --- config.c: configs, overrides, command lines --------------------------------------------- */

/* Appends a word, or a command line, quoted for a shell, with "$VARIABLE" where a secret stood. */
void lpo_secrets_add_shell(struct lpo_str *out, const char *word);
void lpo_secrets_add_command(struct lpo_str *out, const char *const *argv, size_t argc);
/* Whether a command line holds a secret: the number of the word, or -1. */
int lpo_secrets_in_command(const char *const *argv, size_t argc);
/* Adds every secret of a resolved config to the table. */
void lpo_secrets_collect(struct lpo_arena *a, const struct lpo_node *config);
/* A copy as it may be written. `hidden` (may be NULL) gets a row for each value that was changed:
 * {key: workload.env.HF_TOKEN, variables: [HF_TOKEN]}. */
struct lpo_node *lpo_secrets_mask_config(struct lpo_arena *a, const struct lpo_node *config,
                                         struct lpo_node *hidden);
/* The override as it may be written: "workload.env.HF_TOKEN=(hidden)". */
const char *lpo_secrets_mask_override(struct lpo_arena *a, const char *override);
/* The way back, for --resume: puts the values of the environment where a config says "(hidden)".
 * LPO_E_CONFIG, and the key in the message, where a variable is not set. */
int lpo_secrets_restore(struct lpo_arena *a, struct lpo_node *config, const struct lpo_node *hidden,
                        struct lpo_err *err);
