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

#include "util/base.h"

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

/* A table of ours as words to values (const char *, as a number): the rows of `value` alone where
 * it is not NULL. Made once; never NULL. */
const struct lpo_map *lpo_rules_words(const char *name, const char *table, const char *value);
/* Is the word in the rows of `value`? */
bool lpo_rules_has(const char *name, const char *table, const char *value, const char *word);
/* The value of a word there; NULL: it is none of them. */
const char *lpo_rules_value(const struct lpo_map *words, const char *word, size_t len);

/* Rows into structs, by a table of their members. */
enum lpo_rules_kind {
    LPO_RULES_TEXT, /* const char * */
    LPO_RULES_FLAG, /* bool */
    LPO_RULES_INT,  /* int; where there are `words`, the number of the one that is said */
    LPO_RULES_SET,  /* unsigned: a bit for each of the `words` that is said */
    LPO_RULES_SIZE, /* size_t */
    LPO_RULES_ROW,  /* const void *: a row of the table `of`, by its name */
};

struct lpo_rules_table;

struct lpo_rules_member {
    const char *key;
    size_t at;
    enum lpo_rules_kind kind;
    const char *const *words;         /* NULL at its end; NULL: none */
    const struct lpo_rules_table *of; /* of a row; its `base` is that of the rows themselves */
};

/* A row is a map of keys, or a list in the order of the members. What it does not say is 0. It has
 * a name (`as`) where others refer to it, and takes the keys of its `base` first. */
struct lpo_rules_table {
    const char *file, *name, *bases; /* "families", "decoders", "decoder_bases" or NULL */
    const struct lpo_rules_member *members;
    size_t nmembers, size; /* of the struct */
    char *rows;            /* NULL: not asked for yet */
};

#define LPO_RULES_MEMBER(type, kind, member)                                                       \
    {                                                                                              \
#member, offsetof(struct type, member), LPO_RULES_##kind, NULL, NULL                       \
    }
#define LPO_RULES_TABLE(file, name, members, type)                                                 \
    {                                                                                              \
        file, name, NULL, members, sizeof(members) / sizeof *(members), sizeof(struct type), NULL  \
    }

/* All rows, made once. From any thread. */
const void *lpo_rules_rows(struct lpo_rules_table *t, size_t *count);
