/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/numbers/numbers.h - numbers that the program gave (tokens, batch sizes), by region.
 *
 * A number belongs to the innermost region that was open on its thread; regions around it do not
 * hold it, since they may count the same thing themselves. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;

struct lpo_numbers_row {
    uint32_t node; /* of the tree; LPO_NODE_OUTSIDE: given in no region */
    uint32_t name; /* LPO_NONE: the payload of the range itself */
    uint64_t count;
    double sum, least, most;
};

struct lpo_numbers {
    LPO_VEC(struct lpo_numbers_row) rows; /* in the order of nodes, then of names */
};

/* Never NULL. */
struct lpo_numbers *lpo_numbers_create(const struct lpo_region_tree *tree);
void lpo_numbers_destroy(struct lpo_numbers *n); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_numbers);

/* The first of the `*count` rows of a region. */
const struct lpo_numbers_row *lpo_numbers_of(const struct lpo_numbers *n, uint32_t node,
                                             size_t *count);
