/* SPDX-License-Identifier: Apache-2.0 */
/* trace/memory.h - peaks of memory in a trace of torch.profiler (profile_memory=True).
 *
 * Every allocation is an instant named "[memory]" with the size and, since 2021, the allocator's
 * totals. The event model has no place for them, and few reports want them: so they are read in a
 * pass of their own, by those who do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/measure.h"
#include "util/vec.h"

struct lpo_err;

struct lpo_memory_peak {
    int64_t type;   /* torch's device type: 0 CPU, 1 CUDA, 6 HIP */
    int64_t device; /* -1 on the host */
    uint64_t allocations, frees;
    struct lpo_measure allocated;    /* most bytes in use at one time; unknown in old traces */
    struct lpo_measure reserved;     /* most bytes the allocator held */
    int64_t largest_bytes;           /* of one allocation */
    int64_t now_bytes, growth_bytes; /* since recording began, at the end and at most */
};

struct lpo_kineto_memory {
    LPO_VEC(struct lpo_memory_peak) rows; /* by type and device; at most 64 */
    uint64_t events;
};

/* Does the beginning of the file say that memory was recorded? Writers since 2021 do. */
bool lpo_kineto_has_memory(const char *path);

/* Adds what the file says; a file that is cut or torn gives what was read before. The caller frees
 * with lpo_kineto_memory_free. */
int lpo_kineto_memory(const char *path, struct lpo_kineto_memory *into, struct lpo_err *err);
void lpo_kineto_memory_free(struct lpo_kineto_memory *m);
const char *lpo_kineto_memory_type(int64_t type); /* "CPU", "GPU", "other" */
