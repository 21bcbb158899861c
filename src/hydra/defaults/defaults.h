/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/defaults/defaults.h - the defaults list: which configs, in which order, placed where.
 *
 * Hydra 1.3's algorithm: lists are followed from the primary config down, later entries first, so
 * that an `override` is known before the entry it changes; interpolated choices come last. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_choices;
struct lpo_err;
struct lpo_repo;
struct lpo_interp_scope;
struct lpo_tree;

/* One config to merge. */
struct lpo_default_row {
    const char *config;  /* "db/mysql" */
    const char *package; /* "db"; "" is the root */
    const char *parent;  /* the config whose list names it */
    const char *key;     /* lpo_defaults_entry_key() of a group entry, else NULL */
    bool is_self, primary;
};

struct lpo_defaults {
    struct lpo_default_row *rows;
    size_t count;
    struct lpo_tree *tree; /* for `--info defaults-tree` */
};

/* `skip_missing`: an option that is ??? is passed over (while sweeping). `scope` is what an
 * interpolated choice may ask for, and where warnings go. */
int lpo_defaults_list(const struct lpo_interp_scope *scope, struct lpo_repo *repo,
                      const char *config_name, struct lpo_choices *choices, bool skip_missing,
                      struct lpo_defaults *out, struct lpo_err *err);

/* The tree as text, two blanks per level. */
struct lpo_str;
void lpo_defaults_add_tree(struct lpo_arena *a, const struct lpo_tree *tree, struct lpo_str *s);
