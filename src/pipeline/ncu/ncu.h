/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/ncu/ncu.h - Nsight Compute as a stage; shared with `lpo kernels`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_analysis_run;
struct lpo_arena;
struct lpo_err;
struct lpo_node;
struct lpo_stage;
struct lpo_stage_ctx;
struct lpo_step;
struct lpo_steps;

extern const struct lpo_stage lpo_pipeline_ncu;

/* A table that ncu itself makes of a report, beside our own. */
struct lpo_ncu_table {
    const char *label, *page, *file, *log;
    const char *section; /* only this one; NULL: all */
    bool csv;
};
/* An optional step: a table that cannot be made is no failure. */
struct lpo_step *lpo_pipeline_ncu_add_table(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                            const char *ncu, const char *report,
                                            const struct lpo_ncu_table *table);

struct lpo_result;
struct lpo_tool_message;
/* What the capture's log and its end mean together, in plain words; NULL when all is well.
 * *message is the known line of the log, or NULL. */
const char *lpo_pipeline_ncu_problem(struct lpo_arena *a, const char *log,
                                     const struct lpo_step *step, const struct lpo_result *r,
                                     const struct lpo_tool_message **message);
