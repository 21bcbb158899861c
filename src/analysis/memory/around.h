/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/memory/around.h - what was open on a thread at a moment: ranges, modules, functions and
 * operators. */
#pragma once

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
};

/* Sorts `moments` by thread and time and fills the rest of them. */
void lpo_memory_around(const struct lpo_trace *t, struct lpo_arena *a,
                       struct lpo_memory_moment *moments, size_t count);
