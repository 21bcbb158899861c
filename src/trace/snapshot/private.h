/* SPDX-License-Identifier: Apache-2.0 */
/* trace/snapshot/private.h - the pieces of the readers of what torch leaves beside traces.
 *
 * snapshot.c reads memory snapshots: segments.c what the allocator held when it was taken;
 * history.c what it did before; owners.c who asked for it. flight.c and graph_nodes.c read others
 * of its files. */
#pragma once

#include "trace/snapshot/pickle.h"

struct lpo_map_u64;
struct lpo_trace;

/* A block in use at the end. */
struct snapshot_block {
    uint64_t address;
    int64_t bytes;  /* as asked for */
    uint32_t owner; /* into memory_owners, or LPO_NONE */
};

struct snapshot_gpu {
    int32_t id;                               /* as the file numbers it */
    uint32_t allocator;                       /* into allocators */
    int64_t requested, active, reserved;      /* at the end, in bytes */
    int64_t pool_active[2], pool_reserved[2]; /* of them in small and large blocks and segments */
    LPO_VEC(struct snapshot_block) blocks;
};

struct snapshot {
    struct lpo_trace *t;
    uint64_t steps,
        most_steps;   /* values looked at: a small file may name one list a million times */
    uint64_t damaged; /* values that cannot be */
    LPO_VEC(struct snapshot_gpu) gpus;
    struct lpo_map_u64 *owners; /* list of frames to owner: equal stacks are one list */
};

/* Of memory: more is damage. Sums of as many as a file can have are checked. */
#define SNAPSHOT_MOST_BYTES ((int64_t)1 << 50)

/* That a file of this size may ask for. */
uint64_t lpo_snapshot_most_steps(const struct lpo_pickle *p);
/* One more value; false: the file asks for more work than its size allows. */
bool lpo_snapshot_step(struct snapshot *s);
/* The GPU of this number, made when new; NULL: it cannot be one, or there are too many. */
struct snapshot_gpu *lpo_snapshot_gpu(struct snapshot *s, int64_t id);
/* A size of the dict, or -1 (counted as damaged) where it cannot be one. */
int64_t lpo_snapshot_bytes(struct snapshot *s, const struct lpo_pickle_value *dict,
                           const char *key);
/* *sum + bytes where that cannot overflow. */
void lpo_snapshot_add(struct snapshot *s, int64_t *sum, int64_t bytes);

void lpo_snapshot_segments(struct snapshot *s, const struct lpo_pickle_value *segments);
/* After the segments: the end is known, and so every moment before it. */
void lpo_snapshot_history(struct snapshot *s, const struct lpo_pickle_value *device_traces);
/* Row of memory_owners for a list of frames; LPO_NONE: no stack was recorded. */
uint32_t lpo_snapshot_owner(struct snapshot *s, const struct lpo_pickle_value *frames);
