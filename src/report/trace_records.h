/* SPDX-License-Identifier: Apache-2.0 */
/* report/trace_records.h - the numbers of a trace as records: the members that scripts rely on.
 *
 * The same members stand in `lpo regions --json`, `lpo top --json` and report.json;
 * docs/report-json.md lists them. Names are borrowed: the analysis must outlive the document. */
#pragma once

#include "util/base.h"

struct lpo_analysis;
struct lpo_device;
struct lpo_jv;
struct lpo_doc;
struct lpo_gaps;
struct lpo_record;
struct lpo_hardware;
struct lpo_rows;
struct lpo_region_selection;
struct lpo_trace;

#define LPO_REGIONS_SCHEMA   "lpo.regions/2"
#define LPO_TOP_SCHEMA       "lpo.top/1"
#define LPO_OPERATORS_SCHEMA "lpo.operators/1"

/* "scopes": every scope with its regions, or the most expensive of them beyond the budget. */
void lpo_report_put_scopes(struct lpo_record *to, const struct lpo_analysis *a, bool aggregate);
/* The same in about `bytes` of JSON: a scope with the numbers of one before it names that one, and
 * of a scope that is too large the most expensive regions stand for it; the others are a sum. */
void lpo_report_put_scopes_in(struct lpo_record *to, const struct lpo_analysis *a, bool aggregate,
                              size_t bytes);
/* "region": the `i`th region of the whole trace, as in "scopes". */
void lpo_report_put_region(struct lpo_record *to, const struct lpo_analysis *a, size_t i);
/* "coverage", "copies" and "memsets" of the whole trace, as in "scopes". */
void lpo_report_put_coverage(struct lpo_record *to, const struct lpo_analysis *a);
/* "device:0", or "rank:3/device:0" where the trace has ranks: the scope of one GPU. */
const char *lpo_report_device_scope(struct lpo_arena *arena, const struct lpo_device *d);
/* A name of the trace, which outlives the document; LPO_NONE: null. */
struct lpo_jv lpo_report_name(const struct lpo_trace *t, uint32_t name);
/* Gaps by cause, as a member. */
void lpo_report_put_gaps(struct lpo_record *to, const char *key, const struct lpo_gaps *g);
/* "devices": every GPU with span, busy, idle, communication, streams and their gaps. In
 * chapters/wall.c. */
void lpo_report_put_devices(struct lpo_record *to, const struct lpo_analysis *a);
/* "wall": where the time of every GPU went, longest span first. In chapters/wall.c. */
void lpo_report_put_wall(struct lpo_record *to, const struct lpo_analysis *a);
/* "steps": where the trace has them. In chapters/steps.c. */
void lpo_report_put_steps(struct lpo_record *to, const struct lpo_analysis *a);
/* "launch_queue": launches that wait for each GPU. In chapters/critical.c. */
void lpo_report_put_queue(struct lpo_record *to, const struct lpo_analysis *a);
/* "fusion": sequences of short kernels that repeat. In chapters/fusion.c. */
void lpo_report_put_fusion(struct lpo_record *to, const struct lpo_analysis *a);
/* "critical_path": of each process. In chapters/critical.c. */
void lpo_report_put_critical(struct lpo_record *to, const struct lpo_analysis *a);
/* "collectives": by kind, size, type and ranks, and what they hide behind. In
 * chapters/collectives.c. */
void lpo_report_put_collectives(struct lpo_record *to, const struct lpo_analysis *a);
void lpo_report_put_arrivals(struct lpo_record *to, const struct lpo_analysis *a);
/* "imbalance": over ranks. In chapters/rank_balance.c. */
void lpo_report_put_rank_balance(struct lpo_record *to, const struct lpo_analysis *a);
/* "rank_steps": ranks × steps. In chapters/rank_steps.c. */
void lpo_report_put_rank_steps(struct lpo_record *to, const struct lpo_analysis *a);
/* "counters": where counters were sampled. In chapters/counters.c. */
void lpo_report_put_counters(struct lpo_record *to, const struct lpo_analysis *a);
/* "memory": the most in use at one time, by allocator, with its owners. In chapters/memory.c.
 */
void lpo_report_put_memory(struct lpo_record *to, const struct lpo_analysis *a);
/* "windows": where only a part of the run was recorded. In chapters/windows.c. */
void lpo_report_put_windows(struct lpo_record *to, const struct lpo_analysis *a);
/* "range_numbers": payloads of ranges, by name. In chapters/range_numbers.c. */
void lpo_report_put_numbers(struct lpo_record *to, const struct lpo_analysis *a);
/* "kernels": the first `most`, 0: all. */
void lpo_report_put_kernels(struct lpo_record *to, const struct lpo_analysis *a, size_t most);
/* The same, as many as the budget allows; in "kernels_left_out" the sums of the others. */
void lpo_report_put_most_kernels(struct lpo_record *to, const struct lpo_analysis *a);
/* "notes": see report/notes.h. */
void lpo_report_put_notes(struct lpo_record *to, const struct lpo_analysis *a,
                          const struct lpo_region_selection *select);
/* "operators": one record for each name, shapes and types; the most expensive first. 0 is all, `hw`
 * may be NULL. */
void lpo_report_put_operators(struct lpo_doc *doc, const struct lpo_analysis *a,
                              const struct lpo_hardware *hw, size_t most);
/* "kernels" of a row of operators: what it launched itself. */
void lpo_report_put_operator_kernels(const struct lpo_rows *rows, size_t i, struct lpo_record *out);
