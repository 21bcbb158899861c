/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/memory/around.h - what was open on a thread at a moment: ranges, modules, functions and
 * operators. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lpo_arena;
struct lpo_trace;

struct lpo_memory_moment {
    int64_t ns;
    int64_t bytes; /* carried along */
    uint32_t thread;
    /* found: */
    const char *place;   /* in the arena; NULL: nothing was open */
    uint32_t op, shapes; /* name ids; LPO_NONE */
    uint32_t sequence;   /* of autograd, where there is no place; LPO_NONE */
    bool backward;       /* the place is that of the forward operator */
};

/* Sorts `moments` by thread and time and fills the rest of them. The backward pass runs on a thread
 * of autograd, where no module is open: the place there is that of the forward operator with the
 * same sequence number. */
void lpo_memory_around(const struct lpo_trace *t, struct lpo_arena *a,
                       struct lpo_memory_moment *moments, size_t count);
