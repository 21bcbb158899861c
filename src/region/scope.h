/* SPDX-License-Identifier: Apache-2.0 */
/* region/scope.h - the region table of one scope: everything, one process, one device, one rank.
 *
 * Rows stand in the order of a walk down the tree, most expensive first among siblings, then
 * start/end regions, and `(outside)` last. GPU time and launches are those of kernels; copies and
 * memsets are kept beside them. Inclusive counts children, exclusive does not: a parent's inclusive
 * time is its own exclusive time plus its children's inclusive times, to the nanosecond. */
#pragma once

#include "region/cells.h"

struct lpo_region_selection;

enum lpo_scope_kind { LPO_SCOPE_ALL, LPO_SCOPE_PROCESS, LPO_SCOPE_DEVICE, LPO_SCOPE_RANK };

struct lpo_scope_id {
    enum lpo_scope_kind kind;
    int32_t index; /* row of processes or devices; the rank itself */
};

typedef LPO_VEC(struct lpo_scope_id) lpo_scope_ids;

/* The scopes of a trace that hold anything, aggregate first, as many as the budget allows. The
 * caller frees the vector. */
void lpo_region_scopes_list(const struct lpo_region_cells *cells, lpo_scope_ids *out);
/* Appends "aggregate", "process:123", "device:0", "rank:3". */
void lpo_region_scope_add_name(const struct lpo_trace *t, struct lpo_scope_id id,
                               struct lpo_str *out);

/* A kernel inside one region. */
struct lpo_kernel_row {
    struct lpo_sum all;  /* in the region and its children */
    struct lpo_sum self; /* in the region alone */
    uint32_t node;       /* LPO_NODE_OUTSIDE for `(outside)` */
    uint32_t name;
};

#define LPO_NODE_OUTSIDE UINT32_MAX

struct lpo_region_row {
    struct lpo_sum all, self;  /* kernels */
    struct lpo_sum copies;     /* copies and memsets, children included */
    struct lpo_sum captured;   /* graph kernels that were captured in this region */
    struct lpo_sum adopted;    /* kernels of threads without ranges; in no other sum here */
    struct lpo_sum backward;   /* kernels of backward operators whose forward ran here */
    struct lpo_sum recomputed; /* forward work that such an operator did again; not in `backward` */
    uint64_t visits;
    int64_t host_ns, host_self_ns;
    uint64_t firsts; /* first visits, one for each process; 0: not known for all of them */
    int64_t first_host_ns, first_gpu_ns; /* their part of host_ns, and of the kernels' time */
    uint64_t open;                       /* visits never closed */
    uint32_t node;                       /* LPO_NODE_OUTSIDE for `(outside)` */
    uint32_t parent_row;          /* LPO_NONE at the top, or when the parent was not selected */
    uint32_t kernels;             /* first row in `kernels`, most expensive first */
    uint32_t nkernels;            /* distinct kernels, children included */
    uint32_t metrics;             /* row of metric_sums, or LPO_NONE */
    uint32_t metrics_self;        /* the same without children; only where counters were sampled */
    uint32_t metrics_captured;    /* those of `captured`; only where counters were sampled */
    uint64_t measured, estimated; /* launches with counters of their own, of a representative */
    bool visits_known;            /* the source recorded when ranges were entered */
};

/* One call of a region: the mean of first visits, and of later ones. */
struct lpo_region_calls {
    int64_t first_host_ns, later_host_ns;
    int64_t first_gpu_ns, later_gpu_ns; /* LPO_NO_TIME: not known for this scope */
    bool differ; /* the first take at least twice as long, and long enough to change the mean by a
                    twentieth: what all calls took says little about the next one */
};

/* What became of the GPU time of a scope. */
struct lpo_coverage {
    struct lpo_sum total;      /* kernels; each counted once */
    struct lpo_sum in_region;  /* inside at least one region */
    struct lpo_sum outside;    /* launched outside every region */
    struct lpo_sum adopted;    /* part of it: launched while one other thread was in a region */
    struct lpo_sum backward;   /* launched by backward operators whose forward ran in a region */
    struct lpo_sum recomputed; /* forward work that was done again, in a region or not */
    struct lpo_sum no_launch;  /* no launch record: the region is unknown */
    struct lpo_sum copies, sets;
    uint64_t measured, estimated; /* launches with counters of their own, of a representative */
};

struct lpo_region_scope {
    struct lpo_scope_id id;
    const struct lpo_region_cells *cells;
    LPO_VEC(struct lpo_region_row) rows;
    LPO_VEC(struct lpo_kernel_row) kernels;
    LPO_VEC(struct lpo_metric_sum) metric_sums;
    struct lpo_coverage coverage;
    bool borrowed;             /* the rows are those of the aggregate */
    uint64_t kernels_left_out; /* in lists of outer regions, beyond the budget (util/budget.h) */
};

/* `select` may be NULL. Rows of regions that are not selected are left out; totals stay. */
struct lpo_region_scope *lpo_region_scope_create(const struct lpo_region_cells *cells,
                                                 struct lpo_scope_id id,
                                                 struct lpo_region_selection *select);
/* Does this scope hold all there is? Then lpo_region_scope_alias() saves its tables: a program of
 * one process on one GPU has three scopes with the same rows, and may have a million of them. */
bool lpo_region_scope_is_all(const struct lpo_region_cells *cells, struct lpo_scope_id id);
/* `all` under another name; `all` must outlive it. */
struct lpo_region_scope *lpo_region_scope_alias(const struct lpo_region_scope *all,
                                                struct lpo_scope_id id);
void lpo_region_scope_destroy(struct lpo_region_scope *s); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_scope);

/* Appends the path of a row: "decode/layer0", "(outside)". */
void lpo_region_row_add_path(const struct lpo_region_scope *s, const struct lpo_region_row *row,
                             struct lpo_str *out);
const char *lpo_region_row_kind(const struct lpo_region_scope *s, const struct lpo_region_row *row);
/* "model.py(45): forward" of a module or a function; NULL: not known. */
const char *lpo_region_row_source(const struct lpo_region_scope *s,
                                  const struct lpo_region_row *row);
unsigned lpo_region_row_depth(const struct lpo_region_scope *s, const struct lpo_region_row *row);
/* False where the first visits are not known, or there is no later one. */
bool lpo_region_row_calls(const struct lpo_region_scope *s, const struct lpo_region_row *row,
                          struct lpo_region_calls *out);
