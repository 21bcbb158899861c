/* SPDX-License-Identifier: Apache-2.0 */
/* region/cells.h - all GPU operations of a trace, summed once by place, name, process and device.
 *
 * A million kernels become a few thousand cells; every table of every scope is made from those.
 * Borrows the tree, and through it the trace. */
#pragma once

#include "region/kernel_name/parts.h"
#include "region/tree.h"

struct lpo_region_selection;

struct lpo_sum {
    uint64_t launches;
    uint64_t unknown; /* launches whose duration the source does not give */
    uint64_t shares;  /* launches whose duration is a share of their CUDA graph's */
    int64_t ns;
    int64_t min_ns, max_ns; /* of launches with a time of their own; LPO_NO_TIME: unknown */
    uint64_t bytes;
};

static inline bool lpo_region_sum_known(const struct lpo_sum *s)
{
    return s->launches == 0 || s->launches > s->unknown;
}

/* Is the time put together of shares? Where every kernel counts, a graph's shares add up to its
 * measured time again; for one kernel, or some, the sum is an estimate. */
static inline bool lpo_region_sum_estimated(const struct lpo_sum *s)
{
    return s->shares > 0;
}

void lpo_region_sum_add(struct lpo_sum *to, const struct lpo_sum *from);

/* One metric over some kernels; meaning by enum lpo_combine. weight 0: none had it. */
struct lpo_metric_sum {
    double value, weight;
};

struct lpo_region_cell {
    struct lpo_sum sum;
    uint32_t place;   /* into tree->places */
    uint32_t capture; /* graphs: place of the capture, or LPO_NONE */
    uint32_t links;   /* row of tree->links: 0: in no other place */
    uint32_t name;
    uint32_t metrics;             /* row of metric_sums, or LPO_NONE */
    uint64_t measured, estimated; /* launches with counters of their own, of a representative */
    uint16_t process, device;     /* LPO_NO_OWNER: the source holds only sums */
    uint8_t kind;                 /* enum lpo_gpu_op_kind */
    bool no_launch; /* the source has no launch record: the place is unknown, counted as outside */
};

#define LPO_NO_OWNER UINT16_MAX

/* Launches of one cell that share one row of counters. */
struct lpo_metric_use {
    uint32_t cell, row;
    uint64_t count;
    double weight;
};

/* Cells [first, end) hold all of a process or a device, and maybe others. Cells come file by file,
 * so the spans of ranks do not overlap. */
struct lpo_cell_span {
    size_t first, end;
};

struct lpo_region_cells {
    const struct lpo_region_tree *tree;
    LPO_VEC(struct lpo_region_cell) cells;
    struct lpo_cell_span *processes, *devices;  /* per row of the trace; NULL: not found */
    LPO_VEC(struct lpo_metric_sum) metric_sums; /* rows as wide as the trace has metrics */
    uint64_t left_out;                          /* kernels that the selection refused */
    uint64_t whole;                             /* GPU operations that stand for many kernels */
    uint64_t shares;                            /* kernels timed by their share of a CUDA graph */
    uint64_t shared_copies;                     /* copies and memsets likewise */
    unsigned char *classes;                     /* per name of the trace; kernels only */
    struct lpo_cell_names *names;               /* short ones, made when first asked for */
    uint32_t *linkers;                          /* the same; LPO_NONE: one name for several */
    LPO_VEC(struct lpo_metric_use) uses;        /* while building */
    struct lpo_map_u64 *use_map;                /* while building: cell and row to use */
    struct lpo_map_pair map, owners;
    struct lpo_map_pair besides; /* capture and links, where there are any links */
};

/* `select` may be NULL: every kernel. Copies and memsets are never selected away. */
struct lpo_region_cells *lpo_region_cells_create(const struct lpo_region_tree *tree,
                                                 struct lpo_region_selection *select);
void lpo_region_cells_destroy(struct lpo_region_cells *c); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_cells);

/* Do the kernels that count leave out a part of some CUDA graph? Then the shares of the others are
 * no measured time. */
static inline bool lpo_region_cells_parted(const struct lpo_region_cells *c)
{
    return c->left_out || c->shared_copies;
}

/* Of a kernel that some cell names. */
enum lpo_region_kernel_class lpo_region_cells_class(const struct lpo_region_cells *c,
                                                    uint32_t name);
/* Its short name (kernel_name/short.h), different from that of every other kernel here. */
const char *lpo_region_cells_short_name(const struct lpo_region_cells *c, uint32_t name);
/* What tables for people show: the short name, or the whole one where that was asked for. */
const char *lpo_region_cells_shown_name(const struct lpo_region_cells *c, uint32_t name);
/* Its linker name, by which one kernel is the same in every source; 0 ("") when not given. */
uint32_t lpo_region_cells_linker(const struct lpo_region_cells *c, uint32_t name);

/* Adds `from` to `to` by the metric's rule. */
void lpo_region_metric_merge(enum lpo_combine rule, struct lpo_metric_sum *to,
                             const struct lpo_metric_sum *from);
double lpo_region_metric_value(enum lpo_combine rule,
                               const struct lpo_metric_sum *m); /* NaN: unknown */

/* Kernels counted by name over a whole trace, most expensive first. */
struct lpo_top_row {
    struct lpo_sum sum;
    uint32_t name;
    double share; /* of the GPU time of all kernels, 0 … 1; 0 when none is known */
};

typedef LPO_VEC(struct lpo_top_row) lpo_top_rows;

/* Rows of the given kind of GPU operation; the caller frees the vector. */
void lpo_region_top(const struct lpo_region_cells *cells, enum lpo_gpu_op_kind kind,
                    lpo_top_rows *out);
