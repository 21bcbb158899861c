/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/tables/tables.h - what was recorded and what was computed of it, as tables.
 *
 * events.c describes the event model, results.c what analyses computed. A description here is what
 * JSON, `lpo sql`, `lpo export` and docs/tables.md say of a table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "table/table.h"

struct lpo_analysis;
struct lpo_arena;
struct lpo_hardware;
struct lpo_region_cells;
struct lpo_rundir;
struct lpo_source;
struct lpo_top_row;

/* What the tables are opened of: the `of` of a struct lpo_table_source. */
struct lpo_tables_of {
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_analysis *a;
    const struct lpo_hardware *hw; /* NULL: not known */
    struct lpo_arena *arena;       /* of the rows that are made when a table is opened */
};

typedef bool lpo_tables_open(const void *of, struct lpo_rows *out);

/* Events. */
extern const struct lpo_table_kind lpo_tables_slices, lpo_tables_launches, lpo_tables_gpu_ops,
    lpo_tables_memory, lpo_tables_flight;
lpo_tables_open lpo_tables_open_slices, lpo_tables_open_launches, lpo_tables_open_gpu_ops,
    lpo_tables_open_memory, lpo_tables_open_flight;

/* Results. */
extern const struct lpo_table_kind lpo_tables_regions, lpo_tables_kernels, lpo_tables_operators,
    lpo_tables_steps, lpo_tables_wall, lpo_tables_gaps, lpo_tables_collectives, lpo_tables_ranks,
    lpo_tables_metrics;
lpo_tables_open lpo_tables_open_regions, lpo_tables_open_kernels, lpo_tables_open_operators,
    lpo_tables_open_steps, lpo_tables_open_wall, lpo_tables_open_gaps, lpo_tables_open_collectives,
    lpo_tables_open_ranks, lpo_tables_open_metrics;

/* The same columns over rows that somebody else chose. */
struct lpo_rows lpo_tables_of_kernels(const struct lpo_tables_of *of,
                                      const struct lpo_top_row *rows, size_t count);
