/* SPDX-License-Identifier: Apache-2.0 */
/* region/calls.h - the single calls of regions, and which of them each launch was made in.
 *
 * A tree sums all calls of a region. This is for whoever wants them one by one. Push/pop regions
 * only, and only calls in which something was launched. No calls where the reader has summed the
 * ranges (a trace with more of them than memory), where a source gives the place of a launch
 * itself, and where the ranges around a launch overlap without nesting. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;

struct lpo_region_call {
    int64_t start_ns;
    uint32_t node;   /* of the tree */
    uint32_t parent; /* the call around it: a smaller row; LPO_NONE at the top */
};

struct lpo_region_call_list {
    LPO_VEC(struct lpo_region_call) rows;
    uint32_t *launch; /* per launch of the trace: the innermost call; LPO_NONE: not known */
};

struct lpo_region_call_list *lpo_region_call_list_create(const struct lpo_region_tree *tree);
void lpo_region_call_list_destroy(struct lpo_region_call_list *c); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_call_list);
