/* SPDX-License-Identifier: Apache-2.0 */
/* report/operator_records.h - operators by shape, for machines and for people: `lpo operators`. */
#pragma once

#include <stddef.h>

struct lpo_analysis;
struct lpo_doc;
struct lpo_hardware;
struct lpo_record;

#define LPO_OPERATORS_SCHEMA "lpo.operators/1"

/* `operators`: one record for each name, shapes and types; the most expensive first. `hw` may be
 * NULL. */
void lpo_report_put_operators(struct lpo_doc *doc, const struct lpo_analysis *a,
                              const struct lpo_hardware *hw, size_t most);
/* The same as a table: 0 is all rows. */
struct lpo_table *lpo_report_add_operator_shapes(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                 const struct lpo_hardware *hw, size_t most);
/* Operators whose kernels CUDA graphs replayed, and how much of the graphs is known; nothing where
 * no graph ran. */
void lpo_report_add_replays(struct lpo_doc *doc, const struct lpo_analysis *a,
                            const struct lpo_hardware *hw, size_t most);
