/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/run_stage.h - one stage from its empty folders to its files: plan, prepare, the steps,
 * collect. Private to pipeline.c, which has the order of stages and what becomes of each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "pipeline/stage.h"

struct lpo_err;
struct lpo_pipeline;
struct lpo_stage_record;

enum { LPO_MAX_BESIDE = 4 };

/* The stages that run beside the others. */
struct lpo_beside {
    struct lpo_stage_ctx ctx[LPO_MAX_BESIDE];
    const struct lpo_stage *stage[LPO_MAX_BESIDE];
    size_t len;
};

/* pipeline.c: is run.mode light? Is the stage on? One that the config does not mention is off,
 * whatever the default of its key. */
bool lpo_pipeline_is_light(const struct lpo_node *config);
bool lpo_pipeline_enabled(const struct lpo_node *config, const struct lpo_stage *stage);

/* Puts the folders of a stage into its record; there their names end in '/', which means: all that
 * is in them. */
void lpo_pipeline_own_folders(struct lpo_arena *a, struct lpo_stage_record *r);
/* Before the stage is marked as running: what an earlier try left is removed, as far as the
 * manifest lists it. From then on the two folders belong to the stage. */
int lpo_pipeline_clear_folders(struct lpo_pipeline *p, struct lpo_stage_record *r,
                               struct lpo_err *err);
/* What a stage is given; its folders are made unless this is a dry run. */
int lpo_pipeline_make_ctx(struct lpo_pipeline *p, const struct lpo_stage *stage, bool dry_run,
                          struct lpo_stage_ctx *ctx, struct lpo_err *err);
/* ctx->nothing_to_do is set where the stage was planned and has no use. */
int lpo_pipeline_run_stage(struct lpo_pipeline *p, const struct lpo_stage *stage,
                           struct lpo_stage_ctx *ctx, struct lpo_err *err);
