/* SPDX-License-Identifier: Apache-2.0 */
/* region/links.h - other places of a launch, beside the one that counts.
 *
 * The place of a launch is the ranges open on its own thread. Two more are worth knowing, and
 * neither changes the first:
 * - adopted: a launch in no range at all, from a thread without ranges (autograd's backward thread,
 *   the workers of a server), made while exactly one other thread of the process had a range open
 *   around the whole call: that thread's ranges. Two such threads: nobody knows, and it is not
 *   adopted. Where the trace says which thread ran the forward of a backward operator, and that
 *   thread is one of the two, it is that one.
 *
 * - forward: a launch in a backward operator (backward.h): the ranges around its forward operator.
 *   Where that one ran in none, because it was recomputed, those of the backward operator that
 *   recomputed it.
 *
 * Private to region/. A lookup asks the sweep of attribute.c which ranges of a thread hold a
 * stretch of time; it is answered when the sweep of that thread comes there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "region/backward.h"
#include "util/vec.h"

struct lpo_region_tree;

struct lpo_region_lookup {
    int64_t start_ns, end_ns;
    uint32_t thread; /* whose ranges */
    uint32_t asker;  /* a launch, or a row of backward operators */
    bool forward;    /* it is the latter: asks for the region of its forward */
    uint32_t node;   /* the answer: the innermost range that holds it all; LPO_NONE: none */
};

typedef LPO_VEC(struct lpo_region_lookup) lpo_region_lookups;

/* Adds a lookup for each launch that one thread can adopt (adopt.c); `sets` as in attribute.h, may
 * be NULL. n log n. */
void lpo_region_adopt(const struct lpo_region_tree *tree, const uint32_t *sets,
                      const struct lpo_region_backward *backward, lpo_region_lookups *out);
/* Adds one for each backward operator. */
void lpo_region_links_ask(const struct lpo_trace *t, const struct lpo_region_backward *backward,
                          lpo_region_lookups *out);

/* By thread, then time: the order of the sweep. */
void lpo_region_lookups_sort(lpo_region_lookups *all);
/* After the sweep: the answers become rows of tree->links. */
void lpo_region_links_fill(struct lpo_region_tree *tree, const struct lpo_region_backward *backward,
                           const lpo_region_lookups *answers);
