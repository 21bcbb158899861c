/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsys/private.h - what the parts of the nsys reader share while one file is read. */
#pragma once

#include "trace/nsys/tables.h"

struct lpo_map_u64;
struct lpo_nsys_ranges;

struct lpo_nsys_reading {
    const struct lpo_nsys_tables *db;
    struct lpo_trace *t;
    int64_t shift_ns; /* from this file's clock to the trace's */
    size_t first_gpu_op, first_range;

    struct lpo_map_u64 *processes; /* globalPid >> 24 to row of t->processes */
    struct lpo_map_u64 *pids;      /* pid to the machine (hardware and vm bits) that has it */
    struct lpo_map_u64 *threads;   /* globalTid to row of t->threads */
    uint64_t last_gid, last_gtid;
    uint32_t last_process, last_thread;

    struct lpo_map_u64 *gpus;       /* process << 32 | CUDA ordinal to the GPU's own id */
    bool by_gpu;                    /* ordinals of processes clash: devices go by GPU id */
    LPO_VEC(uint32_t) correlations; /* of the GPU operations from first_gpu_op on; 0: none */
    struct lpo_trace_links *links;  /* by process << 32 | correlation id; NULL until needed */
    struct lpo_map_u64 *captures;   /* graph node id to row of t->captures */
    LPO_VEC(uint64_t) nodes;        /* the ids of those rows, from `first_capture` on */
    size_t first_capture;
    struct lpo_nsys_ranges *ranges; /* NULL: not asked for */
};

/* `v` of a column on the trace's clock. Damaged rows may hold any number: bounded, so that sums
 * fit.
 */
static inline int64_t lpo_nsys_shift(const struct lpo_nsys_reading *r, int64_t v)
{
    const int64_t bound = (int64_t)1 << 61;

    if (v > bound)
        v = bound;
    if (v < -bound)
        v = -bound;
    return v + r->shift_ns;
}

static inline int64_t lpo_nsys_time(const struct lpo_nsys_reading *r,
                                    const struct lpo_nsys_rows *rows, int column)
{
    return lpo_nsys_shift(r, lpo_nsys_int(rows, column));
}

/* globalTid and globalPid: hardware:8 vm:8 pid:24 tid:24. */
enum { LPO_NSYS_TID_BITS = 24 };
uint16_t lpo_nsys_process(struct lpo_nsys_reading *r, int64_t global_id);
uint32_t lpo_nsys_thread(struct lpo_nsys_reading *r, int64_t global_tid);
/* The process was alive then. */
void lpo_nsys_alive(struct lpo_nsys_reading *r, uint16_t process, int64_t ns);
uint16_t lpo_nsys_device(struct lpo_nsys_reading *r, uint16_t process, int64_t ordinal);

int lpo_nsys_read_gpus(struct lpo_nsys_reading *r, struct lpo_err *err); /* before GPU operations */
int lpo_nsys_read_names(struct lpo_nsys_reading *r, struct lpo_err *err); /* after all else */
int lpo_nsys_read_gpu_ops(struct lpo_nsys_reading *r, struct lpo_err *err);
int lpo_nsys_read_launches(struct lpo_nsys_reading *r, struct lpo_err *err);
/* Which stream calls waited for; after GPU operations. */
int lpo_nsys_read_waits(struct lpo_nsys_reading *r, struct lpo_err *err);
/* Before any row is read: ranges may come beside others. */
int lpo_nsys_expect_ranges(struct lpo_nsys_reading *r, struct lpo_err *err);
void lpo_nsys_ranges_destroy(struct lpo_nsys_ranges *s); /* NULL is fine */
int lpo_nsys_read_ranges(struct lpo_nsys_reading *r, struct lpo_err *err);
/* When graph nodes were captured, and on which thread: fills t->captures. */
int lpo_nsys_read_nodes(struct lpo_nsys_reading *r, struct lpo_err *err);

/* SQLite on a network disk whose handles go stale.
 *
 * SQLite takes a read that fails with ESTALE for a damaged file, and a table or a column would be
 * missing without a word. Files opened through this layer are opened again by their name and read
 * once more (util/stale.h). For reading only: the layer forwards nothing else than a database that
 * nobody writes needs. */

/* The name for sqlite3_open_v2(), or NULL, SQLite's own, where the layer could not be registered.
 */
const char *lpo_nsys_stale_disk(void);
