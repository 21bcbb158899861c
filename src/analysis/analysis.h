/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/analysis.h - one trace with its regions, and every number that tables are made of.
 *
 * Attribution is done when an analysis is made. Everything else is computed when it is first asked
 * for and then shared by everyone who prints: tables, JSON, summary, closing table. What these
 * functions return belongs to the analysis and is read-only. Not for several threads: asking
 * fills it. */
#pragma once

#include "region/scope.h"

struct lpo_analysis_memo;
struct lpo_counters_rules;
struct lpo_counters_sampled;
struct lpo_critical;
struct lpo_flight;
struct lpo_frameworks;
struct lpo_fusion;
struct lpo_hardware;
struct lpo_ladders;
struct lpo_limits;
struct lpo_memory_peaks;
struct lpo_numbers;
struct lpo_operators;
struct lpo_operators_rules;
struct lpo_power;
struct lpo_region_selection;
struct lpo_queue;
struct lpo_ranks_balance;
struct lpo_reference;
struct lpo_ranks_causes;
struct lpo_ranks_regions;
struct lpo_ranks_steps;
struct lpo_ranks;
struct lpo_rundir;
struct lpo_source;
struct lpo_stacks;
struct lpo_program_steps;
struct lpo_wall;
struct lpo_wall_collectives;
struct lpo_phases;
struct lpo_wall_steady;
struct lpo_wall_timeline;

/* The kernels of one class. */
struct lpo_class_sum {
    struct lpo_sum sum;
    uint64_t kernels;        /* by name */
    uint32_t most_expensive; /* name */
    enum lpo_region_kernel_class class;
};

struct lpo_analysis {
    const struct lpo_trace *trace; /* borrowed */
    struct lpo_region_tree *tree;
    struct lpo_region_cells *cells;          /* of the selected kernels */
    struct lpo_wall_timeline *timeline;      /* NULL when launches were skipped */
    struct lpo_region_selection *select;     /* borrowed; NULL: everything */
    struct lpo_counters_sampled *sampled;    /* NULL: none were sampled beside the program */
    const struct lpo_operators_rules *rules; /* of the user, for operators; borrowed; may be NULL */
    const struct lpo_power *power;           /* of the run; borrowed; may be NULL */
    struct lpo_analysis_memo *memo;          /* what was computed so far */
};

/* The regions alone; lpo_analysis_select() must follow before anything else is asked. Borrows the
 * trace, of which only metrics may change until then. */
struct lpo_analysis *lpo_analysis_attribute(const struct lpo_trace *trace);
/* Both. Borrows `select` too (NULL: everything). */
struct lpo_analysis *lpo_analysis_of(const struct lpo_trace *trace,
                                     struct lpo_region_selection *select);
void lpo_analysis_destroy(struct lpo_analysis *a); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_analysis);

/* From now on under another selection. Regions stay attributed as they are; sums are made again
 * where the selection asks for others, or `counters` says that metrics were added to the trace. */
void lpo_analysis_select(struct lpo_analysis *a, struct lpo_region_selection *select,
                         bool counters);
/* The same trace without any selection: the analysis itself where nothing was selected. */
const struct lpo_analysis *lpo_analysis_unselected(const struct lpo_analysis *a);
/* The same trace under another selection, which must outlive it; one at a time, made once. */
const struct lpo_analysis *lpo_analysis_selected(const struct lpo_analysis *a,
                                                 struct lpo_region_selection *select);

/* The same trace with calls of modules (else of Python functions) as regions, below its own ranges
 * (region/modules.h); NULL: it has none. Numbers of its own regions are as in `a`. */
const struct lpo_analysis *lpo_analysis_modules(const struct lpo_analysis *a);

/* The region table of the whole trace. */
const struct lpo_region_scope *lpo_analysis_all(const struct lpo_analysis *a);
/* The region table of any scope. Valid until another scope is asked for (the aggregate: as long as
 * the analysis), because a job of a thousand ranks has more scopes than fit in memory. */
const struct lpo_region_scope *lpo_analysis_scope(const struct lpo_analysis *a,
                                                  struct lpo_scope_id id);
