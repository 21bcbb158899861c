/* SPDX-License-Identifier: Apache-2.0 */
/* settings/settings.h - the value of a key: from the config, or its default from the table.
 *
 * A getter takes the full path of a key ("run.repeats") and finds the default in
 * schema_rows.c. A key without a row, or a row of another type, is a mistake in our code: an
 * assert stops it, and tests/settings/test_uses.py reads all sources for it.
 *
 * The default is used where the config does not have the key, and where its value has the wrong
 * kind, which only a config that never passed lpo_settings_schema_check() can hold (a report reads
 * such ones from the run folders of others). `config` may be NULL: then all is default. */
#pragma once

#include "settings/schema.h"

struct lpo_node;

/* The words of a list; the arena owns them. */
struct lpo_settings_words {
    const char **at;
    size_t len;
};

bool lpo_settings_bool(const struct lpo_node *config, const char *key);
int64_t lpo_settings_int(const struct lpo_node *config, const char *key);         /* 0: null */
double lpo_settings_real(const struct lpo_node *config, const char *key);         /* 0: null */
const char *lpo_settings_text(const struct lpo_node *config, const char *key);    /* NULL: null */
int64_t lpo_settings_duration_ns(const struct lpo_node *config, const char *key); /* 0: null */
/* Any of the types that are lists. */
struct lpo_settings_words lpo_settings_list(struct lpo_arena *a, const struct lpo_node *config,
                                            const char *key);
/* The same as one word with commas; NULL when the list is empty. */
const char *lpo_settings_joined(struct lpo_arena *a, const struct lpo_node *config,
                                const char *key);
/* A scalar of any type as a word of a command line; NULL: null. */
const char *lpo_settings_word(struct lpo_arena *a, const struct lpo_node *config, const char *key);
/* The map at an open key (workload.env); NULL when it is null, absent or no map. */
const struct lpo_node *lpo_settings_map(const struct lpo_node *config, const char *key);
/* Whether the key has a value other than null, in the config or by default. */
bool lpo_settings_is_set(const struct lpo_node *config, const char *key);

/* The defaults as a config, for lpo_compose_in.defaults: what a preset or a config of the user does
 * not state comes from the table alone. */
struct lpo_node *lpo_settings_defaults(struct lpo_arena *a);

/* A scalar node as text; NULL for null, lists and maps. */
const char *lpo_settings_node_word(struct lpo_arena *a, const struct lpo_node *node);

/* A struct of settings, filled from a table:
 *
 *     struct nsys_settings { bool sqlite; struct lpo_settings_words stats; };
 *     static const struct lpo_settings_field fields[] = {
 *         LPO_SETTING(nsys_settings, sqlite, LPO_S_BOOL, "pipeline.nsys.export_sqlite"),
 *         LPO_SETTING(nsys_settings, stats, LPO_S_WORDS, "pipeline.nsys.stats"),
 *     };
 *
 * The member's C type follows from the type: bool, int64_t (integers, durations in ns), double,
 * const char *, struct lpo_settings_words for every list, const struct lpo_node * for a map. */
struct lpo_settings_field {
    const char *key;
    enum lpo_schema_type type;
    size_t offset;
};

#define LPO_SETTING(owner, member, type, key)                                                      \
    {                                                                                              \
        key, type, offsetof(struct owner, member)                                                  \
    }

void lpo_settings_fill(struct lpo_arena *a, const struct lpo_node *config,
                       const struct lpo_settings_field *fields, size_t count, void *out);
