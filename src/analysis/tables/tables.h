/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/tables/tables.h - what was recorded and what was computed of it, as tables.
 *
 * events.c describes the event model, results.c what analyses computed, cells.c has the values that
 * many of them share. Records of report.json, tables of chapters, CSV, `lpo sql`, `lpo export` and
 * docs/tables.md are made from these descriptions. */
#pragma once

#include "region/scope.h"
#include "table/table.h"

struct lpo_analysis;
struct lpo_counters_by_kernel;
struct lpo_hardware;
struct lpo_operator;
struct lpo_rundir;
struct lpo_source;

/* What the tables are opened of: the `of` of a struct lpo_table_source. */
struct lpo_tables_of {
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_analysis *a;
    const struct lpo_hardware *hw; /* NULL: not known */
    struct lpo_arena *arena;       /* of the rows that are made when a table is opened */
};

/* Kept by the arena; `hw` may be NULL. */
const struct lpo_tables_of *lpo_tables_of(struct lpo_arena *arena, const struct lpo_analysis *a,
                                          const struct lpo_hardware *hw);

/* Every table is opened of a struct lpo_tables_of. */
typedef struct lpo_rows lpo_tables_open(const void *of);

/* Events. */
extern const struct lpo_table_kind lpo_tables_slices, lpo_tables_launches, lpo_tables_gpu_ops,
    lpo_tables_memory, lpo_tables_flight;
lpo_tables_open lpo_tables_open_slices, lpo_tables_open_launches, lpo_tables_open_gpu_ops,
    lpo_tables_open_memory, lpo_tables_open_flight;

/* Results. */
extern const struct lpo_table_kind lpo_tables_critical_steps, lpo_tables_regions,
    lpo_tables_kernels, lpo_tables_operators, lpo_tables_steps, lpo_tables_wall, lpo_tables_gaps,
    lpo_tables_collectives, lpo_tables_ranks, lpo_tables_metrics;
lpo_tables_open lpo_tables_open_critical_steps, lpo_tables_open_regions, lpo_tables_open_kernels,
    lpo_tables_open_operators, lpo_tables_open_steps, lpo_tables_open_wall, lpo_tables_open_gaps,
    lpo_tables_open_collectives, lpo_tables_open_ranks, lpo_tables_open_metrics;

/* Some regions of a scope (NULL: the first `count`), and which one a row is. */
struct lpo_rows lpo_tables_scope_regions(const struct lpo_tables_of *of, struct lpo_scope_id scope,
                                         const uint32_t *which, size_t count);
const struct lpo_region_row *lpo_tables_region_row(const struct lpo_rows *regions, size_t i,
                                                   const struct lpo_region_scope **s);
/* As in the table above, of one kind of operation, with what ncu measured (NULL: nothing). */
struct lpo_rows lpo_tables_top(const struct lpo_tables_of *of, enum lpo_gpu_op_kind kind,
                               const struct lpo_counters_by_kernel *measured);
/* Kernels of one region; shares are of its time. */
struct lpo_rows lpo_tables_region_kernels(const struct lpo_tables_of *of,
                                          const struct lpo_region_scope *s,
                                          const struct lpo_region_row *row,
                                          const struct lpo_counters_by_kernel *measured);

/* Operators in other ways than in the table above: one row for each name, most time of its own or
 * in graphs first; the same, most time with all inside first; those that CUDA graphs replayed, with
 * the calls, times and costs of that. */
enum lpo_tables_operators {
    LPO_OPERATORS_BY_SHAPES,
    LPO_OPERATORS_BY_NAME,
    LPO_OPERATORS_BY_TOTAL,
    LPO_OPERATORS_REPLAYED
};
struct lpo_rows lpo_tables_operators_as(const struct lpo_tables_of *of,
                                        enum lpo_tables_operators which);
/* The same rows as what graphs replayed of them. */
struct lpo_rows lpo_tables_as_replayed(const struct lpo_rows *operators);
/* What one row is about. */
const struct lpo_operator *lpo_tables_operator(const struct lpo_rows *operators, size_t i);

/* --- values of other descriptions (cells.c) --- */

struct lpo_rows lpo_tables_rows(const void *of, const struct lpo_table_kind *kind, const void *at,
                                size_t count);
/* The same with a copy of the rows, each of `size` bytes, that lives as long as the tables. */
struct lpo_rows lpo_tables_kept(const void *of, const struct lpo_table_kind *kind, const void *at,
                                size_t count, size_t size);
const struct lpo_analysis *lpo_tables_analysis(const struct lpo_rows *rows);
const struct lpo_trace *lpo_tables_trace(const struct lpo_rows *rows);
struct lpo_cell lpo_tables_name(const struct lpo_rows *rows, uint32_t name); /* LPO_NONE: unknown */
struct lpo_cell lpo_tables_kernel(const struct lpo_rows *rows, uint32_t name); /* shown in short */
struct lpo_cell lpo_tables_region(const struct lpo_rows *rows, uint32_t node); /* its path */
struct lpo_cell lpo_tables_path(const struct lpo_rows *rows, uint32_t node);   /* or (outside) */
struct lpo_cell lpo_tables_region_of(const struct lpo_rows *rows, uint32_t place);
struct lpo_cell lpo_tables_pid(const struct lpo_rows *rows, uint16_t process);
struct lpo_cell lpo_tables_rank(const struct lpo_rows *rows, uint16_t process);
struct lpo_cell lpo_tables_device(const struct lpo_rows *rows, uint16_t device); /* its number */
struct lpo_cell lpo_tables_gpu(const struct lpo_rows *rows, uint16_t device);    /* "0 (rank 3)" */
struct lpo_cell lpo_tables_scope(const struct lpo_rows *rows, uint16_t device);  /* "device:0" */
struct lpo_cell lpo_tables_sum(const struct lpo_sum *s);
/* A time of these launches, and their part of a total. `some`: kernels may be left out, so that
 * shares of graphs are estimates. */
struct lpo_cell lpo_tables_some(const struct lpo_sum *s, int64_t ns, bool some);
struct lpo_cell lpo_tables_part(const struct lpo_sum *s, int64_t total_ns, bool some);
