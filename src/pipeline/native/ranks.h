/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/native/ranks.h - what became of each rank of a job. */
#pragma once

struct lpo_stage_ctx;
struct lpo_trace;

/* Notes of the stage: ranks that left no trace, and ranks that ended before they could close it. */
void lpo_pipeline_native_ranks_note(struct lpo_stage_ctx *ctx, const struct lpo_trace *t);
