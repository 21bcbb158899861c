/* SPDX-License-Identifier: Apache-2.0 */
/* region/select.h - which regions and kernels a report shows.
 *
 * Excludes are asked first and win; no include means all. Region patterns are those of
 * region/pattern/pattern.h. A region is in when it or a region around it is included, and out when
 * it or a region around it is excluded. Kernel patterns (util/pattern.h) are matched against the
 * name as the source prints it. Every pattern counts its matches, so that one that matched nothing
 * can be reported. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;
struct lpo_region_selection;
struct lpo_trace;

enum lpo_select_list {
    LPO_REGIONS_INCLUDE,
    LPO_REGIONS_EXCLUDE,
    LPO_KERNELS_INCLUDE,
    LPO_KERNELS_EXCLUDE,
    LPO_SELECT_LISTS,
};

struct lpo_region_selection *lpo_region_selection_create(void);
void lpo_region_selection_destroy(struct lpo_region_selection *s); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_selection);

int lpo_region_selection_add(struct lpo_region_selection *s, enum lpo_select_list list,
                             const char *pattern, struct lpo_err *err);
/* Whole names of kernels in tables for people, where short ones would stand. */
void lpo_region_selection_set_full_names(struct lpo_region_selection *s, bool yes);
bool lpo_region_selection_full_names(const struct lpo_region_selection *s); /* NULL: no */
bool lpo_region_selection_has(const struct lpo_region_selection *s, enum lpo_select_list list);

/* One flag per name id of the trace, or NULL when every kernel is in. The caller frees. */
bool *lpo_region_selection_kernels(struct lpo_region_selection *s, const struct lpo_trace *t);
/* One flag per node of the tree, or NULL when every region is in. The caller frees. */
bool *lpo_region_selection_regions(struct lpo_region_selection *s,
                                   const struct lpo_region_tree *tree);

/* Calls `say` for every pattern that matched nothing or gave up, with a sentence about it; of a
 * region's, with the nearest name in `tree`. */
void lpo_region_selection_notes(const struct lpo_region_selection *s,
                                const struct lpo_region_tree *tree,
                                void (*say)(void *ctx, const char *text), void *ctx);
