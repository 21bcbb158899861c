/* SPDX-License-Identifier: Apache-2.0 */
/* rules/rules.h - rules as data: what kernels, operators, steps, clients and metrics are called.
 *
 * The files are conf/rules/<name>.yaml. They are part of the program, and one is parsed when it is
 * first asked for: a command that asks for none pays nothing. A file of the user has the same
 * grammar, with the tables of all of ours. A table is a list of rows; what a row says is a matter
 * of whoever asks for it. Most say
 *
 *     - VALUE: WORD WORD …
 *
 * which lpo_rules_each() walks word by word, in order. Where rows are maps of more keys (clients),
 * their reader takes the nodes. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_err;
struct lpo_node;

/* "kernels": all tables of that file, as they were written; never NULL. From any thread. */
const struct lpo_node *lpo_rules(const char *name);

/* The tables of a file of the user. A table that no file of ours has is an error. */
int lpo_rules_read(struct lpo_arena *a, const char *path, const struct lpo_node **out,
                   struct lpo_err *err);

/* One word of a row; both texts live as long as the file. A negative code ends the walk. */
typedef int lpo_rules_word_fn(void *ctx, const char *value, const char *word, size_t len,
                              struct lpo_err *err);

/* Walks a table row by row: `word` is all that stands behind the value. One that is not there has
 * no rows. Errors name the row. */
int lpo_rules_each_row(const struct lpo_node *file, const char *table, lpo_rules_word_fn *fn,
                       void *ctx, struct lpo_err *err);
/* The same word by word. */
int lpo_rules_each(const struct lpo_node *file, const char *table, lpo_rules_word_fn *fn, void *ctx,
                   struct lpo_err *err);

struct lpo_map;

/* A table of ours as words to values (const char *, as a number): the rows of `value` alone where
 * it is not NULL. Made once; never NULL. */
const struct lpo_map *lpo_rules_words(const char *name, const char *table, const char *value);
/* The value of a word there; NULL: it is none of them. */
const char *lpo_rules_value(const struct lpo_map *words, const char *word, size_t len);
