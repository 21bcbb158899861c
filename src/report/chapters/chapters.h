/* SPDX-License-Identifier: Apache-2.0 */
/* report/chapters/chapters.h - the chapters of a run's report, each a function into a document.
 *
 * A chapter begins with lpo_doc_section() and adds what the run has for it; what is not there is
 * n/a, or the chapter is left out. The order is that of report/run_report.c. */
#pragma once

#include "util/base.h"

struct lpo_analysis;
struct lpo_doc;
struct lpo_record;
struct lpo_rows;
struct lpo_rundir;
struct lpo_source;

/* What ran, on what, how it ended. */
void lpo_report_chapter_run(struct lpo_doc *doc, const struct lpo_rundir *d);
/* How each stage ended; nothing for a list of traces. */
void lpo_report_chapter_stages(struct lpo_doc *doc, const struct lpo_rundir *d);
/* Speed with its spread, whether it can be trusted, profiler overhead, peak memory. */
void lpo_report_chapter_speed(struct lpo_doc *doc, const struct lpo_rundir *d);
/* The same in two or three sentences, for the summary. */
void lpo_report_summary_speed(struct lpo_doc *doc, const struct lpo_rundir *d);
/* What the clients of a server measured, and how the server ran; nothing for other workloads. */
void lpo_report_chapter_requests(struct lpo_doc *doc, const struct lpo_rundir *d);
/* Its first table alone, under a heading, for a terminal. False: there is none. */
bool lpo_report_add_requests(struct lpo_doc *doc, const struct lpo_rundir *d, const char *title);
/* The same in a sentence, for the summary. */
void lpo_report_summary_requests(struct lpo_doc *doc, const struct lpo_rundir *d);
/* Where the wall time of each GPU went, and why it was idle; nothing without GPU operations. */
void lpo_report_chapter_wall(struct lpo_doc *doc, const struct lpo_rundir *d,
                             const struct lpo_source *s);
/* Steps of a training or a server; nothing where no range is one. */
void lpo_report_chapter_steps(struct lpo_doc *doc, const struct lpo_source *s);
/* The critical path of each process; nothing without GPU operations. */
void lpo_report_chapter_critical(struct lpo_doc *doc, const struct lpo_source *s);
/* Two sentences on launches that wait, in the chapter at hand; nothing without launches. */
void lpo_report_add_queue(struct lpo_doc *doc, const struct lpo_source *s);
/* Sequences of short kernels that repeat; nothing where there are none. */
void lpo_report_chapter_fusion(struct lpo_doc *doc, const struct lpo_source *s);
/* How GPUs or ranks differ; nothing where there is one. */
void lpo_report_chapter_ranks(struct lpo_doc *doc, const struct lpo_rundir *d,
                              const struct lpo_source *s);
/* Balance of numbers and all-to-alls over ranks; nothing where there are none. */
void lpo_report_chapter_rank_balance(struct lpo_doc *doc, const struct lpo_rundir *d,
                                     const struct lpo_source *s);
/* Ranks × steps; nothing where fewer than two ranks have steps. */
void lpo_report_chapter_rank_steps(struct lpo_doc *doc, const struct lpo_source *s);
/* Collectives by kind and size; nothing where there are none. */
void lpo_report_chapter_rank_regions(struct lpo_doc *doc, const struct lpo_rundir *d,
                                     const struct lpo_source *s);
void lpo_report_chapter_arrivals(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s);
void lpo_report_chapter_collectives(struct lpo_doc *doc, const struct lpo_rundir *d,
                                    const struct lpo_source *s);
/* What flight recorders say: title of a verdict, a sentence about it (NULL: nothing is to be said),
 * what is said beside verdicts, the chapter, "flight" for machines. */
const char *lpo_report_flight_title(struct lpo_arena *arena, const struct lpo_analysis *a,
                                    size_t verdict);
const char *lpo_report_flight_sentence(struct lpo_arena *arena, const struct lpo_analysis *a,
                                       size_t verdict, int sentence);
const char *lpo_report_flight_rest(struct lpo_arena *arena, const struct lpo_analysis *a);
void lpo_report_chapter_flight(struct lpo_doc *doc, const struct lpo_source *s);
void lpo_report_put_flight(struct lpo_record *to, const struct lpo_analysis *a);
/* Peaks of the framework's allocator; nothing where no trace has them. `s` may be NULL. */
void lpo_report_chapter_memory(struct lpo_doc *doc, const struct lpo_rundir *d,
                               const struct lpo_source *s);
/* The most in use at one time, by allocator: rows of its table. */
struct lpo_rows lpo_report_memory_rows(struct lpo_arena *arena, const struct lpo_analysis *a);
/* How much of the run was recorded, and how its calls differ; nothing where all of it was. */
void lpo_report_chapter_windows(struct lpo_doc *doc, const struct lpo_source *s);
/* The same in one sentence, for a terminal; nothing where the whole run was recorded. */
void lpo_report_add_windows(struct lpo_doc *doc, const struct lpo_analysis *a);
/* Payloads of ranges, summed by name; nothing where there are none. */
void lpo_report_chapter_numbers(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s);
/* Time by region: one tree, and how processes, devices and ranks differ from it. */
void lpo_report_chapter_regions(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s);
/* The view that has modules as regions (lpo_analysis_modules()); NULL: none, or it is switched off.
 * *from: the trace it is made from. */
const struct lpo_analysis *lpo_report_modules(const struct lpo_rundir *d,
                                              const struct lpo_source **from);
/* Time by module; nothing where no trace has calls of modules or Python functions. */
void lpo_report_chapter_modules(struct lpo_doc *doc, const struct lpo_rundir *d);
void lpo_report_put_modules(struct lpo_record *to, const struct lpo_rundir *d);
/* The most expensive kernels. */
void lpo_report_chapter_kernels(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s);
/* Framework operators; nothing where the profiler recorded none. */
void lpo_report_chapter_operators(struct lpo_doc *doc, const struct lpo_rundir *d);
/* Classes of kernels, busy and idle by GPU and stream, copies. */
void lpo_report_chapter_gpu_details(struct lpo_doc *doc, const struct lpo_rundir *d,
                                    const struct lpo_source *s);
/* Counters that were sampled beside the program, by region and kernel; nothing without them. */
void lpo_report_chapter_counters(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s);
/* Power, energy, clocks and throttling from the samples of NVML; nothing where there is none. `s`
 * may be NULL: then no energy by region. */
void lpo_report_chapter_power(struct lpo_doc *doc, const struct lpo_rundir *d,
                              const struct lpo_source *s);
/* What the numbers cover, and every warning. `s` may be NULL. */
void lpo_report_chapter_coverage(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s);
/* The chapter on limits has a header of its own: report/limits/chapter_limits.h. */
