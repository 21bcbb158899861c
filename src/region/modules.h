/* SPDX-License-Identifier: Apache-2.0 */
/* region/modules.h - calls of PyTorch's modules as ranges, for programs that marked nothing.
 *
 * A profiler that records Python stacks (with_stack=True) writes an event for every call of a
 * Python function and of a module ("nn.Module: Linear_3"). As ranges they give any PyTorch program
 * a region tree, below the ranges that the program has itself. A process without modules gets the
 * functions of its own code instead, those that launched something.
 *
 * This is a view: numbers of the trace's own ranges are those of the trace itself. */
#pragma once

#include <stdbool.h>

#include "trace/trace.h"
#include "util/auto.h"

/* The trace with more ranges; everything else is borrowed from it. */
struct lpo_region_modules {
    struct lpo_trace view;
    uint32_t *code;              /* per name: see lpo_trace.code */
    uint64_t modules, functions; /* ranges added */
    uint64_t left_out;           /* beyond MOST_RANGES */
};

/* NULL: the trace has no call of a module and of no function that launched something. */
struct lpo_region_modules *lpo_region_modules_create(const struct lpo_trace *t);
void lpo_region_modules_destroy(struct lpo_region_modules *m); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_modules);
