/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/spelling.h - older names of keys, moved to where the keys are today.
 *
 * The table (struct lpo_spelling, compose.h) comes from the caller: this room has no key of its
 * own. Each renaming appends a text to `warnings`. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_node;
struct lpo_override;
struct lpo_spelling;

/* Moves old keys of a config to where they are now. */
void lpo_spelling_move(struct lpo_arena *a, const struct lpo_spelling *table, struct lpo_node *root,
                       struct lpo_node *warnings);
/* Gives overrides their new keys. */
void lpo_spelling_rename(struct lpo_arena *a, const struct lpo_spelling *table,
                         struct lpo_override *overrides, size_t count, struct lpo_node *warnings);
