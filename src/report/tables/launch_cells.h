/* SPDX-License-Identifier: Apache-2.0 */
/* report/tables/launch_cells.h - sums of launches as cells of a table. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lpo_sum;
struct lpo_table;

/* `ns` of this sum, its total or its mean: unknown where no launch has a duration, an estimate
 * where some durations are shares of a CUDA graph's and `some` means that not all kernels of
 * the graph are counted. */
void lpo_report_row_sum_ns(struct lpo_table *t, const struct lpo_sum *s, int64_t ns, bool some);
/* The shortest or longest launch: measured, else unknown. */
void lpo_report_row_sum_extreme(struct lpo_table *t, const struct lpo_sum *s, int64_t ns);
/* The total as a part of `total_ns`. */
void lpo_report_row_sum_share(struct lpo_table *t, const struct lpo_sum *s, int64_t total_ns,
                              bool some);
