/* SPDX-License-Identifier: Apache-2.0 */
/* region/fold.h - rows that differ only in numbers, shown as one.
 *
 * `layer0` … `layer31` under one region become `layer*`, and what lies under them is put together
 * by the same rule, so that its part `attn` stands for 32 regions. A family is folded when it has
 * more than `over` different names; numbers that are the same in all of them stay as they are.
 *
 * PyTorch's emit_nvtx() puts numbers of its own behind the name of an operator (", seq = 1, op_id =
 * 2"): people are shown the name without them, and such ranges are one line however few they are.
 */
#pragma once

#include "region/scope.h"

/* One line of a folded table. */
struct lpo_fold_row {
    struct lpo_region_row sum; /* node, parent_row and kernels are those of the first member */
    const char *name;          /* last part of the path, folded */
    const char *path;          /* the whole path, folded: a pattern that selects the regions */
    unsigned depth;
    uint32_t members;                  /* regions in this line */
    uint32_t first;                    /* of them, visited once each: the row of the scope that is
                                          the first call of all; LPO_NONE: none is */
    int64_t min_ns, median_ns, max_ns; /* GPU time of one member; host time where no GPU ran */
};

struct lpo_region_fold {
    LPO_VEC(struct lpo_fold_row) rows;
    uint32_t *line_of; /* per row of the scope: the row here that it went into */
    struct lpo_arena *arena;
};

/* over = SIZE_MAX folds nothing. Borrows the scope. */
struct lpo_region_fold *lpo_region_fold_create(const struct lpo_region_scope *scope, size_t over);
void lpo_region_fold_destroy(struct lpo_region_fold *f); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_fold);

/* The part of a range's name that people are shown: without the numbers of emit_nvtx(). */
size_t lpo_region_shown_len(const char *name, size_t len);
/* The path of a region as people are shown it, of its innermost `levels`; "…/" stands for the rest.
 */
void lpo_region_add_shown_path(const struct lpo_region_tree *tree, uint32_t node, size_t levels,
                               struct lpo_str *out);
