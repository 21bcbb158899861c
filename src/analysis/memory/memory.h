/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/memory/memory.h - the most memory that was in use at one time, and who had asked for it.
 *
 * Of every allocator of a trace: the moment at which most was allocated (of equal moments the
 * first), and what was in use then, by owner. An owner is a place in the program, an operator and
 * its shapes. A source with stacks (a memory snapshot) says both itself; of a trace of the profiler
 * they are what was open on the thread that asked: ranges and modules as a path, where there are
 * none the innermost Python function outside of torch, and the outermost operator inside; in the
 * backward pass the place of the forward operator, "layer3/attn (backward)". What was
 * in use before the recording began has no owner. */
#pragma once

#include "util/base.h"

struct lpo_trace;

/* What memory is for (categories.h). */
enum lpo_memory_category {
    LPO_MEMORY_PARAMETERS, /* and buffers: what setting a model up left */
    LPO_MEMORY_GRADIENTS,
    LPO_MEMORY_STATES, /* of an optimizer */
    LPO_MEMORY_ACTIVATIONS,
    LPO_MEMORY_TEMPORARY, /* given back by what asked for it */
    LPO_MEMORY_OTHER,
    LPO_MEMORY_OLDER, /* from before the recording, and nothing says what it is */
    LPO_MEMORY_CATEGORIES,
    LPO_MEMORY_MIXED /* of an owner: several of them */
};

/* "optimizer states"; NULL for _CATEGORIES. */
const char *lpo_memory_category_name(enum lpo_memory_category category);

struct lpo_memory_share {
    const char *place; /* NULL: not known */
    uint32_t op;       /* name ids; LPO_NONE: not known */
    uint32_t shapes;
    uint32_t library; /* the place in an installed package that the program called */
    uint64_t allocations;
    int64_t bytes;
    uint64_t freed;   /* blocks that were given back later */
    int64_t lived_ns; /* of those, summed */
    uint8_t category; /* enum lpo_memory_category; where the row below has categories */
};

struct lpo_memory_peaks_row {
    uint32_t allocator; /* into allocators of the trace */
    uint64_t allocations, frees;
    int64_t first_ns, peak_ns;
    int64_t peak_bytes;                      /* allocated; LPO_NO_TIME: the trace has no totals */
    int64_t reserved_bytes;                  /* at that moment; LPO_NO_TIME */
    int64_t most_reserved;                   /* at any; LPO_NO_TIME */
    int64_t growth_bytes;                    /* most that was in use beside what was at first */
    int64_t largest_bytes;                   /* one allocation */
    int64_t older_bytes;                     /* of the peak: in use before the recording began */
    bool has_owners;                         /* every event was kept, so the list is complete */
    LPO_VEC(struct lpo_memory_share) owners; /* largest first; with older_bytes they are the peak */
    bool has_categories;                     /* an estimate; the sums below are the peak */
    struct lpo_memory_sum {
        int64_t bytes;
        uint64_t blocks;
    } categories[LPO_MEMORY_CATEGORIES];
};

struct lpo_memory_peaks {
    LPO_VEC(struct lpo_memory_peaks_row)
    rows; /* in order of allocators; those without events are
             left out */
    struct lpo_arena *arena;
};

/* Never NULL; without memory events it has no rows. */
struct lpo_memory_peaks *lpo_memory_peaks_create(const struct lpo_trace *t);
void lpo_memory_peaks_destroy(struct lpo_memory_peaks *p); /* NULL is fine */
