/* SPDX-License-Identifier: Apache-2.0 */
/* sweep/summary.h - all jobs of a sweep together: multirun.json, and a table for people. */
#pragma once

#include <stddef.h>

struct lpo_err;
struct lpo_str;
struct lpo_sweep_plan;
struct lpo_sweep_result;

#define LPO_SWEEP_SUMMARY_SCHEMA "lpo.multirun/1"

/* <sweep>/multirun.json; makes the folder where it is not there. */
int lpo_sweep_summary_save(const struct lpo_sweep_plan *plan,
                           const struct lpo_sweep_result *results, struct lpo_err *err);
/* One row for each job, whatever became of it. */
void lpo_sweep_summary_add_table(const struct lpo_sweep_plan *plan,
                                 const struct lpo_sweep_result *results, struct lpo_str *out);
