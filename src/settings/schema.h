/* SPDX-License-Identifier: Apache-2.0 */
/* settings/schema.h - the keys of the shipped config: types, defaults, allowed values, meaning.
 *
 * One table (conf/rules/settings.yaml) serves the check before a run, the getters of settings.h,
 * the JSON Schema for editors and the reference page. To add a key: a row there, a line in conf/.
 */
#pragma once

#include "util/base.h"

struct lpo_json_writer;
struct lpo_node;
struct lpo_spelling;
struct lpo_unlisted;

enum lpo_schema_type {
    LPO_S_BOOL,
    LPO_S_INT,
    LPO_S_REAL, /* integers too */
    LPO_S_TEXT,
    LPO_S_DURATION, /* "10m" */
    LPO_S_WORDS,    /* a list of texts, or one text that commas divide */
    LPO_S_PATTERNS, /* a list of texts, or one text, "A;B"; a comma is part of it
                       ("regex:a{1,2}") */
    LPO_S_ARGS,     /* the same for a command line, where an empty text is a word too */
    LPO_S_TEXTS,    /* a list of texts, empty ones too */
    LPO_S_MAP,      /* closed: only keys that have rows */
    LPO_S_OPEN,     /* a map that may hold anything besides its rows */
};

struct lpo_schema_row {
    const char *path;
    enum lpo_schema_type type;
    const char *fallback; /* the default as text, lists joined by commas; "null"; NULL: none */
    const char *doc;
    const char *values; /* "a|b|c": the only ones; "repeat:*" is a prefix; NULL: any */
    int64_t min;        /* numbers, and durations in ns: the least; INT64_MIN: no bound */
    double from, to;    /* a number between the two, instead of `min`; `to` 0: no such bounds */
    bool nullable;
    bool number; /* texts and words: may be written as an integer, too: calls=3 */
};

/* The table; a map comes before its keys, and all that is below it follows at once. */
const struct lpo_schema_row *lpo_settings_schema_rows(size_t *count);
const struct lpo_schema_row *lpo_settings_schema_find(const char *path); /* NULL: no such key */
/* The row of a key of the map `row`, or NULL. */
const struct lpo_schema_row *lpo_settings_schema_member(const struct lpo_schema_row *row,
                                                        const char *key);

/* Checks a resolved config: unknown keys, types, values, and keys that contradict each other. The
 * error says where the value was written and what is right. Unknown keys become texts in the list
 * `warnings`; NULL: the first is an error. */
int lpo_settings_schema_check(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_node *warnings, struct lpo_err *err);

/* The table as JSON Schema. */
void lpo_settings_schema_write_json(struct lpo_json_writer *w);

/* Older names of our keys, still understood, each with one line of advice.
 *
 * Only the table: hydra/ moves the keys while it composes. */

/* For lpo_compose_in.spellings: the table of the shipped config. */
const struct lpo_spelling *lpo_settings_spellings(void);
/* For lpo_compose_in.unlisted: groups that configs of the older system do not list. */
const struct lpo_unlisted *lpo_settings_unlisted(void);

/* An old name of the primary config: the file that stands for it, and what that switches, in words
 * and as the overrides that do the same to a tree of the user's own. */
struct lpo_old_config {
    const char *name, *file, *stages;
    const char *overrides[5];
};

/* NULL when it is not an old name. */
const struct lpo_old_config *lpo_settings_spelling_config(const char *name);
