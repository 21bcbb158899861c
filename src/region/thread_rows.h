/* SPDX-License-Identifier: Apache-2.0 */
/* region/thread_rows.h - rows of a trace by thread, for analysis/critical/ and analysis/findings/
 * until they ask trace/host.h. */
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

struct lpo_group lpo_region_group_launches(const struct lpo_trace *t);
struct lpo_group lpo_region_group_ops(const struct lpo_trace *t);
void lpo_region_group_free(struct lpo_group *g);

/* lpo_before for launches, ctx is the trace: by start, then end. */
bool lpo_region_launch_before(const void *trace, uint32_t a, uint32_t b);
