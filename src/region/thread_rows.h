/* SPDX-License-Identifier: Apache-2.0 */
/* region/thread_rows.h - rows of a trace by thread and in the order of time, for whoever sweeps
 * them. On its way out: trace/host.h answers the same questions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"
#include "util/order.h"

#define lpo_region_order_sort lpo_order_sort
#define lpo_before            lpo_order_before

/* Rows of thread i: rows[starts[i]] … rows[starts[i + 1] - 1], in file order. */
struct lpo_group {
    uint32_t *rows;
    size_t *starts; /* one more than there are threads */
};

/* LPO_PUSH_POP stands for everything that nests. Those too that the reader has summed and that are
 * kept to be shown. */
struct lpo_group lpo_region_group_ranges(const struct lpo_trace *t, enum lpo_range_kind kind);
struct lpo_group lpo_region_group_paths(const struct lpo_trace *t);
struct lpo_group lpo_region_group_launches(const struct lpo_trace *t);
struct lpo_group lpo_region_group_captures(const struct lpo_trace *t);
struct lpo_group lpo_region_group_ops(const struct lpo_trace *t);
void lpo_region_group_free(struct lpo_group *g);

/* lpo_before for launches, ctx is the trace: by start, then end. */
bool lpo_region_launch_before(const void *trace, uint32_t a, uint32_t b);
bool lpo_region_capture_before(const void *trace, uint32_t a, uint32_t b); /* by time */

/* The last moment seen of every process, where some range was never closed; else NULL inside. */
struct lpo_process_ends {
    int64_t *process_ns;
};

struct lpo_process_ends lpo_region_ends_find(const struct lpo_trace *t);
void lpo_region_ends_free(struct lpo_process_ends *ends);
int64_t lpo_region_range_end(const struct lpo_process_ends *ends, const struct lpo_trace *t,
                             const struct lpo_range *r);

/* Adds `node` to a sorted set without doubles; a full set stays as it is. Returns the new size. */
size_t lpo_region_set_add(uint32_t *set, size_t count, size_t room, uint32_t node);
