/* SPDX-License-Identifier: Apache-2.0 */
/* region/modules.h - calls of PyTorch's modules as regions, for programs that marked nothing.
 *
 * A profiler that records Python stacks (with_stack=True) writes an event for every call of a
 * Python function and of a module ("nn.Module: Linear_3"). They give any PyTorch program a region
 * tree (lpo_region_tree_create_with()), below the ranges that the program has itself. A process
 * without modules gets the functions of its own code instead, those that launched something.
 *
 * The tree of the ranges alone stays as it is: numbers of the trace's own ranges are the same in
 * both. */
#pragma once

#include "util/base.h"

struct lpo_slice;
struct lpo_trace;

struct lpo_region_modules {
    const struct lpo_trace *trace; /* borrowed */
    unsigned char *sorts;          /* per name: private to modules.c */
    bool *has_modules;             /* per process */
    uint32_t *code; /* per name: that of the function, with file and line, that a module or function
                     * is; LPO_NONE */
    size_t ncode;
};

/* NULL: the trace has no call of a module and of no function that launched something. */
struct lpo_region_modules *lpo_region_modules_create(const struct lpo_trace *t);
void lpo_region_modules_destroy(struct lpo_region_modules *m); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_modules);

/* Is this call of a module or function a region? */
bool lpo_region_is_module(const struct lpo_region_modules *m, const struct lpo_slice *s);