/* GPU operations of one kind by name, most expensive first. */
const lpo_top_rows *lpo_analysis_top(const struct lpo_analysis *a, enum lpo_gpu_op_kind kind);
/* Kernels by class, most expensive first: `count` rows. */
const struct lpo_class_sum *lpo_analysis_classes(const struct lpo_analysis *a, size_t *count);
/* Operators of the host; one row per name, or per name and input shapes. */
const struct lpo_operators *lpo_analysis_operators(const struct lpo_analysis *a, bool by_shapes);
/* Iterations of a training, batches of a server; NULL: no range is a step. */
const struct lpo_program_steps *lpo_analysis_steps(const struct lpo_analysis *a);
/* What comes once (loading, first calls, compiling), what is steady, and the window of a process.
 */
const struct lpo_phases *lpo_analysis_phases(const struct lpo_analysis *a);
/* What ncu's rules say about its kernels. */
const struct lpo_counters_rules *lpo_analysis_rules(const struct lpo_analysis *a);
/* Numbers that the program gave, by region. */
const struct lpo_numbers *lpo_analysis_numbers(const struct lpo_analysis *a);
/* The most memory in use at one time and its owners, by allocator. */
const struct lpo_memory_peaks *lpo_analysis_memory(const struct lpo_analysis *a);
/* Who is missing where, by the flight recorders of the ranks; NULL: there are none. */
const struct lpo_flight *lpo_analysis_flight(const struct lpo_analysis *a);
/* Where the wall time of each GPU went; NULL when launches were skipped. */
const struct lpo_wall *lpo_analysis_wall(const struct lpo_analysis *a);
/* Collectives by kind and size; NULL when launches were skipped. */
const struct lpo_wall_collectives *lpo_analysis_collectives(const struct lpo_analysis *a);
/* Ranks beside each other: clocks, arrivals; NULL: fewer than two, or no collectives. */
const struct lpo_ranks *lpo_analysis_ranks(const struct lpo_analysis *a);
/* What the ranks wait for, and what that costs the job; NULL: no clocks. */
const struct lpo_ranks_causes *lpo_analysis_rank_causes(const struct lpo_analysis *a);
/* Regions over ranks; NULL: fewer than two, or no region. */
const struct lpo_ranks_regions *lpo_analysis_rank_regions(const struct lpo_analysis *a);
/* Numbers and sizes of all-to-alls over ranks; NULL: fewer than two ranks have any. */
const struct lpo_ranks_balance *lpo_analysis_rank_balance(const struct lpo_analysis *a);
/* Steps over ranks; NULL: fewer than two ranks have steps. */
const struct lpo_ranks_steps *lpo_analysis_rank_steps(const struct lpo_analysis *a);
/* A report is about to be made of all of it: what takes long is computed now, on all cores, but for
 * the ladder and for the graphs of several processes, one of which is as much as a core can hold.
 */
void lpo_analysis_start(const struct lpo_analysis *a);
/* The critical path of each process; NULL when launches were skipped. */
const struct lpo_critical *lpo_analysis_critical(const struct lpo_analysis *a);
/* Launches that wait for each GPU; NULL when launches were skipped. */
const struct lpo_queue *lpo_analysis_queue(const struct lpo_analysis *a);
/* Which frameworks ran. */
const struct lpo_frameworks *lpo_analysis_frameworks(const struct lpo_analysis *a);
/* Sequences of short kernels that repeat. */
const struct lpo_fusion *lpo_analysis_fusion(const struct lpo_analysis *a);
/* Time by what was open around it: ranges, modules, lines, operators, kernels. */
const struct lpo_stacks *lpo_analysis_stacks(const struct lpo_analysis *a);
/* The trace without loading and warming up. */
const struct lpo_wall_steady *lpo_analysis_steady(const struct lpo_analysis *a);
/* How far the regions of a source are from what the hardware allows; see lpo_limits_of_run(). */
const struct lpo_limits *lpo_analysis_limits(const struct lpo_rundir *d, const struct lpo_source *s,
                                             struct lpo_err *err);
/* The best measured times of kernels on this GPU; NULL: it has none, or `hw` is NULL. */
const struct lpo_reference *lpo_analysis_reference(const struct lpo_analysis *a,
                                                   const struct lpo_hardware *hw);
/* From the measured time down to the floor, one change at a time. */
const struct lpo_ladders *lpo_analysis_ladders(const struct lpo_rundir *d,
                                               const struct lpo_source *s);
