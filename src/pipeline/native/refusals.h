/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/native/refusals.h - processes that could not make their trace (lpo/refusal.h). */
#pragma once

struct lpo_arena;
struct lpo_stage_ctx;
struct lpo_refusals;

/* Before the program starts: from now on processes can say that `dir` refused them. NULL where the
 * system gives no such socket: then nobody is heard, which is no reason to fail. */
struct lpo_refusals *lpo_pipeline_native_refusals_listen(struct lpo_arena *a, const char *dir);
/* After its end: a note for each process that was refused. Returns how many; ends the listening.
 * `r` may be NULL. */
unsigned lpo_pipeline_native_refusals_note(struct lpo_refusals *r, struct lpo_stage_ctx *ctx);
