/* settings/spelling.h - older names of keys, still understood, each with one line of advice.
 *
 * A row maps a dotted path to another; what stands below the old path moves with it. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_node;
struct lpo_override;

struct lpo_spelling {
    const char *old, *now; /* NULL ends the table */
};

/* The table of the shipped config. */
const struct lpo_spelling *lpo_settings_spellings(void);
/* The name of a config today, or NULL when it is not an old one. */
const char *lpo_settings_spelling_config(const char *name);

/* The path a key has today; the same pointer when it is no old one. */
const char *lpo_settings_spelling_path(struct lpo_arena *a, const struct lpo_spelling *table,
                                       const char *path);

/* Moves old keys of a config to where they are now, and gives overrides their new keys. What was
 * changed is told as texts appended to `warnings`. */
void lpo_settings_spelling_move(struct lpo_arena *a, const struct lpo_spelling *table,
                                struct lpo_node *root, struct lpo_node *warnings);
void lpo_settings_spelling_rename(struct lpo_arena *a, const struct lpo_spelling *table,
                                  struct lpo_override *overrides, size_t count,
                                  struct lpo_node *warnings);
