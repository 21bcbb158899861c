/* hydra/defaults/tree.h - the tree that defaults lists make; between defaults.c, which grows it,
 * and defaults_rows.c, which reads it off. */
#pragma once

#include "hydra/defaults/defaults.h"
#include "hydra/defaults/entry.h"

struct lpo_tree {
    struct lpo_entry *entry; /* NULL: the root above hydra/config and the primary config */
    struct lpo_tree *parent;
    struct lpo_tree **kids; /* a kid without kids is a leaf */
    size_t count, cap;
};

/* The name of a tree node's config; "<root>" for the root. */
const char *lpo_defaults_tree_config(struct lpo_arena *a, const struct lpo_tree *t);

/* Fills out->rows; a key that appears twice is an error. */
int lpo_defaults_tree_rows(struct lpo_arena *a, const struct lpo_tree *root,
                           struct lpo_defaults *out, struct lpo_err *err);
