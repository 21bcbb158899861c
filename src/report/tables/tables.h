/* SPDX-License-Identifier: Apache-2.0 */
/* report/tables/tables.h - the tables that commands and reports share, each a function into a
 * document. */
#pragma once

#include "util/base.h"

struct lpo_analysis;
struct lpo_counters_by_kernel;
struct lpo_doc;
struct lpo_hardware;
struct lpo_region_cells;
struct lpo_region_row;
struct lpo_region_scope;
struct lpo_scope_id;
struct lpo_table;
struct lpo_trace;

struct lpo_table_options {
    size_t fold_over; /* families larger than this are folded; SIZE_MAX: none */
    size_t most_rows; /* 0: all */
    bool no_spread;   /* without the columns about the members of a family: a narrow table */
    bool no_zeros;    /* without regions that launched nothing, where any region did */
};

/* A cell of the column "GPU": its number, and the rank where the trace has one. */
void lpo_report_row_device(struct lpo_table *t, const struct lpo_trace *trace, uint16_t index);

/* The region tree. GPU columns where the scope has kernels, host columns where it has visits. */
struct lpo_table *lpo_report_add_regions(struct lpo_doc *doc, const struct lpo_region_scope *s,
                                         const struct lpo_table_options *options);
/* The same with a column for each number, a row for each region. */
struct lpo_table *lpo_report_add_number_columns(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                const struct lpo_table_options *options);
/* What was sampled in each region; NULL: no counters were sampled beside this trace. */
struct lpo_table *lpo_report_add_region_counters(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                 const struct lpo_region_scope *s,
                                                 const struct lpo_table_options *options);
/* What was sampled in one call of each region, on the first GPU that was sampled; NULL: no call is
 * long enough for a figure. */
struct lpo_table *lpo_report_add_call_counters(struct lpo_doc *doc, const struct lpo_analysis *a,
                                               const struct lpo_region_scope *s,
                                               const struct lpo_table_options *options);
/* The same of kernels of CUDA graphs, by the region that captured them; NULL: there are none. */
struct lpo_table *lpo_report_add_captured_counters(struct lpo_doc *doc,
                                                   const struct lpo_analysis *a,
                                                   const struct lpo_region_scope *s,
                                                   const struct lpo_table_options *options);
/* One line for each of the scopes: its time, and the region whose share differs most from `all`. */
void lpo_report_add_scopes(struct lpo_doc *doc, const struct lpo_analysis *a,
                           const struct lpo_scope_id *ids, size_t count, size_t fold_over);
/* Kernels of CUDA graphs by the regions that captured them; nothing where none is known. */
void lpo_report_add_captured(struct lpo_doc *doc, const struct lpo_region_scope *s,
                             const struct lpo_table_options *options);
/* Kernels of backward operators by the region of their forward; nothing where none is known. */
void lpo_report_add_backward(struct lpo_doc *doc, const struct lpo_region_scope *s,
                             const struct lpo_table_options *options);
/* Attributed, outside, without a launch record. */
void lpo_report_add_coverage(struct lpo_doc *doc, const struct lpo_region_scope *s);
/* The next cell: a kernel by its short name, whole for machines. */
void lpo_report_row_kernel(struct lpo_table *t, const struct lpo_region_cells *cells,
                           uint32_t name);
/* With what ncu measured of them, in the trace `counters` or, where that is NULL, in this one. */
struct lpo_table *lpo_report_add_top_kernels(struct lpo_doc *doc, const struct lpo_analysis *a,
                                             const struct lpo_trace *counters, size_t most);
/* One sentence: how many kernels there are in all, and their time. */
void lpo_report_add_total(struct lpo_doc *doc, const struct lpo_analysis *a);
/* Where the wall time of the `most` GPUs with the longest spans went, and why they were idle. */
void lpo_report_add_wall(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most);
/* Calls in which the host waited while a GPU was idle; no table where there are none. */
void lpo_report_add_blocked_calls(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most);
void lpo_report_add_longest_gaps(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most);
/* Busy and idle per device. */
void lpo_report_add_devices(struct lpo_doc *doc, const struct lpo_analysis *a);
/* Idle time by cause and by the region that launched the operation after it: each gap in one row.
 */
void lpo_report_add_region_idle(struct lpo_doc *doc, const struct lpo_analysis *a,
                                const struct lpo_table_options *options);
/* The kernels of one region, most expensive first, with what ncu measured (NULL: nothing); most =
 * 0: all. */
void lpo_report_add_row_kernels(struct lpo_doc *doc, const struct lpo_analysis *a,
                                const struct lpo_region_scope *s, const struct lpo_region_row *row,
                                const struct lpo_counters_by_kernel *measured, const char *id,
                                const char *title, size_t most);
/* The `most` most expensive operators. GPU columns are n/a where the trace has no GPU operations at
 * all: a profiler that did not record the GPU does not show that it was idle. */
struct lpo_table *lpo_report_add_operators(struct lpo_doc *doc, const struct lpo_analysis *a,
                                           const char *id, size_t most);
/* What each of the `most` operators with the most GPU time of their own launched itself. */
void lpo_report_add_operator_kernels(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most,
                                     size_t kernels);
/* By shapes: 0 is all rows, `hw` may be NULL. */
struct lpo_table *lpo_report_add_operator_shapes(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                 const struct lpo_hardware *hw, size_t most);
/* Operators whose kernels CUDA graphs replayed, and how much of the graphs is known; nothing where
 * no graph ran. */
void lpo_report_add_replays(struct lpo_doc *doc, const struct lpo_analysis *a,
                            const struct lpo_hardware *hw, size_t most);
