/* SPDX-License-Identifier: Apache-2.0 */
/* report/page/page.h - what the interactive page (report.html) needs beside the chapters.
 *
 * The page has the sections of report.md as text. Its views are drawn in the browser from `data`:
 *
 *     kernels   one record each: name, short_name, class, launches, gpu_ns, min_ns, max_ns.
 *               Copies and memsets stand behind the kernels, as classes of their own. Where ncu
 *               measured any: sm_share … waves, as in `lpo top`.
 *     kernels_left_out   how many more there are.
 *     regions   { count, left_out, names: [...], packed, folded }: the region tree in walk order.
 *               Per region: steps back to the parent's row (0: at the top), name, kind (0 push/pop,
 *               1 start/end, 2 outside; 4 more where the GPU time is unknown), visits + 1 (0:
 *               unknown), host ns, GPU ns inclusive, exclusive, launches, ns of copies, bytes of
 *               copies, ns of idle time before what it launched, row in `folded` + 1 (0: none);
 *               then the number of kernels that follow, and for each its row in `kernels`, launches
 *               and ns.
 *     folded    the same with regions that differ only in numbers as one line; instead of the row
 *               in `folded` each has the number of its members and their least, median and largest
 *               time. Not there where no region folds.
 *               Both may have `colors`: [[row, "#rrggbb"], …], as the program gave them.
 *     findings, verdict, cautions, wall, coverage, copies, memsets, notes: as in report.json.
 *     strip     { zero_ns, span_ns, lanes: [{device, name, count}], left_out, packed }: the GPU
 *               operations lane after lane. Per operation: ns since the start of the one before,
 *               ns of its length, twice the row in `kernels` (+ 1 where several were drawn as one,
 *               and their number follows), region row + 1 (0: none), thread of the
 *               launch + 1 (0: none) and, after it, ns from the launch to the start.
 *
 *     sums      { step_ns, count, regions, devices, causes, packed }: what any stretch of the strip
 *               adds up to, in equal buckets, exact. Per sum: buckets since the one before, key
 *               (within a bucket since the key before), value. Keys: rows in `kernels` and one past
 *               the last (other names), `regions` region rows + 1 (0: none), devices × causes of
 *               idle time, and the bytes of copies, at the bucket in which they begin.
 *
 *     frames    [{kind, name, kernel}]: regions, modules, lines, operators, calls, kernels;
 *               `kernel` is a row in `kernels`.
 *
 *     stacks    { count, left_out, packed }: what was open around the work (analysis/stacks/). Per
 *               node: rows back to its parent (0: at the top), row in `frames`, how often, then
 *               what is its own, of each weight.
 *
 *     host      { zero_ns, least_ns, threads: [{row, process, thread, count, left_out}], packed }:
 *               slices of the threads, in order of their starts. Per slice: ns since the start of
 *               the one before, ns of its length, row in `frames`. Those shorter than least_ns are
 *               left out.
 *
 *     shapes    how kernels were launched, most often first: [row in `kernels`, launches, grid x,
 *               y, z, block x, y, z].
 *     counters  { metrics: [{name, unit}], left_out, regions: [{row, values}] }: what ncu measured.
 *     charts    [{chapter, title, unit, clock, lines: [{scope, count, seen, per_unit, packed}]}]:
 *               quantities over time (report/over_time.h). Per point: ns since the one before (of
 *               the first: since zero), 1 (0: not known from here on), and `per_unit` times the
 *               value, less that of the point before. Zero is that of the strip for the clock
 *               "trace", else the first point of all charts with that clock.
 *     stages    [{name, at_ns, ns}]: when stages ran, from the zero of the clock "unix".
 *     a, b      of a comparison: { frames, stacks } of the first run of each side; nothing else.
 *
 *     rank_steps   { ranks: [...], columns: [[first, last], …], parts: [...], packed }: ranks ×
 *               steps. Per cell, rank after rank: steps (0: none), of them with GPU work, of them
 *               with a known bubble; then ns of each part of one step that is known: the first by
 *               steps, the last by bubbles, the others by GPU work.
 *
 * `packed` is util/pack.h's text. Bounds keep a page below 6 MB, whatever the trace. */
