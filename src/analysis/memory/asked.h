/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/memory/asked.h - who asked for memory at a moment: the ranges, modules, functions and
 * operators that were open on the thread. Private to memory/. */
#pragma once

#include "util/base.h"

struct lpo_trace;

struct lpo_memory_moment {
    int64_t ns;
    int64_t bytes; /* carried along */
    uint32_t thread;
    /* found: */
    const char *place;   /* in the arena; NULL: nothing was open */
    uint32_t op, shapes; /* name ids; LPO_NONE */
    bool backward;       /* the place is that of the forward operator */
};

/* Fills the rest of each moment. The backward pass runs on a thread of autograd, where no module is
 * open: the place there is that of the forward operator with the same sequence number. */
void lpo_memory_asked(const struct lpo_trace *t, struct lpo_arena *a,
                      struct lpo_memory_moment *moments, size_t count);