#pragma once

#include "util/base.h"

struct lpo_analysis;
struct lpo_doc;
struct lpo_gpu_op;
struct lpo_record;
struct lpo_rundir;
struct lpo_trace;
struct lpo_source;

/* Most events of one answer of lpo_page_put_operations() and lpo_page_put_slices(). */
enum { LPO_PAGE_MOST_EVENTS = 30000 };

/* Rows of `kernels` by name id of the trace; LPO_NONE: the name is not there. */
struct lpo_page_kernels {
    uint32_t *rows;
    size_t count;
};

/* What the rows of a page stand for, for who asks later for what it folded: `lpo view`. */
struct lpo_page_detail {
    const struct lpo_analysis *analysis; /* borrowed */
    struct lpo_page_kernels kernels;
    uint32_t *regions;    /* of lpo_page_put_regions() */
    uint32_t *operations; /* rows of gpu_ops, lane after lane */
    size_t noperations;
    int64_t zero_ns; /* of the strip, else of the threads; LPO_NO_TIME: there is neither */
};

void lpo_page_detail_destroy(struct lpo_page_detail *d); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_page_detail);

/* All of a page. Returns its detail; NULL where there is no trace. */
struct lpo_page_detail *lpo_page_put(struct lpo_doc *doc, const struct lpo_rundir *d,
                                     const struct lpo_source *s);
/* What lies between two times from zero: operations of a lane of `strip`, as there: count, step_ns,
 * packed; slices of a thread, as in `host`: count, least_ns, left_out, frames of their own, packed.
 * False: there is no such lane or thread. */
bool lpo_page_put_operations(struct lpo_record *to, const struct lpo_page_detail *d, size_t lane,
                             int64_t from_ns, int64_t to_ns);
bool lpo_page_put_slices(struct lpo_record *to, const struct lpo_page_detail *d, size_t thread,
                         int64_t from_ns, int64_t to_ns);

/* `counters`: the trace with what ncu measured, where it is another one; may be NULL. */
struct lpo_page_kernels lpo_page_put_kernels(struct lpo_record *to, const struct lpo_analysis *a,
                                             const struct lpo_trace *counters);
/* The row of each node of the tree in `regions` (LPO_NONE: left out), then that of what lies
 * outside all of them; to be freed. */
uint32_t *lpo_page_put_regions(struct lpo_record *to, const struct lpo_analysis *a,
                               const struct lpo_page_kernels *kernels, bool folded);
/* Sets `operations`, and the zero where there are any. */
void lpo_page_put_strip(struct lpo_record *to, struct lpo_page_detail *d);
void lpo_page_put_shapes(struct lpo_record *to, const struct lpo_analysis *a,
                         const struct lpo_page_kernels *kernels);
/* Nothing where no counters were measured. */
void lpo_page_put_counters(struct lpo_record *to, const struct lpo_analysis *a,
                           const uint32_t *regions);
/* Nothing where fewer than two ranks have steps. */
void lpo_page_put_rank_steps(struct lpo_record *to, const struct lpo_analysis *a);
/* The row of an operation's region in `regions`, plus one; 0: outside, or not known. */
uint32_t lpo_page_region_of(const struct lpo_page_detail *d, const struct lpo_gpu_op *op);
/* After the strip. */
void lpo_page_put_sums(struct lpo_record *to, const struct lpo_page_detail *d);
/* Sets the zero where there is no strip. */
void lpo_page_put_stacks(struct lpo_record *to, struct lpo_page_detail *d);
/* `frames` and `stacks` alone, without rows of kernels; the trace may be destroyed first. */
void lpo_page_put_flame(struct lpo_record *to, const struct lpo_analysis *a);
/* Nothing where the run has nothing over time. `strip_zero_ns` is the zero of the strip, or
 * LPO_NO_TIME. */
void lpo_page_put_charts(struct lpo_record *to, const struct lpo_rundir *d,
                         const struct lpo_source *s, int64_t strip_zero_ns);
